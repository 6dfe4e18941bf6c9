import Testing
import TillBilling
import TillJSON
import TillLedger
import TillServer

@Suite("Reminders before the end of service, and at it (C10)") struct ReminderJourneys {
    private static let day: Int64 = 86_400

    /// The outbox events about ends of service, oldest first: `service.expiring u1 before_P7D basic`.
    private func reported(_ shop: Shop) async throws -> [String] {
        _ = try await DueReminders(shop.server.ledger).recordAll()
        try await shop.server.ledger.placeEvents()
        let events = try await shop.ledger.read { try OutboxTable($0).list(after: 0, limit: 1_000) }
        return try events.filter { $0.type.hasPrefix("service.") }.map { event in
            let body = try JSONValue(decoding: Array(event.body.utf8))
            return [
                event.type, event.user?.text ?? "nobody", body["reminder"]?.string ?? "?",
                body["entitlement"]?.string ?? "?",
            ].joined(separator: " ")
        }
    }

    private func waiting(_ shop: Shop, _ user: String) async throws -> [String] {
        try await shop.ledger.read { connection in
            try ReminderTable(connection).list(user: UserID(user), in: .sandbox).filter { $0.sentAt == nil }.map {
                "\($0.reminder.kind.name) \($0.reminder.dueAt.rfc3339)"
            }
        }
    }

    @Test("A week before, a day before and at the end, each once")
    func three() async throws {
        try await CloudShop.open { shop in
            let start = shop.time.now
            try await shop.buyPlan("basic_monthly", as: "u1")
            let end = start.adding(seconds: 30 * Self.day)
            #expect(
                try await waiting(shop, "u1") == [
                    "before_P7D \(start.adding(seconds: 23 * Self.day).rfc3339)",
                    "before_P1D \(start.adding(seconds: 29 * Self.day).rfc3339)", "expired \(end.rfc3339)",
                ])
            let script: [(days: Int64, events: [String])] = [
                (22, []), (1, ["service.expiring u1 before_P7D basic"]), (1, []),
                (5, ["service.expiring u1 before_P1D basic"]),
                (1, ["service.expired u1 expired basic"]), (30, []),
            ]
            var all: [String] = []
            for step in script {
                shop.time.advance(seconds: step.days * Self.day)
                all += step.events
                #expect(try await reported(shop) == all)
            }
        }
    }

    @Test("An extension moves them, a refund cancels them, and a reversed refund restores them")
    func moved() async throws {
        try await CloudShop.open { shop in
            try await shop.buyPlan("basic_monthly", as: "u1")
            shop.time.advance(seconds: 20 * Self.day)
            let second = try await shop.buyPlan("basic_monthly", as: "u1")
            shop.time.advance(seconds: 10 * Self.day)
            #expect(try await reported(shop) == [])
            let standing = try await waiting(shop, "u1")
            #expect(standing.count == 3)

            let refunded = try await shop.ask(.post, "/emulator/transactions/\(second)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))
            #expect(try await waiting(shop, "u1") == [])
            shop.time.advance(seconds: 1)
            let reversed = try await shop.ask(.post, "/emulator/transactions/\(second)/refundReversal")
            _ = try await shop.submit(reversed["signedTransaction"].text, as: .user("u1"))
            #expect(try await waiting(shop, "u1") == standing)
        }
    }

    @Test("After an outage only the relevant reminder is sent: the last announcement, or the expiry")
    func late() async throws {
        try await CloudShop.open { shop in
            try await shop.buyPlan("basic_monthly", as: "u1")
            try await shop.buyPlan("basic_annual", as: "u2")
            shop.time.advance(seconds: 29 * Self.day + 3_600)
            #expect(try await reported(shop) == ["service.expiring u1 before_P1D basic"])
            shop.time.advance(seconds: 400 * Self.day)
            #expect(
                try await reported(shop) == [
                    "service.expiring u1 before_P1D basic", "service.expired u1 expired basic",
                    "service.expired u2 expired basic",
                ])
        }
    }

    @Test("Another plan replaces the first, and its reminders (C5)")
    func converted() async throws {
        try await CloudShop.open { shop in
            try await shop.buyPlan("basic_monthly", as: "u1")
            shop.time.advance(seconds: 15 * Self.day)
            try await shop.buyPlan("premium_monthly", as: "u1")
            shop.time.advance(seconds: 16 * Self.day)
            #expect(try await reported(shop) == [])
            shop.time.advance(seconds: 60 * Self.day)
            #expect(try await reported(shop) == ["service.expired u1 expired premium"])
        }
    }

    @Test("A subscription that Apple renews is not announced; once the renewal is switched off, it is (C7)")
    func renewed() async throws {
        try await CloudShop.open { shop in
            let first = try await shop.buyPlan("premium_monthly_auto", as: "u1")
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            // So that the server knows that Apple will renew it.
            shop.time.advance(seconds: 1)
            _ = try await shop.ask(.post, "/emulator/subscriptions/\(first)/cancel")
            shop.time.advance(seconds: 1)
            _ = try await shop.ask(.post, "/emulator/subscriptions/\(first)/resume")
            await shop.emulator.sendDueNotifications()
            #expect(try await waiting(shop, "u1").count == 1)
            shop.time.advance(seconds: 31 * Self.day)
            #expect(try await shop.ask(.get, "/emulator/subscriptions/\(first)").status == 200)
            await shop.emulator.sendDueNotifications()
            #expect(try await reported(shop) == [])

            _ = try await shop.ask(.post, "/emulator/subscriptions/\(first)/cancel")
            await shop.emulator.sendDueNotifications()
            #expect(try await waiting(shop, "u1").count == 3)
            shop.time.advance(seconds: 29 * Self.day)
            #expect(try await reported(shop) == ["service.expiring u1 before_P1D premium"])
            shop.time.advance(seconds: 5 * Self.day)
            #expect(
                try await reported(shop) == [
                    "service.expiring u1 before_P1D premium", "service.expired u1 expired premium",
                ])
        }
    }

    @Test("Without announcements only the end is reported; with other ones, they are sent")
    func configured() async throws {
        for (leads, expected) in [([], 1), (["P14D"], 2)] as [([String], Int)] {
            try await Shop.open(change: {
                $0.catalog = CloudShop.catalog
                $0.reminders = ReminderPolicy(leads: leads.compactMap { PlanLength($0) })
            }) { shop in
                try await CloudShop.stock(shop)
                try await shop.buyPlan("basic_monthly", as: "u1")
                #expect(try await waiting(shop, "u1").count == expected)
            }
        }
    }

    @Test("A proof without new data causes no new read of its customer's service, from any caller")
    func replayed() async throws {
        try await CloudShop.open { shop in
            let order = try await shop.openPlan("basic_monthly", as: "u1")
            let id = try #require(UniqueID(order["id"].text))
            let paid = try await shop.pay(CloudShop.prefix + "basic_monthly", token: id, account: "u1")
            #expect(try await shop.submit(paid.signed, as: .user("u1"))["outcome"].text == "granted")
            #expect(try await waiting(shop, "u1").count == 3)
            // The reminders that a read of the service would set again.
            _ = try await shop.ledger.write { connection in try connection.execute("DELETE FROM reminders", []) }
            for party in [Party.user("u1"), .user("stranger")] {
                #expect(try await shop.submit(paid.signed, as: party)["outcome"].text == "alreadyGranted")
            }
            #expect(try await waiting(shop, "u1").isEmpty)
        }
    }
}
