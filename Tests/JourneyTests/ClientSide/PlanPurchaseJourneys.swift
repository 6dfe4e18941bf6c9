import Foundation
import Testing
import TillBilling
import TillClient

@Suite("Plans that are bought with the client kit") struct PlanPurchaseJourneys {
    private static let day: Int64 = 86_400

    private func buy(_ plan: String, on phone: Phone, _ options: PurchaseOptions = PurchaseOptions()) async throws {
        let result = try await phone.use { try await $0.purchase(CloudShop.prefix + plan, options: options) }
        guard case .completed = result else {
            Issue.record("\(plan) is not completed: \(result)")
            return
        }
        #expect(try await phone.hasFinishedAll())
    }

    /// `name plan seconds devices` of each right, with the seconds from `start` to its end.
    private func rights(_ phone: Phone, since start: Instant) async throws -> [String] {
        try await phone.use { try await $0.refresh().entitlements.items }.map { item in
            let end = item.expires.map { Int64($0.timeIntervalSince1970.rounded()) - start.seconds } ?? 0
            return ([item.name, item.plan ?? "", String(end)] + (item.deviceIDs ?? [])).joined(separator: " ")
        }
    }

    @Test(
        "A change of plan, by the formula: the preview's figures, and the right ends when the preview said (C5, C6)",
        arguments: StoreKitGeneration.both)
    func upgrade(_ generation: StoreKitGeneration) async throws {
        try await Phones.openCloud(generation) { phones in
            let ann = try await phones.phone("ann", isLaunched: false)
            try await ann.set(["storefront": "USA"])
            try await ann.open()
            try await buy("basic_monthly", on: ann)
            phones.shop.time.advance(seconds: 15 * Self.day)
            let now = phones.shop.time.now
            let preview = try await ann.use { try await $0.previewPlan("premium_monthly") }
            // Half of $2.99 is left, and premium costs $6.99 for 30 days: 1.495 × 30 ÷ 6.99 days.
            #expect(preview.change == .upgrade)
            #expect(preview.carriedSeconds == 554_370 && preview.carriedDays == 6)
            #expect(preview.boughtSeconds == 30 * Self.day)
            #expect(preview.price == Decimal(string: "6.99") && preview.balance == Decimal(string: "1.5"))
            // The buyer takes an hour; the balance of that moment would be smaller.
            phones.shop.time.advance(seconds: 3_600)
            try await buy("premium_monthly", on: ann, PurchaseOptions(preview))
            let end = 554_370 + 30 * Self.day
            #expect(try await rights(ann, since: now) == ["premium premium_monthly \(end)"])
            #expect(preview.expires == Date(timeIntervalSince1970: Double(now.seconds + end)))
            #expect(ann.store.isEntitled("premium") && !ann.store.isEntitled("basic"))
        }
    }

    @Test(
        "Plans for cameras: each runs on its own camera, and a change converts one camera's plan only (C5)",
        arguments: StoreKitGeneration.both)
    func cameras(_ generation: StoreKitGeneration) async throws {
        try await Phones.openCloud(generation, scope: .device) { phones in
            let start = phones.shop.time.now
            let ann = try await phones.phone("ann", isLaunched: false)
            try await ann.set(["storefront": "USA"])
            try await ann.open()
            func buy(_ plan: String, for camera: String) async throws {
                var options = PurchaseOptions()
                options.device = camera
                try await self.buy(plan, on: ann, options)
            }
            try await buy("basic_monthly", for: "camera 1")
            phones.shop.time.advance(seconds: 10 * Self.day)
            try await buy("basic_monthly", for: "camera 2")
            try await buy("basic_monthly", for: "camera 1")
            #expect(
                try await rights(ann, since: start) == [
                    "basic basic_monthly \(60 * Self.day) camera 1", "basic basic_monthly \(40 * Self.day) camera 2",
                ])
            try await buy("premium_monthly", for: "camera 1")
            // Camera 1 had 20 days and 30 days left, together 299 × 5 ÷ 3 cents: 21 days and 33,497 seconds of premium.
            let end = (10 + 30 + 21) * Self.day + 33_497
            #expect(
                try await rights(ann, since: start) == [
                    "basic basic_monthly \(40 * Self.day) camera 2", "premium premium_monthly \(end) camera 1",
                ])
            for camera in ["camera 1", "camera 2"] {
                #expect(ann.store.isEntitled("premium", device: camera) == (camera == "camera 1"))
                #expect(ann.store.isEntitled("basic", device: camera) == (camera == "camera 2"))
            }
            #expect(!ann.store.isEntitled("premium") && !ann.store.isEntitled("basic"), "the phone is no camera")
        }
    }

    @Test(
        "A shop page with any of the eight products shows these, in its order; each of the eight can be bought (C4)",
        arguments: StoreKitGeneration.both)
    func subset(_ generation: StoreKitGeneration) async throws {
        try await Phones.openCloud(generation) { phones in
            let ann = try await phones.phone("ann", isLaunched: false)
            try await ann.set(["storefront": "USA"])
            try await ann.open()
            let off = try await phones.shop.ask(
                .post, "/emulator/products/\(CloudShop.prefix)premium_annual_auto/removeFromSale")
            #expect(off.status == 200)
            let page = ["premium_annual", "basic_annual_auto", "premium_annual_auto", "gold_monthly", "basic_monthly"]
            let shown = try await ann.use { try await $0.products(page.map { CloudShop.prefix + $0 }) }
            #expect(
                shown.map { "\($0.id.dropFirst(CloudShop.prefix.count)) \($0.displayPrice) \($0.kind?.rawValue ?? "")" }
                    == [
                        "premium_annual $69.99 consumable", "basic_annual_auto $29.99 autoRenewable",
                        "basic_monthly $2.99 consumable",
                    ])
            #expect(shown.allSatisfy { $0.canBuy && $0.currency == "USD" })
            let on = try await phones.shop.ask(
                .post, "/emulator/products/\(CloudShop.prefix)premium_annual_auto/returnToSale")
            #expect(on.status == 200)

            let start = phones.shop.time.now
            for (plan, days) in [
                ("basic_monthly", 30), ("basic_annual", 365), ("premium_monthly", 30), ("premium_annual", 365),
            ] as [(String, Int64)] {
                for product in [plan, plan + "_auto"] {
                    let buyer = try await phones.phone(product)
                    try await buy(product, on: buyer)
                    let rank = plan.prefix { $0 != "_" }
                    #expect(try await rights(buyer, since: start) == ["\(rank) \(plan) \(days * Self.day)"])
                    let kind = buyer.store.entitlements.items.first?.kind
                    #expect(kind == (product == plan ? .service : .subscription), "\(product)")
                    await buyer.kill()
                }
            }
        }
    }

    /// StoreKit 1 reports such a change as deferred, like Ask to Buy.
    @Test("A lower plan, or the same again, is no purchase: the running order is returned, and the new one ends (C7)")
    func lowerPlan() async throws {
        try await Phones.openCloud(.storeKit2) { phones in
            let ann = try await phones.phone("ann")
            try await buy("premium_monthly_auto", on: ann)
            let first = try #require(await ann.store.orders().first)
            for (plan, note) in [
                ("basic_monthly_auto", "The change takes effect at the next renewal. Nothing was charged now."),
                ("premium_monthly_auto", "This subscription is already active. Nothing was charged."),
            ] {
                let product = CloudShop.prefix + plan
                let result = try await ann.use { try await $0.purchase(product) }
                #expect(result == .completed(first), "\(plan): \(result)")
                let orders = await ann.store.orders().filter { $0.productID == product && $0.id != first.id }
                #expect(orders.map(\.status) == [.cancelled] && orders.first?.note(in: "en") == note)
                #expect(orders.first?.transactionID == nil)
            }
            #expect(
                await eventually {
                    (try? await phones.shop.ordersAtServer(of: "ann").sorted())
                        == ["cancelled", "cancelled", "completed"]
                })
            #expect(try await phones.shop.grants(of: "ann") == 1)
            #expect(try await ann.hasFinishedAll())
        }
    }
}
