import Foundation
import Testing
import TillBilling
import TillJSON

@testable import till

/// CloudPlans as a process, in the shop of `till init --sample plans` and `till emulate --sample plans`.
@Suite("CloudPlans, as a process") struct CloudPlansJourneys {
    private static let day: Int64 = 86_400
    private static let plans = ["basic_monthly", "basic_annual", "premium_monthly", "premium_annual"]
    private static let english = [
        "Basic Monthly  $2.99", "Basic Annual  $29.99", "Premium Monthly  $6.99", "Premium Annual  $69.99",
        "Basic Monthly (renews)  $2.99", "Basic Annual (renews)  $29.99", "Premium Monthly (renews)  $6.99",
        "Premium Annual (renews)  $69.99",
    ]
    private static let chinese = [
        "基础版月付  ¥18.00", "基础版年付  ¥198.00", "高级版月付  ¥45.00", "高级版年付  ¥448.00", "基础版连续包月  ¥18.00",
        "基础版连续包年  ¥198.00", "高级版连续包月  ¥45.00", "高级版连续包年  ¥448.00",
    ]

    @Test(
        "All eight products are listed with the storefront's names and prices, and bought (C4)", .slow,
        arguments: [1, 2])
    func eight(generation: Int) async throws {
        try await ShopAddress.openCloud { address in
            for (index, plan) in Self.plans.enumerated() {
                let (user, isChinese) = ("buyer\(index)", index % 2 == 1)
                try await address.openAccount(user, storefront: isChinese ? "CHN" : "USA")
                let camera = plan.hasPrefix("basic") ? " door" : ""
                let lines = try await address.visit(
                    "cloudplans", as: user, ["plans", "buy \(plan)\(camera)", "buy \(plan)_auto", "mine"],
                    generation: generation, language: isChinese ? "zh" : "en")
                for (number, name) in (isChinese ? Self.chinese : Self.english).enumerated() {
                    #expect(lines.contains { $0.hasPrefix("  \(number + 1)  \(name)  ") }, "\(lines)")
                }
                #expect(
                    lines.filter { $0 == (isChinese ? "  购买成功，谢谢！" : "  Bought. Thank you!") }.count == 2, "\(lines)")
                let orders = try await address.shop.send(.get, "/v1/users/\(user)/orders", as: .user(user))["data"].list
                #expect(
                    orders.map { $0.at("productId").text }.sorted() == [
                        "com.example.cloud.\(plan)", "com.example.cloud.\(plan)_auto",
                    ])
                #expect(orders.allSatisfy { $0.at("status") == "completed" })
            }
        }
    }

    @Test(
        "The rest of two cameras' plans becomes days of a plan for all cameras, exactly as previewed (C5, C6)",
        arguments: [1, 2])
    func cameras(generation: Int) async throws {
        try await ShopAddress.openCloud { address in
            try await address.openAccount("yan", storefront: "USA")
            let start = address.shop.time.now
            let first = try await address.visit(
                "cloudplans", as: "yan",
                [
                    "buy basic_monthly", "buy premium_monthly door", "buy basic_monthly door", "camera door",
                    "camera yard",
                ],
                generation: generation)
            #expect(first.contains("  Basic Monthly is for one camera: name it."))
            #expect(first.contains("  Premium Monthly is for all cameras: name none."))
            #expect(first.suffix(2) == ["  door records: basic", "  yard has no plan."], "\(first)")

            address.shop.time.advance(seconds: 10 * Self.day)
            let second = try await address.visit(
                "cloudplans", as: "yan",
                ["buy basic_monthly yard", "preview premium_monthly", "buy premium_monthly", "camera attic"],
                generation: generation)
            #expect(second.contains("  Basic Monthly (door): 2.99 USD × 20 d ÷ 30 d ≈ 1.993333 USD"), "\(second)")
            #expect(second.contains("  Basic Monthly (yard): 2.99 USD × 30 d ÷ 30 d = 2.99 USD"), "\(second)")
            // 2.99 × 20/30 + 2.99 = 4.983333 USD, at 0.233 USD a day 21.387697 days: 1,847,897 seconds, rounded up.
            let end = start.adding(seconds: 10 * Self.day + 1_847_897 + 30 * Self.day)
            let time = String(end.rfc3339.prefix(19)) + "Z"
            #expect(second.contains("  → to pay: $6.99; then until \(time)"), "\(second)")
            #expect(second.contains("  Premium Monthly · all cameras, until \(time)"), "\(second)")
            #expect(second.last == "  attic records: premium")
        }
    }

    @Test("A lower plan and the same plan again end exactly as previewed, in Chinese too (C5, C6)")
    func lower() async throws {
        try await CloudShop.open { shop in
            try await ShopAddress.open(shop) { address in
                try await address.openAccount("mei", storefront: "CHN")
                let lines = try await address.visit(
                    "cloudplans", as: "mei",
                    [
                        "buy premium_monthly", "preview basic_monthly door", "buy basic_monthly door",
                        "preview basic_monthly door", "buy basic_monthly door",
                    ], language: "zh")
                // "  → 需付款：¥…；有效期至 …", then "  … · 全部摄像头，有效期至 …"
                func end(_ line: String) -> String { line.components(separatedBy: "有效期至 ").last ?? "" }
                let promised = lines.filter { $0.contains("→ 需付款：") }.map(end)
                let held = lines.filter { $0.contains(" · ") && $0.contains("有效期至 ") }.map(end)
                #expect(promised.count == 2 && held.suffix(2) == promised[...], "\(lines)")
                #expect(lines.contains { $0.contains("余额 = 6.99 USD") }, "\(lines)")
            }
        }
    }

    @Test("A plan that ends within a week has a reminder with the command that extends it (C10)")
    func reminder() async throws {
        let now = Int64(Date().timeIntervalSince1970)
        try await ShopAddress.openCloud(at: now - 25 * Self.day) { address in
            try await address.openAccount("yan", storefront: "USA")
            let first = try await address.visit("cloudplans", as: "yan", ["buy basic_monthly door"])
            #expect(first.last == "  ! ends within 5 days. To extend: buy basic_monthly door", "\(first)")
            let second = try await address.visit("cloudplans", as: "yan", ["buy basic_monthly door"])
            #expect(second.filter { $0.hasPrefix("  ! ") }.count == 1, "\(second)")
            #expect(second.last?.hasPrefix("  Basic Monthly · door, until ") == true, "\(second)")
        }
    }

    @Test(
        "Subscriptions are listed with their state and next renewal; higher plans start now, lower ones later (C4, C7)")
    func subscriptions() async throws {
        try await ShopAddress.openCloud { address in
            try await address.openAccount("yan", storefront: "USA")
            // The server learns from the store's notifications what renews.
            func visit(_ commands: [String], language: String = "en") async throws -> [String] {
                let lines = try await address.visit("cloudplans", as: "yan", commands, language: language)
                await address.shop.emulator.sendDueNotifications()
                address.shop.time.advance(seconds: 60)
                return lines
            }
            let first = try await visit(["preview basic_monthly_auto", "buy basic_monthly_auto"])
            #expect(first.contains { $0.contains("Apple starts a higher plan at once") }, "\(first)")
            let second = try await visit(["subscriptions", "buy premium_monthly_auto"])
            #expect(
                second.contains {
                    $0.hasPrefix("  Basic Monthly (renews) · Active, renews ") && $0.hasSuffix("  2.99 USD")
                },
                "\(second)")
            let third = try await visit(["buy basic_annual_auto"])
            #expect(third.contains("  Agreed: it begins at the next renewal."), "\(third)")
            let fourth = try await visit(["subscriptions", "manage", "redeem", "restore"])
            #expect(
                fourth.contains {
                    $0.hasPrefix("  Premium Monthly (renews) · Active, renews ") && $0.hasSuffix("  29.99 USD")
                }, "\(fourth)")
            #expect(fourth.contains("    then: Basic Annual (renews)"), "\(fourth)")
            #expect(fourth.contains { $0.hasSuffix("/emulator/page/account?name=yan") })
            #expect(fourth.contains("  restored: 1"), "\(fourth)")

            let stored = try await address.shop.ask(.get, "/emulator/subscriptions?account=yan")["data"].list
            let id = try #require(stored.first?.at("originalTransactionId").text)
            #expect(try await address.shop.ask(.post, "/emulator/subscriptions/\(id)/cancel").status == 200)
            await address.shop.emulator.sendDueNotifications()
            let last = try await visit(["subscriptions"], language: "zh")
            #expect(
                last.contains { $0.contains("Premium Monthly (renews) · ") && $0.contains("，有效期至 ") }, "\(last)")
        }
    }
}
