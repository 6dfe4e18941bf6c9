import Testing
import TillBilling
import TillCrypto
import TillEmulator
import TillJSON
import TillLedger

@Suite("Nothing forged is granted") struct ForgeryJourneys {
    /// Ways to make a bad proof of a genuine one, with the code of each refusal.
    static let forgeries = [
        ("signed by another root", "chain_untrusted"), ("payload swapped", "bad_signature"),
        ("quantity raised", "bad_signature"), ("signature bit flipped", "bad_signature"),
        ("signature cut", "bad_signature"), ("algorithm none", "malformed"), ("two parts", "malformed"),
        ("text", "malformed"), ("empty", "malformed"),
    ]

    @Test(
        "A forged proof is refused with the reason, logged, and grants nothing (P9)", arguments: forgeries,
        Reach.allCases)
    func forged(_ forgery: (kind: String, code: String), _ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            let bad = try await Self.forge(forgery.kind, payment, shop)
            let reply = try await shop.submit(bad, as: .user("u1"), orderID: order)
            #expect(reply.status == 422)
            #expect(reply.code == forgery.code)
            #expect(reply["retryable"] == false)
            #expect(reply.headers["Content-Type"] == "application/problem+json")
            #expect(try await shop.grantCount() == 0)
            #expect(try await shop.points(of: "u1") == 0)
            #expect(try await shop.status(of: order) == "prepared")
            guard !bad.isEmpty else { return }
            let logged = try await shop.ledger.read { try RefusedProofTable($0).list(claiming: order, limit: 5) }
            #expect(logged.map(\.code) == [forgery.code])
            #expect(logged.first?.caller == "user:u1")
            #expect(logged.first?.digest == Digest.sha256.hash(bad.utf8))
        }
    }

    private static func forge(_ kind: String, _ payment: Payment, _ shop: Shop) async throws -> String {
        let parts = payment.signed.split(separator: ".").map(String.init)
        let payload = try #require(Base64.decode(parts[1], .url))
        let signature = try #require(Base64.decode(parts[2], .url))
        switch kind {
        case "signed by another root":
            return try #require(try Issuer.forged(payment.signed, at: shop.time.now) { RandomBytes.make(16) })
        case "payload swapped":
            let other = try await shop.pay(token: nil).signed.split(separator: ".").map(String.init)
            return "\(parts[0]).\(other[1]).\(parts[2])"
        case "quantity raised":
            let text = String(decoding: payload, as: UTF8.self)
            try #require(text.contains(#""quantity":1"#))
            let raised = text.replacingOccurrences(of: #""quantity":1"#, with: #""quantity":9"#)
            return "\(parts[0]).\(Base64.encode(Array(raised.utf8), .url)).\(parts[2])"
        case "signature bit flipped":
            var flipped = signature
            flipped[40] ^= 1
            return "\(parts[0]).\(parts[1]).\(Base64.encode(flipped, .url))"
        case "signature cut": return "\(parts[0]).\(parts[1]).\(Base64.encode(signature.dropLast(), .url))"
        case "algorithm none":
            let header = try #require(Base64.decode(parts[0], .url))
            let none = String(decoding: header, as: UTF8.self).replacingOccurrences(of: "ES256", with: "none")
            return "\(Base64.encode(Array(none.utf8), .url)).\(parts[1])."
        case "two parts": return "\(parts[0]).\(parts[1])"
        case "text": return "please"
        default: return ""
        }
    }

    @Test("A receipt of another root, and a changed one, are refused; the good one is still granted (P9)")
    func receipts() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: nil)
            func submit(_ receipt: String) async throws -> Reply {
                let body: JSONValue = [
                    "receipt": .string(receipt), "transactionId": .string(payment.id),
                    "productId": .string(Shop.points60), "orderId": .string(order.description),
                ]
                return try await shop.send(.post, "/v1/transactions", body, as: .user("u1"))
            }
            var changed = try #require(Base64.decode(payment.receipt))
            let product = Array(Shop.points60.utf8)
            let place = try #require(changed.indices.first { changed[$0...].starts(with: product) })
            changed[place + 4] ^= 1
            #expect(try await submit(Base64.encode(changed)).code == "bad_signature")
            #expect(try await submit("not base64 at all!").code == "malformed")
            #expect(try await submit(Base64.encode(Array("hello".utf8))).code == "malformed")
            try await Shop.open { other in
                let foreign = try await other.pay(token: nil)
                #expect(try await submit(foreign.receipt).code == "chain_untrusted")
            }
            #expect(try await shop.grantCount() == 0)
            #expect(try await submit(payment.receipt)["outcome"].text == "granted")
        }
    }

    @Test("Another app's genuine proof is refused (P9)")
    func otherApp() async throws {
        try await Shop.open { shop in
            let bought = try await shop.ask(
                .post, "/emulator/purchases", ["bundleId": "com.example.other", "productId": .string(Shop.points60)])
            let reply = try await shop.submit(bought["signedTransaction"].text, as: .user("u1"))
            #expect(reply.status == 422)
            #expect(reply.code == "wrong_app")
        }
    }

    @Test(
        "The client's statement about the environment is ignored: only signed data counts (T7, T8)",
        arguments: Reach.allCases)
    func environment(_ reach: Reach) async throws {
        try await Shop.open(reach, environments: [.production]) { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            let body: JSONValue = [
                "signedTransaction": .string(payment.signed), "is_sandbox": false, "isSandbox": false,
                "environment": "Production", "password": "secret", "price": 1, "expiry": "2099-01-01T00:00:00Z",
            ]
            let reply = try await shop.send(.post, "/v1/transactions", body, as: .user("u1"))
            #expect(reply.status == 422)
            #expect(reply.code == "wrong_environment")
            #expect(try await shop.grantCount() == 0)
        }
        try await Shop.open(reach) { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            let body: JSONValue = [
                "signedTransaction": .string(payment.signed), "is_sandbox": false, "environment": "Production",
            ]
            #expect(try await shop.send(.post, "/v1/transactions", body, as: .user("u1"))["outcome"].text == "granted")
            // Sandbox purchases stay in the sandbox (invariant 7).
            #expect(try await shop.points(of: "u1", environment: "sandbox") == 60)
            #expect(try await shop.points(of: "u1", environment: "production") == 0)
        }
    }
}
