import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillServer
import TillStorage

@Suite("Apple's answer to our own question, the third door") struct CatchUpJourneys {
    private static let day: Int64 = 86_400

    /// A shop whose server does not get what the store posts.
    private static func open(_ journey: (Shop, AppleLine, HistoryCatchUp) async throws -> Void) async throws {
        try await CloudShop.open { shop in
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            shop.intercept { _ in HTTPResponse(status: 503) }
            let line = AppleLine()
            let api = try await line.serverAPI(of: shop.emulator, time: shop.time)
            try await journey(shop, line, HistoryCatchUp(shop.server, asking: api))
        }
    }

    /// Pays, and tells the server nothing.
    private static func buy(_ product: String, as user: String, in shop: Shop) async throws -> Payment {
        let id = CloudShop.prefix + product
        let order = try await shop.openOrder(id, as: user)
        let payment = try await shop.pay(id, token: order, account: user)
        await shop.emulator.sendDueNotifications()
        return payment
    }

    private static func catchUp(_ catchUp: HistoryCatchUp, _ shop: Shop) async throws -> CatchUpProgress {
        try await catchUp.run(since: shop.time.now.adding(seconds: -400 * day), in: .sandbox)
    }

    private static func doors(of transaction: String, in shop: Shop) async throws -> [String] {
        try await shop.ledger.read { session in
            try session.query(
                """
                SELECT e.decision || ' ' || e.door FROM evidence e \
                JOIN transactions t ON t.sequence = e.transaction_sequence WHERE t.id = ? ORDER BY e.sequence
                """, [.text(transaction)]
            ) { $0.text(0) }
        }
    }

    @Test("The server was down for weeks: what was sold, renewed and refunded meanwhile comes back, once (U3)")
    func downForWeeks() async throws {
        try await Self.open { shop, _, catchUp in
            let points = try await Self.buy("points60", as: "ann", in: shop)
            let plan = try await Self.buy("premium_monthly_auto", as: "ben", in: shop)
            let refunded = try await Self.buy("pro", as: "cem", in: shop)
            shop.time.advance(seconds: 20 * Self.day)
            _ = try await shop.ask(.post, "/emulator/transactions/\(refunded.id)/refund")
            shop.time.advance(seconds: 20 * Self.day)
            // What is due at the store happens as soon as somebody looks.
            #expect(try await shop.ask(.get, "/emulator/state").status == 200)
            await shop.emulator.sendDueNotifications()
            #expect(try await shop.grantCount() == 0)

            let progress = try await Self.catchUp(catchUp, shop)
            #expect(progress.hasAllNotifications && progress.newNotifications == progress.notifications)
            #expect(progress.notifications >= 4 && progress.customers == 3 && progress.untoldCount == 0)
            #expect(try await shop.points(of: "ann") == 60)
            let rights = try await shop.rights(of: "ben")
            #expect(rights.count == 1 && rights[0].contains("premium_monthly"), "renewed: \(rights)")
            #expect(try await shop.rights(of: "cem").isEmpty)
            #expect(try await Self.doors(of: points.id, in: shop) == ["granted reconciliation"])
            #expect(try await Self.doors(of: plan.id, in: shop) == ["granted reconciliation"])

            let grants = try await shop.grantCount()
            let again = try await Self.catchUp(catchUp, shop)
            #expect(again.newNotifications == 0 && again.granted == 0 && again.notifications == progress.notifications)
            #expect(try await shop.grantCount() == grants)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("What Apple no longer has a notification of is in its customer's history (U3)")
    func olderThanNotifications() async throws {
        try await Self.open { shop, _, catchUp in
            _ = try await Self.buy("points60", as: "ann", in: shop)
            _ = try await Self.buy("points60", as: "ben", in: shop)
            shop.time.advance(seconds: 200 * Self.day)
            _ = try await Self.buy("points60", as: "ann", in: shop)
            let progress = try await Self.catchUp(catchUp, shop)
            #expect(progress.notifications == 1 && progress.customers == 1)
            #expect(try await shop.points(of: "ann") == 120)
            // Nothing leads to Ben until his next purchase.
            #expect(try await shop.points(of: "ben") == 0)
        }
    }

    @Test("Apple gone on the way is told with how far it came, and the next catch-up goes all the way (U7)")
    func interrupted() async throws {
        try await Self.open { shop, line, catchUp in
            _ = try await Self.buy("points60", as: "ann", in: shop)
            line.outage = AppleOutage(.timedOut)
            let none = await #expect(throws: CatchUpInterruption.self) { try await Self.catchUp(catchUp, shop) }
            #expect(none?.isRetryable == true && none?.progress == CatchUpProgress())
            guard case .apple(.outage(let outage)) = none?.fault else {
                Issue.record("\(String(describing: none))")
                return
            }
            #expect(outage.reason == .timedOut)

            line.outage = nil
            line.answer = AppleAnswer(
                status: 401, headers: [.init("Content-Type", "application/json")], body: Array("{}".utf8))
            let refused = await #expect(throws: CatchUpInterruption.self) { try await Self.catchUp(catchUp, shop) }
            #expect(refused?.isRetryable == false)

            line.answer = nil
            #expect(try await Self.catchUp(catchUp, shop).granted == 0, "the notification itself granted it")
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("An answer that Apple did not sign grants nothing, is logged, and keeps nobody from theirs (P9)")
    func forged() async throws {
        try await Self.open { shop, line, catchUp in
            let order = try await shop.openOrder(as: "ann")
            let genuine = try await shop.notification(of: order)
            let forged = try #require(try Issuer.forged(genuine, at: shop.time.now) { RandomBytes.make(16) })
            let page: JSONValue = [
                "notificationHistory": [["signedPayload": .string(forged)], ["signedPayload": .string(genuine)]],
                "hasMore": false,
            ]
            line.answer = AppleAnswer(
                status: 200, headers: [.init("Content-Type", "application/json")], body: Array(page.encoded().utf8))
            // The same page is no history of transactions.
            let ended = await #expect(throws: CatchUpInterruption.self) { try await Self.catchUp(catchUp, shop) }
            let progress = try #require(ended?.progress)
            #expect(progress.hasAllNotifications && progress.refused == 1 && progress.newNotifications == 1)
            #expect(try await shop.points(of: "ann") == 60)
            let logged = try await shop.ledger.read { session in
                try session.query("SELECT door || ' ' || code FROM refused_proofs", []) { $0.text(0) }
            }
            #expect(logged == ["reconciliation bad_root"] || logged == ["reconciliation chain_untrusted"], "\(logged)")
        }
    }

    @Test("A customer of whom Apple won't tell is named, and the others come back all the same")
    func untold() async throws {
        try await Self.open { shop, _, catchUp in
            let gone = try await Self.buy("premium_monthly_auto", as: "ann", in: shop)
            _ = try await Self.buy("premium_monthly_auto", as: "ben", in: shop)
            #expect(try await Self.catchUp(catchUp, shop).untoldCount == 0)
            let deleted = try await shop.ask(.put, "/emulator/accounts/ann", ["isDeleted": true])
            #expect(deleted.status == 200, "\(deleted.body)")
            shop.time.advance(seconds: 40 * Self.day)
            let progress = try await Self.catchUp(catchUp, shop)
            #expect(progress.untold.map(\.chain.text) == [gone.id], "\(progress)")
            #expect(progress.customers == 1)
            #expect(try await shop.rights(of: "ben").count == 1)
        }
    }
}
