import Testing
import TillBilling
import TillClient
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillThreads

@Suite("An attacker on the phone or the line changes what the app sends") struct ForgedInTransitJourneys {
    struct Forgery: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let generations: [StoreKitGeneration]
        let code: String
        let change: @Sendable (inout [String: JSONValue], Payment) -> Void

        init(
            _ description: String, _ generations: [StoreKitGeneration] = StoreKitGeneration.both, _ code: String,
            _ change: @escaping @Sendable (inout [String: JSONValue], Payment) -> Void
        ) {
            testDescription = description
            self.generations = generations
            self.code = code
            self.change = change
        }
    }

    /// Each forgery with the generations it applies to and the reason of its refusal; the payment is another app's.
    static let forgeries = [
        Forgery("a changed receipt", [.storeKit1], "bad_signature") { body, _ in
            guard var receipt = Base64.decode(body["receipt"]?.text ?? "") else { return }
            let product = Array(Shop.points60.utf8)
            guard let place = receipt.indices.first(where: { receipt[$0...].starts(with: product) }) else { return }
            receipt[place + 4] ^= 1
            body["receipt"] = .string(Base64.encode(receipt))
        },
        Forgery("another product's id", [.storeKit1], "product_mismatch") { body, _ in
            body["productId"] = .string(Shop.points300)
        },
        Forgery("another transaction's id", [.storeKit1], "transaction_not_in_receipt") { body, _ in
            body["transactionId"] = "2000000099999999"
        },
        Forgery("another app's receipt", [.storeKit1], "wrong_app") { body, other in
            body["receipt"] = .string(other.receipt)
        },
        Forgery("a token of another root", [.storeKit2], "chain_untrusted") { body, _ in
            let signed = body["signedTransaction"]?.text ?? ""
            let forged = try? Issuer.forged(signed, at: Instant(seconds: 1_790_000_000)) { RandomBytes.make(16) }
            body["signedTransaction"] = .string((forged ?? nil) ?? "")
        },
        Forgery("a raised quantity", [.storeKit2], "bad_signature") { body, _ in
            let parts = (body["signedTransaction"]?.text ?? "").split(separator: ".").map(String.init)
            guard parts.count == 3, let payload = Base64.decode(parts[1], .url) else { return }
            let text = String(decoding: payload, as: UTF8.self)
            let raised = text.replacingOccurrences(of: #""quantity":1"#, with: #""quantity":9"#)
            body["signedTransaction"] = .string("\(parts[0]).\(Base64.encode(Array(raised.utf8), .url)).\(parts[2])")
        },
        Forgery("another app's token", [.storeKit2], "wrong_app") { body, other in
            body["signedTransaction"] = .string(other.signed)
        },
    ]

    static let cases = forgeries.flatMap { forgery in forgery.generations.map { ($0, forgery) } }

    @Test("Refused with the reason, no grant, logged; the real proof is granted later (O3, P9)", arguments: cases)
    func forged(_ generation: StoreKitGeneration, _ forgery: Forgery) async throws {
        try await Phones.open(generation, proof: .receipt) { phones in
            let shop = phones.shop
            let bought = try await shop.ask(
                .post, "/emulator/purchases", ["bundleId": "com.example.other", "productId": .string(Shop.points60)])
            let other = Payment(
                id: bought["transactionId"].text, signed: bought["signedTransaction"].text,
                receipt: bought["receipt"].text)
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions", .altered { $0.changed { forgery.change(&$0, other) } })
            let outcome = await ann.buy()
            #expect(ann.wire.happened >= 1)
            #expect(outcome.error?.code == forgery.code, "\(outcome)")
            #expect(outcome.order?.status == .ongoing, "paid, and the buyer sees it")
            #expect(try await shop.grantCount() == 0)
            #expect(try await ann.unfinished().count == 1, "finished without the server's word")
            let order = try #require(outcome.order?.uuid)
            let logged = try await shop.ledger.read { try RefusedProofTable($0).list(claiming: order, limit: 5) }
            #expect(logged.first?.code == forgery.code && logged.first?.caller == "user:ann")
            ann.wire.mend()
            try await ann.relaunch()
            #expect(try await ann.hasFinishedAll())
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.grantCount() == 1)
        }
    }

    @Test(
        "A genuine proof replayed from another buyer's phone is granted to its owner, and only once (P9)",
        arguments: StoreKitGeneration.both)
    func replayed(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let shop = phones.shop
            let recorder = Locked<JSONValue>(.null)
            let ann = try await phones.phone("ann")
            ann.wire.cut(
                .server, "POST /v1/transactions",
                .altered { request in
                    recorder.withLock { $0 = (try? JSONValue(decoding: request.body)) ?? .null }
                    return request
                })
            #expect(isCompleted(await ann.buy()))
            let stolen = recorder.withLock { $0 }
            #expect(stolen != .null)
            let ben = try await phones.phone("ben")
            ben.wire.cut(
                .server, "POST /v1/transactions",
                .altered { request in
                    request.changed { body in
                        for name in ["signedTransaction", "receipt", "transactionId", "productId"] {
                            body[name] = stolen.object?[name]
                        }
                    }
                })
            let outcome = await ben.buy()
            #expect(ben.wire.happened >= 1)
            #expect(!isCompleted(outcome), "an answer about another transaction was taken for ours")
            #expect(try await shop.grants(of: "ben") == 0)
            #expect(try await shop.grants(of: "ann") == 1)
            ben.wire.mend()
            try await ben.relaunch()
            #expect(try await ben.hasFinishedAll())
            #expect(try await shop.grants(of: "ben") == 1)
            #expect(try await shop.points(of: "ben") == 60)
            #expect(try await shop.grants(of: "ann") == 1)
        }
    }

    @Test(
        "A client's statements about sandbox, secrets, price or expiry are ignored (T7, T8)",
        arguments: StoreKitGeneration.both)
    func reported(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(
                .server, "POST /v1/transactions",
                .altered { request in
                    request.changed { body in
                        body["is_sandbox"] = false
                        body["environment"] = "Production"
                        body["password"] = "secret"
                        body["price"] = 1
                        body["quantity"] = 9
                        body["expiry"] = "2099-01-01T00:00:00Z"
                    }
                })
            let outcome = await ann.buy()
            #expect(ann.wire.happened >= 1)
            #expect(isCompleted(outcome), "\(outcome)")
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(try await phones.shop.points(of: "ann", environment: "production") == 0)
        }
    }
}

extension HTTPRequest {
    /// The request with a changed body, if the body is JSON.
    fileprivate func changed(_ change: (inout [String: JSONValue]) -> Void) -> HTTPRequest {
        guard var body = (try? JSONValue(decoding: body))?.object else { return self }
        change(&body)
        var request = self
        request.body = Array(JSONValue.object(body).encoded().utf8)
        return request
    }
}
