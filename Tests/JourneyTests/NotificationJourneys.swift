import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillServer

@Suite("Apple's notifications as a source of purchases") struct NotificationJourneys {
    @Test("The phone never comes back: the notification alone completes the order (U2)", arguments: Reach.allCases)
    func phoneNeverComesBack(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            await shop.emulator.sendDueNotifications()
            #expect(try await shop.status(of: order) == "completed")
            #expect(try await shop.points(of: "u1") == 60)
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "alreadyGranted")
            #expect(try await shop.grantCount() == 1)
        }
    }

    @Test("A refund takes the points back with the reverse posting, from any source, and once (invariant 4, U5)")
    func refund() async throws {
        try await Shop.open { shop in
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            await shop.emulator.sendDueNotifications()
            let debit: JSONValue = ["currency": "points", "amount": 50, "reference": "lesson-1"]
            #expect(try await shop.send(.post, "/v1/users/u1/wallet/debits", debit).status == 201)
            shop.time.advance(seconds: 60)
            _ = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund")
            await shop.emulator.sendDueNotifications()
            #expect(try await shop.points(of: "u1") == -50)
            #expect(try await shop.status(of: order) == "refunded")

            let refunded = try await shop.ask(.get, "/emulator/transactions/\(payment.id)")["signedTransaction"].text
            let reported = try await shop.submit(refunded, as: .user("u1"))
            #expect(reported["outcome"].text == "revoked")
            #expect(reported["finish"] == true)
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "revoked")
            #expect(try await shop.points(of: "u1") == -50)
            let postings = try await shop.send(.get, "/v1/users/u1/wallet/postings")
            #expect(postings["data"].list.map { $0.at("amount").int } == [-60, -50, 60])
        }
    }

    @Test("A revocation that arrives first blocks older proofs (CONTRACT §2)")
    func revokedFirst() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            shop.time.advance(seconds: 60)
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund")
            let first = try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))
            #expect(first["outcome"].text == "revoked")
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "revoked")
            #expect(try await shop.grantCount() == 0)
            #expect(try await shop.points(of: "u1") == 0)
            #expect(try await shop.status(of: order) == "refunded")
        }
    }

    @Test("A repeated notification is answered 200 and changes nothing (U4)")
    func repeated() async throws {
        try await Shop.open { shop in
            let recorder = RequestRecorder()
            let payload = try await Self.notification(shop, recorder)
            for _ in 0..<3 {
                let reply = try await shop.send(
                    .post, "/v1/notifications/apple", ["signedPayload": .string(payload)], as: .anonymous)
                #expect(reply.status == 200)
            }
            #expect(try await shop.grantCount() == 1)
            let stored = try await Self.onlyNotification(shop)
            #expect(stored?.payload == payload)
        }
    }

    @Test("A notification of an unaccepted environment is stored and answered 200, and processes nothing")
    func otherEnvironment() async throws {
        try await Shop.open(environments: [.production]) { shop in
            let payload = try await Self.notification(shop, RequestRecorder())
            let body: JSONValue = ["signedPayload": .string(payload)]
            #expect(try await shop.send(.post, "/v1/notifications/apple", body, as: .anonymous).status == 200)
            #expect(try await shop.grantCount() == 0)
            #expect(try await shop.points(of: "u1", environment: "sandbox") == 0)
            let stored = try await Self.onlyNotification(shop)
            #expect(stored?.state == .stuck)
            #expect(stored?.detail == "wrong_environment: Sandbox")
            #expect(stored?.payload == payload)
            #expect(try await PendingNotifications(shop.server.ledger).processAll() == 0)
        }
    }

    @Test("A notification that Apple did not sign is refused and not processed (P9)")
    func forged() async throws {
        try await Shop.open { shop in
            for body: JSONValue in [
                ["signedPayload": "x.y.z"], ["signedPayload": ""], [:], ["signedPayload": 5], [1, 2],
            ] {
                let reply = try await shop.send(.post, "/v1/notifications/apple", body, as: .anonymous)
                #expect((400..<500).contains(reply.status))
            }
            try await Shop.open { other in
                let payload = try await Self.notification(other, RequestRecorder())
                let reply = try await shop.send(
                    .post, "/v1/notifications/apple", ["signedPayload": .string(payload)], as: .anonymous)
                #expect(reply.status == 422)
                #expect(reply.code == "chain_untrusted")
            }
            // A transaction alone is no notification, even if genuine.
            let payment = try await shop.pay(token: nil)
            let reply = try await shop.send(
                .post, "/v1/notifications/apple", ["signedPayload": .string(payment.signed)], as: .anonymous)
            #expect((400..<500).contains(reply.status))
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("A notification that was stored but not processed is processed at the next start, also behind a damaged one")
    func takenUp() async throws {
        try await Shop.open { shop in
            let payload = try await Self.notification(shop, RequestRecorder())
            try await shop.ledger.write { connection in
                for uuid in ["damaged", "left-over"] {
                    _ = try NotificationTable(connection).insert(
                        uuid: uuid, environment: .sandbox, type: "ONE_TIME_CHARGE", subtype: nil, signedAt: nil,
                        at: shop.time.now, payload: Array(payload.utf8))
                }
                try connection.execute("UPDATE notifications SET payload = '#9.{}.c2ln' WHERE uuid = 'damaged'", [])
            }
            #expect(try await shop.grantCount() == 0)
            #expect(try await PendingNotifications(shop.server.ledger).processAll() == 1)
            #expect(try await shop.grantCount() == 1)
            #expect(try await PendingNotifications(shop.server.ledger).processAll() == 0)
        }
    }

    /// The stored notification, if it is the only one.
    private static func onlyNotification(_ shop: Shop) async throws -> NotificationTable.Stored? {
        try await shop.ledger.read { connection in
            let uuids = try connection.query("SELECT uuid FROM notifications", []) { $0.text("uuid") }
            return uuids.count == 1 ? try NotificationTable(connection).find(uuid: uuids[0]) : nil
        }
    }

    /// A genuine ONE_TIME_CHARGE of a purchase for u1, as the emulator posts it.
    static func notification(_ shop: Shop, _ recorder: RequestRecorder) async throws -> String {
        let order = try await shop.openOrder(as: "u1")
        _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
        shop.intercept { request in
            recorder.take(request)
            return HTTPResponse(status: 503)
        }
        _ = try await shop.pay(token: order)
        await shop.emulator.sendDueNotifications()
        shop.intercept(nil)
        return try #require(recorder.payloads.first)
    }
}
