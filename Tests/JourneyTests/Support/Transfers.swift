import Testing
import TillBilling
import TillJSON
import TillLedger

extension Shop {
    /// A guest signs in to an account: by the app with both tokens, or by the backend.
    func merge(_ guest: String, into account: String, as party: Party? = nil) async throws -> Reply {
        var body: [String: JSONValue] = ["guestId": .string(guest)]
        if party == nil {
            body["guestToken"] = .string(
                UserToken.hs256(
                    subject: guest, expires: time.now.seconds + 600, extra: UserToken.guestClaim(guest)))
        }
        return try await send(.post, "/v1/users/\(account)/guests", .object(body), as: party ?? .user(account))
    }

    func restore(_ proofs: [String], as party: Party, userID: String? = nil) async throws -> Reply {
        var body: [String: JSONValue] = ["signedTransactions": .array(proofs.map { .string($0) })]
        if let userID { body["userId"] = .string(userID) }
        return try await send(.post, "/v1/restores", .object(body), as: party)
    }

    /// `outcome reason finish` of each.
    func outcomes(_ reply: Reply) -> [String] {
        reply["data"].list.map { item in
            [item.at("outcome").text, item.at("reason").text, item.at("finish") == true ? "finish" : ""]
                .filter { !$0.isEmpty }.joined(separator: " ")
        }
    }

    /// Opens an order, pays and submits; returns the payment.
    func purchase(_ product: String = Shop.points60, as buyer: String, account: String? = nil) async throws -> Payment {
        let order = try await openOrder(product, as: buyer)
        let payment = try await pay(product, token: order, account: account ?? buyer)
        #expect(try await submit(payment.signed, as: .user(buyer))["outcome"].text == "granted")
        return payment
    }

    /// `kind from to grants points` of each transfer to and from a user, newest first.
    func transfers(of user: String) async throws -> [String] {
        let reply = try await send(.get, "/v1/users/\(user)/transfers")
        #expect(reply.status == 200, "\(reply.body)")
        return reply["data"].list.map { transfer in
            let points = transfer.at("points").list.map { String($0.at("amount").int ?? 0) }
            return
                ([
                    transfer.at("kind").text, transfer.at("from").text, transfer.at("to").text,
                    String(transfer.at("grantCount").int ?? -1),
                ] + points).joined(separator: " ")
        }
    }

    func reverse(_ transfer: String) async throws -> Reply {
        try await send(
            .post, "/v1/transfers/\(transfer)/reversal", ["reason": "the wrong account", "operator": "li"])
    }

    /// Apple refunds a purchase, or reverses the refund; the buyer's phone submits the new copy.
    func refund(_ transaction: String, reversal: Bool = false, by buyer: String) async throws -> Reply {
        time.advance(seconds: 1)
        let reply = try await ask(
            .post, "/emulator/transactions/\(transaction)/\(reversal ? "refundReversal" : "refund")")
        #expect(reply.status == 200, "\(reply.body)")
        return try await submit(reply["signedTransaction"].text, as: .user(buyer))
    }

    func events() async throws -> [String] {
        try await server.ledger.placeEvents()
        return try await ledger.read { try OutboxTable($0).list(after: 0, limit: 100) }
            .map { "\($0.type) \($0.user?.text ?? "-")" }
    }

    /// The decisions about all transactions: `decision ground`.
    func evidence() async throws -> [String] { try await decisions().map { "\($0.decision) \($0.ground)" } }

    /// The next period of a subscription begins, and the store notifies the server.
    func renew(_ original: String, days: Int64 = 31) async throws {
        _ = try await ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
        time.advance(seconds: days * 86_400)
        #expect(try await ask(.get, "/emulator/subscriptions/\(original)").status == 200)
        await emulator.sendDueNotifications()
    }
}
