import Foundation
import Testing
import TillBilling
import TillJSON
import TillLedger
import TillServer

@testable import till

/// What a customer may say in the example apps: refunds, consent, claims, restoring.
@Suite("The example apps as customers use them after a purchase") struct CustomerServiceJourneys {
    /// Runs LearnPoints, enters commands one after the other, and returns the answer to each.
    private func ask(
        _ shop: OpenShop, as user: String, _ commands: [String], generation: Int
    ) async throws -> [JSONValue] {
        var rest = commands.dropFirst()
        var answers: [JSONValue] = []
        let kinds: Set = ["shop", "purchase", "wallet", "history", "mine", "orders", "restored", "waited", "problem"]
        let visit = try await AppLaunch.run(
            try shop.learnPoints(user, generation: generation), sending: commands[0]
        ) { event in
            guard kinds.contains(event["event"]?.string ?? "") else { return nil }
            answers.append(event)
            return rest.popFirst() ?? "quit"
        }
        #expect(visit.code == 0)
        return answers
    }

    @Test("A refund takes the points back: the wallet and its history show it (L6, U5)", arguments: [1, 2])
    func refund(generation: Int) async throws {
        try await OpenShop.open { shop in
            let bought = try await ask(shop, as: "rui", ["buy 1", "history"], generation: generation)
            #expect(bought[0].at("outcome") == "completed", "\(bought)")
            #expect(bought[1].at("postings").list.map { $0.at("amount") } == [60])
            let id = bought[0].at("order").at("transactionId").text
            #expect(try await shop.ask(.post, shop.store + "/emulator/transactions/\(id)/refund").status == 200)
            for _ in 0..<200 {
                if try await shop.points(of: "rui") == 0 { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            // The list is shown at once, and "wait" compares it with the server's. A visit that ends at once may not.
            let after = try await ask(
                shop, as: "rui", ["wallet", "history", "orders", "wait 1", "orders"], generation: generation)
            #expect(after[0].at("balances").at("points") == 0, "\(after)")
            let postings = after[1].at("postings").list
            #expect(postings.map { $0.at("amount") } == [-60, 60] && postings.first?.at("kind") == "refund")
            #expect(after[2].at("orders").list.count == 1)
            #expect(after[4].at("orders").list.map { $0.at("status").text } == ["refunded"], "\(after)")
        }
    }

    @Test("The library and the membership are listed and come back on another phone; packs do not (P10)")
    func restore() async throws {
        try await OpenShop.open { shop in
            let products = ["com.example.learn.library", "com.example.learn.member.monthly", Shop.points60]
            let bought = try await ask(shop, as: "ivy", products.map { "buy \($0)" } + ["mine"], generation: 2)
            #expect(bought.prefix(3).allSatisfy { $0.at("outcome") == "completed" }, "\(bought)")
            #expect(Set(bought[3].at("entitlements").list.map { $0.at("name").text }) == ["library", "member"])
            try FileManager.default.removeItem(at: shop.folder.appendingPathComponent("ivy"))
            let restored = try await ask(shop, as: "ivy", ["restore"], generation: 2)
            #expect(Set(restored[0].at("productIds").list.map { $0.text }) == Set(products.prefix(2)), "\(restored)")
        }
    }

    @Test("Consent given in the app is stored at the server, and answers Apple before a refund (U5)")
    func consent() async throws {
        try await Shop.open(line: AppleProxy()) { shop in
            try await ShopAddress.open(shop) { address in
                let lines = try await address.visit(
                    "learnpoints", as: "una", ["buy \(Shop.points60)", "consent yes", "consent maybe"])
                // An event of the purchase may be shown after the answer.
                #expect(lines.contains("  Apple may be told how much you used."), "\(lines)")
                #expect(lines.contains("  Unknown. Type help."), "\(lines)")
                #expect(try await answered(shop, of: "una").at("customerConsented") == true)

                let game = try await address.visit(
                    "game", as: "wei", ["buy \(Shop.points60)", "consent yes", "consent no"], language: "zh")
                #expect(game.contains("  已撤回：不向 Apple 提供使用情况。"), "\(game)")
                #expect(try await answered(shop, of: "wei").isNull)
            }
        }
    }

    /// The answer that Apple gets about the only purchase of an account; null for none.
    private func answered(_ shop: Shop, of account: String) async throws -> JSONValue {
        shop.time.advance(seconds: 60)
        let bought = try await shop.ask(.get, "/emulator/transactions?account=\(account)")["data"].list
        let id = try #require(bought.first?.at("transactionId").text)
        let asked = try await shop.ask(
            .post, "/emulator/transactions/\(id)/consumptionRequest", ["reason": "UNINTENDED_PURCHASE"])
        #expect(asked.status == 200, "\(asked.body)")
        await shop.emulator.sendDueNotifications()
        _ = try await ConsumptionAnswers(shop.server.ledger).answerAll()
        let request = try await shop.emulator.store.refundRequest(try #require(Int64(id)))
        return try request?.answer.map { try JSONValue(decoding: Array($0.utf8)) } ?? .null
    }

    @Test("A purchase without an owner is claimed in the app by Apple's order number, once (U1)")
    func claim() async throws {
        // Order numbers exist in production only.
        try await Shop.open(environments: [.production], line: AppleProxy(), store: .production) { shop in
            try await ShopAddress.open(shop) { address in
                let lost = try await shop.pay(token: nil)
                #expect(try await shop.submit(lost.signed, as: .user("ben"))["outcome"].text == "quarantined")
                let number = try await shop.ask(.get, "/emulator/transactions/\(lost.id)")["orderId"].text
                try #require(!number.isEmpty)
                let lines = try await address.visit(
                    "learnpoints", as: "ann", ["claim MZZZZZZZZZ", "claim \(number)", "wallet"])
                #expect(lines.contains { $0.contains("No purchase without an owner has this number.") }, "\(lines)")
                #expect(lines.suffix(2) == ["  1 of 1 purchases are yours", "  60 points"], "\(lines)")
                let thief = try await address.visit("cloudplans", as: "eve", ["claim \(number)"], language: "zh")
                #expect(thief.last == "  没有找到该订单号对应的待认领购买，请核对 Apple 邮件中的订单号。", "\(thief)")
            }
        }
    }
}
