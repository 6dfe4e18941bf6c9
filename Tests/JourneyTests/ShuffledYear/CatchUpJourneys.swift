import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillServer

@Suite("Apple's answers to the server's requests as a source of purchases") struct CatchUpJourneys {
    private static func sources(of transaction: String, in shop: Shop) async throws -> [String] {
        try await shop.decisions(about: transaction).map { "\($0.decision) \($0.source)" }
    }

    @Test("The server was down for weeks: sales, renewals and refunds of that time come back, once (U3)")
    func downForWeeks() async throws {
        try await SilentShop.open { silent in
            let shop = silent.shop
            let points = try await silent.buy("points60", as: "ann")
            let plan = try await silent.buy("premium_monthly_auto", as: "ben")
            let refunded = try await silent.buy("pro", as: "cem")
            shop.time.advance(seconds: 20 * SilentShop.day)
            try await silent.refund(refunded)
            try await silent.pass(days: 20)
            #expect(try await shop.grantCount() == 0)

            let found = try await silent.reconcile()
            #expect(found.counts["new_notifications"] == found.counts["notifications"])
            #expect(found.counts["notifications", default: 0] >= 4 && found.counts["customers"] == 3, "\(found.counts)")
            #expect(try await shop.points(of: "ann") == 60)
            let rights = try await shop.rights(of: "ben")
            #expect(rights.count == 1 && rights[0].contains("premium_monthly"), "renewed: \(rights)")
            #expect(try await shop.rights(of: "cem").isEmpty)
            // Found 40 days after the purchase, which the evidence states (G6).
            for id in [points.id, plan.id] {
                let sources = try await Set(Self.sources(of: id, in: shop))
                #expect(sources == ["granted reconciliation", "late reconciliation"])
            }

            let grants = try await shop.grantCount()
            let again = try await silent.reconcile()
            #expect(again.kinds.isEmpty && again.counts["new_notifications"] == nil, "\(again)")
            #expect(try await shop.grantCount() == grants)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("A purchase without a notification is found in its customer's history (U3)")
    func olderThanNotifications() async throws {
        try await SilentShop.open { silent in
            let shop = silent.shop
            _ = try await silent.buy("points60", as: "ann")
            _ = try await silent.buy("points60", as: "ben")
            shop.time.advance(seconds: 200 * SilentShop.day)
            _ = try await silent.buy("points60", as: "ann")
            let found = try await silent.reconcile()
            #expect(found.counts["notifications"] == 1 && found.counts["customers"] == 1, "\(found.counts)")
            #expect(try await shop.points(of: "ann") == 120)
            // Nothing leads to Ben until his next purchase.
            #expect(try await shop.points(of: "ben") == 0)
        }
    }

    @Test("Apple becomes unreachable: the run states it and waits, and completes when Apple is back (U7)")
    func interrupted() async throws {
        try await SilentShop.open { silent in
            _ = try await silent.buy("points60", as: "ann")
            silent.line.outage = AppleConnectionError(.timedOut)
            let waiting = try #require(try await silent.reconciliations.advance())
            #expect(waiting.state == .running && waiting.wait?.reason.hasPrefix("outage: ") == true, "\(waiting)")
            silent.line.outage = nil
            silent.shop.time.advance(seconds: 60)
            #expect(try await silent.reconciliations.advance()?.state == .finished)
            #expect(try await silent.shop.points(of: "ann") == 60)

            // A key that Apple refuses is no reason to wait.
            silent.line.answer = AppleResponse(
                status: 401, headers: [.init("Content-Type", "application/json")], body: Array("{}".utf8))
            try await silent.pass(days: 1)
            let failed = try #require(try await silent.reconciliations.advance())
            #expect(failed.state == .failed && failed.ending?.hasPrefix("unauthorized: ") == true, "\(failed)")
            silent.line.answer = nil
            #expect(try await silent.reconciliations.advance() == nil, "not at once again")
            silent.shop.time.advance(seconds: 3_600)
            #expect(try await silent.reconciliations.advance()?.state == .finished)
        }
    }

    @Test("An answer that Apple did not sign grants nothing, is logged, and delays no customer's purchases (P9)")
    func forged() async throws {
        try await SilentShop.open { silent in
            let shop = silent.shop
            let order = try await shop.openOrder(as: "ann")
            let genuine = try await shop.notification(of: order)
            let forged = try #require(try Issuer.forged(genuine, at: shop.time.now) { RandomBytes.make(16) })
            let page: JSONValue = [
                "notificationHistory": [["signedPayload": .string(forged)], ["signedPayload": .string(genuine)]],
                "hasMore": false,
            ]
            let run = try await silent.reconciliations.request(by: "test", since: shop.time.now.adding(seconds: -60))
            silent.line.answer = AppleResponse(
                status: 200, headers: [.init("Content-Type", "application/json")], body: Array(page.encoded().utf8))
            // The same page is no history of transactions: after some attempts its customer is skipped.
            for _ in 0..<30 where try await silent.reconciliations.advance()?.state == .running {
                shop.time.advance(seconds: 3_700)
            }
            let found = try await silent.found(by: run.rowID)
            #expect(found.count(.responseRefused) == 1 && found.count(.notificationMissed) == 1, "\(found)")
            #expect(found.count(.purchaseMissed) == 1 && found.count(.responseUnreadable) == 1, "\(found)")
            #expect(try await shop.points(of: "ann") == 60)
            let logged = try await shop.ledger.read { connection in
                try connection.query("SELECT source || ' ' || code AS value FROM refused_proofs", []) {
                    $0.text("value")
                }
            }
            #expect(logged == ["reconciliation bad_root"] || logged == ["reconciliation chain_untrusted"], "\(logged)")
        }
    }

    @Test("A customer whose data Apple refuses is named, and the others still come back")
    func unavailable() async throws {
        try await SilentShop.open { silent in
            let shop = silent.shop
            let gone = try await silent.buy("premium_monthly_auto", as: "ann")
            _ = try await silent.buy("premium_monthly_auto", as: "ben")
            #expect(try await silent.reconcile().counts["unavailable"] == nil)
            let deleted = try await shop.ask(.put, "/emulator/accounts/ann", ["isDeleted": true])
            #expect(deleted.status == 200, "\(deleted.body)")
            shop.time.advance(seconds: 40 * SilentShop.day)
            let found = try await silent.reconcile()
            let unavailable = found.differences.filter { $0.kind == .customerUnavailable }
            #expect(unavailable.map(\.transactionID?.text) == [gone.id], "\(found)")
            #expect(found.counts["customers"] == 1)
            #expect(try await shop.rights(of: "ben").count == 1)
            #expect(try await silent.reconcile().count(.customerUnavailable) == 0, "told once")
        }
    }
}
