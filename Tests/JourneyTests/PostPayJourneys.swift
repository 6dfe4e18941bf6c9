import Foundation
import Testing
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger

@Suite("POST /postPay/ios, as a released app posts it (C8)") struct PostPayJourneys {
    /// The encoding of a released client's own HTTP code is unknown; each of these occurs.
    enum Wire: String, CaseIterable, Sendable {
        case json = "JSON"
        case form = "a form"
        case carelessForm = "a form whose plus signs were not encoded"
    }

    private func token(_ user: String, _ shop: Shop) -> String {
        UserToken.hs256(subject: user, expires: shop.time.now.seconds + 600)
    }

    /// The dictionary of a released client (C8), with line feeds in the base64.
    private func fields(
        _ payment: Payment, order: String, as user: String, _ shop: Shop, _ changes: [String: String?] = [:]
    ) -> [String: String] {
        let lines = stride(from: 0, to: payment.receipt.count, by: 64)
            .map { String(payment.receipt.dropFirst($0).prefix(64)) }
        var fields = [
            "token": token(user, shop), "receipt-data": lines.joined(separator: "\n"), "password": "a shared secret",
            "product_id": "points60", "transaction_id": payment.id, "quantity": "1", "order_id": order,
            "is_sandbox": "1", "bundle_id": Shop.bundleID,
        ]
        for (name, value) in changes { fields[name] = value }
        return fields
    }

    private func post(_ shop: Shop, _ fields: [String: String], _ wire: Wire = .json) async throws -> Reply {
        var request = HTTPRequest(method: .post, path: "/postPay/ios")
        switch wire {
        case .json:
            request.headers.add("Content-Type", "application/json")
            request.body = Array(JSONValue.object(fields.mapValues { .string($0) }).encoded().utf8)
        case .form, .carelessForm:
            request.headers.add("Content-Type", "application/x-www-form-urlencoded")
            var safe = CharacterSet.alphanumerics
            if wire == .carelessForm { safe.insert(charactersIn: "+/") }
            request.body = Array(
                fields.map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: safe) ?? "")" }
                    .joined(separator: "&").utf8)
        }
        return try await Reply(shop.deliver(request))
    }

    @Test("A request that waits for Apple takes no share of the quota for verifying receipts (C8)")
    func placesWhileAppleIsSlow() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            var payments: [Payment] = []
            for _ in 0..<34 { payments.append(try await shop.pay(token: nil)) }
            line.isHeld = { _ in true }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for (number, payment) in payments.enumerated() {
                    let fields = fields(payment, order: "\(number)", as: "u1", shop)
                    group.addTask { try await post(shop, fields).status }
                }
                #expect(await eventually(within: 10) { line.asked.count == 34 })
                line.isHeld = nil
                let statuses = try await group.reduce(into: []) { $0.append($1) }
                #expect(!statuses.contains(503), "\(statuses)")
            }
        }
    }

    @Test("A payment is granted once, and a repeated post says the same (C8)", arguments: Wire.allCases, Reach.allCases)
    func granted(_ wire: Wire, _ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let order = try await shop.openOrder(as: "u1")
            var payment = try await shop.pay(token: nil)
            // A receipt without a plus sign would not test them.
            while wire != .json, !payment.receipt.contains("+") { payment = try await shop.pay(token: nil) }
            let sent = fields(payment, order: order.description, as: "u1", shop)
            for outcome in ["granted", "alreadyGranted", "alreadyGranted"] {
                let reply = try await post(shop, sent, wire)
                #expect(reply.status == 200 && reply["status"] == 200, "\(reply.body)")
                #expect(reply["outcome"].text == outcome)
                #expect(reply["transaction_id"].text == payment.id)
                #expect(reply["order"].at("id").text == order.description)
                #expect(reply["order"].at("status") == "completed" && reply["order"].at("userId") == "u1")
            }
            #expect(try await shop.grantCount() == 1)
            #expect(try await shop.points(of: "u1") == 60)
            // `POST /v1/transactions` knows the grant, too.
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "alreadyGranted")
        }
    }

    @Test("A subscription's answer states when the paid period ends (C8)")
    func expiry() async throws {
        try await DropInJourneys.open { shop in
            let order = try await shop.openOrder(DropInJourneys.monthly, as: "u1")
            let payment = try await shop.pay(DropInJourneys.monthly, token: nil)
            let reply = try await post(
                shop, fields(payment, order: order.description, as: "u1", shop, ["product_id": "monthly"]))
            #expect(reply["status"] == 200)
            let expires = try #require(Instant(rfc3339: reply["expires_at"].text))
            #expect(expires > shop.time.now.adding(seconds: 27 * 86_400))
            // A plan's full id is accepted as a plan's id.
            let whole = fields(
                payment, order: order.description, as: "u1", shop, ["product_id": DropInJourneys.monthly])
            #expect(try await post(shop, whole)["outcome"] == "alreadyGranted")
        }
    }

    @Test("A plan's answer states when the service with its time ends, also later and after a conversion (C8)")
    func service() async throws {
        try await CloudShop.open { shop in
            func ends(_ payment: Payment, _ order: OrderID, _ plan: String) async throws -> [String] {
                let reply = try await post(
                    shop, fields(payment, order: order.description, as: "u1", shop, ["product_id": plan]))
                #expect(reply["status"] == 200, "\(reply.body)")
                return [reply["outcome"].text, reply["expires_at"].text]
            }
            func after(_ seconds: Int64) -> String {
                Instant(seconds: shop.time.now.seconds).adding(seconds: seconds).rfc3339
            }
            func pay(_ plan: String) async throws -> (Payment, OrderID) {
                let order = try await shop.openOrder(CloudShop.prefix + plan, as: "u1")
                return (try await shop.pay(CloudShop.prefix + plan, token: nil), order)
            }
            let day: Int64 = 86_400
            let (first, order) = try await pay("basic_pass")
            #expect(try await ends(first, order, "basic_pass") == ["granted", after(30 * day)])
            shop.time.advance(seconds: 15 * day)
            let (second, other) = try await pay("premium_monthly")
            let end = after(30 * day + 554_370)
            #expect(try await ends(second, other, "premium_monthly") == ["granted", end])
            #expect(try await ends(first, order, "basic_pass") == ["alreadyGranted", end])
            #expect(try await shop.rights(of: "u1") == ["service premium premium_monthly \(end)"])
        }
    }

    @Test("A client's statements about sandbox, secret, price and expiry are ignored (T7, T8)")
    func lies() async throws {
        for lie in ["0", "1", "yes", ""] {
            try await Shop.open { shop in
                let order = try await shop.openOrder(as: "u1")
                let payment = try await shop.pay(token: nil)
                let sent = fields(
                    payment, order: order.description, as: "u1", shop,
                    ["is_sandbox": lie, "password": nil, "expires_date": "4102444800000", "price": "0"])
                #expect(try await post(shop, sent)["status"] == 200)
                #expect(try await shop.points(of: "u1", environment: "production") == 0)
            }
        }
        try await Shop.open(environments: [.production]) { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: nil)
            let reply = try await post(
                shop, fields(payment, order: order.description, as: "u1", shop, ["is_sandbox": "0"]))
            #expect(reply["status"] == 422 && reply.code == "wrong_environment")
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("A post that is forged or contradicts the receipt is refused with the reason, logged, not granted (P9, O3)")
    func refused() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: nil)
            let genuine = try #require(Base64.decode(payment.receipt))
            let forged = try #require(try Issuer.forged(receipt: genuine, at: shop.time.now) { RandomBytes.make(16) })
            let other = try await shop.ask(
                .post, "/emulator/purchases", ["bundleId": "com.example.other", "productId": .string(Shop.points60)])
            let cases: [(changes: [String: String?], status: Int64, code: String)] = [
                (["receipt-data": Base64.encode(forged)], 422, "chain_untrusted"),
                (["receipt-data": "AAAA"], 422, "malformed"), (["receipt-data": "?"], 422, "malformed"),
                (["receipt-data": other["receipt"].text], 422, "wrong_app"),
                (["transaction_id": "1"], 422, "transaction_not_in_receipt"),
                (["product_id": "points300"], 422, "product_mismatch"),
                (["product_id": "nothing"], 422, "product_mismatch"),
                (["quantity": "5"], 422, "transaction_mismatch"), (["quantity": "0"], 400, "invalid_field"),
                (["quantity": "many"], 400, "invalid_field"), (["bundle_id": "com.example.other"], 422, "wrong_app"),
                (["token": nil], 400, "invalid_field"), (["receipt-data": nil], 400, "invalid_field"),
                (["product_id": ""], 400, "invalid_field"), (["transaction_id": nil], 400, "invalid_field"),
                (["token": "x"], 401, "unauthorized"), (["token": Shop.secretKey], 401, "unauthorized"),
                (["token": UserToken.hs256(subject: "u1", expires: 1)], 401, "unauthorized"),
                (["token": String(repeating: "a", count: 10_000)], 401, "unauthorized"),
            ]
            for item in cases {
                let reply = try await post(
                    shop, fields(payment, order: order.description, as: "u1", shop, item.changes))
                #expect(reply.status == Int(item.status) && reply["status"].int == item.status, "\(item.changes)")
                #expect(reply.code == item.code, "\(item.changes)")
            }
            #expect(try await shop.grantCount() == 0)
            #expect(try await shop.status(of: order) == "prepared")
            let logged = try await shop.ledger.read { try RefusedProofTable($0).list(claiming: order, limit: 20) }
            let verdicts = cases.filter { $0.status == 422 && $0.changes["bundle_id"] == nil }.map(\.code)
            let counted = logged.flatMap { [String](repeating: $0.code, count: Int($0.count)) }
            #expect(counted.sorted() == verdicts.sorted())
            // The honest post still succeeds.
            let honest = fields(payment, order: order.description, as: "u1", shop)
            #expect(try await post(shop, honest)["status"] == 200)
        }
    }

    @Test(
        "An order of another user, plan or quantity, unknown or missing: kept, never granted to the caller")
    func attribution() async throws {
        try await Shop.open { shop in
            let hers = try await shop.openOrder(as: "A")
            let larger = try await shop.openOrder(Shop.points300, as: "u1")
            let two = try await shop.openOrder(as: "u1", quantity: 2)
            let cases = [
                (hers.description, "claimed_order_of_another"), (larger.description, "claimed_order_differs"),
                (two.description, "claimed_order_differs"),
                (UniqueID(high: 1, low: 2).description, "claimed_order_unknown"),
                ("", "receipt_needs_order"),
            ]
            for (order, reason) in cases {
                let payment = try await shop.pay(token: nil)
                let reply = try await post(shop, fields(payment, order: order, as: "u1", shop))
                #expect(reply.status == 202 && reply["status"] == 202)
                #expect(reply["outcome"] == "quarantined" && reply["reason"].text == reason)
            }
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("A receipt that paid another user's order is no success for anyone who posts it again (P8, P9)")
    func borrowed() async throws {
        try await Shop.open { shop in
            let hers = try await shop.openOrder(as: "A")
            let payment = try await shop.pay(token: nil)
            #expect(try await post(shop, fields(payment, order: hers.description, as: "A", shop))["status"] == 200)
            let his = try await shop.openOrder(as: "B")
            for order in [his, hers] {
                let reply = try await post(shop, fields(payment, order: order.description, as: "B", shop))
                #expect(reply.status == 409)
                #expect(
                    reply.body == [
                        "status": 409, "outcome": "alreadyGranted", "transaction_id": .string(payment.id),
                    ])
            }
            #expect(try await shop.points(of: "B") == 0)
            #expect(try await shop.points(of: "A") == 60)
        }
    }

    @Test("A refunded purchase is reported as refunded, to its owner with the order (U5)")
    func takenBack() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: nil)
            let sent = fields(payment, order: order.description, as: "u1", shop)
            #expect(try await post(shop, sent)["status"] == 200)
            shop.time.advance(seconds: 60)
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .backend)
            let reply = try await post(shop, sent)
            #expect(reply.status == 410 && reply["status"] == 410 && reply["outcome"] == "revoked")
            #expect(reply["order"].at("status") == "refunded")
            let stranger = try await post(shop, fields(payment, order: order.description, as: "B", shop))
            #expect(stranger.status == 410 && stranger["order"] == .null)
        }
    }
}
