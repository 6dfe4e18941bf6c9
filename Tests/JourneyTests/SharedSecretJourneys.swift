import Glibc
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillServer

/// A server with the app's shared secret and without an In-App Purchase key asks Apple's verifyReceipt.
@Suite("With a shared secret alone, verifyReceipt states whose purchase a receipt is (P2, P8)")
struct SharedSecretJourneys {
    static let secret = "0123456789abcdef0123456789abcdef"
    static let asked = ["/production/verifyReceipt", "/sandbox/verifyReceipt"]

    private func open(
        _ reach: Reach = .inProcess, policy: ReceiptPolicy = .quarantine,
        change: @escaping (inout ServerConfiguration) -> Void = { _ in },
        _ journey: (Shop, AppleProxy) async throws -> Void
    ) async throws {
        let line = AppleProxy(secret: Self.secret)
        try await Shop.open(
            reach,
            change: { configuration in
                configuration.receipts = ReceiptTerms(policy: policy)
                change(&configuration)
            }, line: line
        ) { try await journey($0, line) }
    }

    private func waiting(in shop: Shop) async throws -> Int64 {
        try await shop.ledger.read { try WaitingProofTable($0).count() }
    }

    /// Apple's answer without account tokens, as for most consumables.
    private static func hidingTokens(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members):
            .object(members.filter { $0.key != "app_account_token" }.mapValues(hidingTokens))
        case .array(let items): .array(items.map(hidingTokens))
        default: value
        }
    }

    @Test(
        "A pays, the answer is lost, B's phone delivers A's receipt with an order of B's: A gets it (P8)",
        arguments: Reach.allCases)
    func accountSwitch(_ reach: Reach) async throws {
        try await open(reach) { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let other = try await shop.openOrder(as: "ben")
            shop.time.advance(seconds: 5)
            let payment = try await shop.pay(token: order)
            let reply = try await shop.post(receiptOf: payment, order: other, as: "ben")
            #expect(reply.status == 200 && reply["outcome"].text == "granted" && reply["finish"] == true)
            #expect(reply["userId"] == .null && reply["orderId"] == .null, "ben learns nothing of ann")
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.points(of: "ben") == 0)
            #expect(try await shop.status(of: order) == "completed")
            #expect(try await shop.status(of: other) == "prepared")
            #expect(line.asked == Self.asked, "production first, then the sandbox, once")

            let again = try await shop.post(receiptOf: payment, order: order, as: "ann")
            #expect(again["outcome"].text == "alreadyGranted" && again["orderId"].text == order.description)
            #expect(line.asked.count == 2, "what the ledger knows is not asked about")
            #expect(try await shop.debit(60, from: "ann", "at once").status == 201, "nothing is held")

            let evidence = try await shop.decisions(on: payment.id)
            #expect(evidence.map(\.ground) == ["token"])
            #expect(evidence.first?.detail?.contains("token_source verify_receipt") == true)
        }
    }

    @Test("A thief with another customer's receipt and an order of their own gets nothing of it (V3)")
    func thief() async throws {
        for policy in ReceiptPolicy.allCases {
            try await open(policy: policy) { shop, line in
                let order = try await shop.openOrder("com.example.learn.points60", as: "victim")
                let thiefs = try await shop.openOrder(as: "thief")
                shop.time.advance(seconds: 5)
                // The victim's order never reached this server, so Apple's token names no order.
                let lost = try await shop.pay(token: UniqueID(random: Array(repeating: 7, count: 16)))
                let unknown = try await shop.post(receiptOf: lost, order: thiefs, as: "thief")
                #expect(unknown.status == 202 && unknown["reason"].text == "unknown_token", "\(policy)")
                // Apple no longer answers, and a server without the secret has only what was stated before.
                line.outage = AppleConnectionError(.timedOut)
                shop.time.advance(seconds: 700)
                #expect(try await shop.post(receiptOf: lost, order: thiefs, as: "thief")["finish"] == false)
                line.outage = nil

                let payment = try await shop.pay(token: order)
                #expect(try await shop.post(receiptOf: payment, order: thiefs, as: "thief")["outcome"] == "granted")
                #expect(try await shop.points(of: "victim") == 60)
                #expect(try await shop.points(of: "thief") == 0)
            }
        }
    }

    @Test("An answer without a token proves nothing: the receipt follows receipts.policy, and its points are held (V3)")
    func noToken() async throws {
        for policy in ReceiptPolicy.allCases {
            try await open(policy: policy) { shop, line in
                line.rewrite = { Self.hidingTokens($0) }
                let order = try await shop.openOrder(as: "ann")
                let thiefs = try await shop.openOrder(as: "thief")
                shop.time.advance(seconds: 5)
                let payment = try await shop.pay(token: order)
                let stolen = try await shop.post(receiptOf: payment, order: thiefs, as: "thief")
                switch policy {
                case .quarantine:
                    #expect(stolen.status == 202 && stolen["reason"].text == "receipt_needs_signed_copy")
                    #expect(try await shop.grantCount() == 0)
                case .provisional:
                    #expect(stolen["outcome"].text == "granted")
                    #expect(try await shop.debit(1, from: "thief", "a").code == "insufficient_funds")
                }
                // Apple states the token later: what the thief had moves to the customer who paid.
                line.rewrite = nil
                shop.time.advance(seconds: 700)
                if policy == .provisional {
                    #expect(try await ReceiptConfirmations(shop.server.ledger).askAll() == 1)
                } else {
                    #expect(try await shop.post(receiptOf: payment, order: thiefs, as: "thief").status == 200)
                }
                #expect(try await shop.points(of: "ann") == 60)
                #expect(try await shop.points(of: "thief") == 0)
                #expect(try await shop.status(of: order) == "completed")
            }
        }
    }

    @Test("A key that is configured later decides what verifyReceipt could not: the grant moves to its buyer (V3)")
    func keyLater() async throws {
        try await open(policy: .provisional) { shop, line in
            line.rewrite = { Self.hidingTokens($0) }
            let order = try await shop.openOrder(as: "ann")
            let thiefs = try await shop.openOrder(as: "thief")
            shop.time.advance(seconds: 5)
            let payment = try await shop.pay(token: order)
            #expect(try await shop.post(receiptOf: payment, order: thiefs, as: "thief")["outcome"] == "granted")
            shop.time.advance(seconds: 700)
            #expect(try await ReceiptConfirmations(shop.server.ledger).askAll() == 1)
            #expect(try await shop.points(of: ["ann", "thief"]) == [0, 60])
            let api = try await AppleProxy().serverAPI(of: shop.emulator, time: shop.time)
            let keyed = try Server(
                configuration: shop.server.configuration, database: shop.ledger, clock: { shop.time.now },
                entropy: RandomBytes.make, serverAPI: api)
            shop.time.advance(seconds: 61 * 86_400)
            #expect(try await ReceiptConfirmations(keyed.ledger).askAll() == 1)
            #expect(try await shop.points(of: ["ann", "thief"]) == [60, 0])
        }
    }

    @Test("What Apple stated stays: after the secret is removed, the same receipt still names its customer (V3)")
    func remembered() async throws {
        try await open(policy: .provisional) { shop, line in
            let thiefs = try await shop.openOrder(as: "thief")
            shop.time.advance(seconds: 5)
            let token = UniqueID(random: Array(repeating: 9, count: 16))
            let payment = try await shop.pay(token: token)
            #expect(try await shop.post(receiptOf: payment, order: thiefs, as: "thief")["reason"] == "unknown_token")
            let keyless = try Server(
                configuration: shop.server.configuration, database: shop.ledger, clock: { shop.time.now },
                entropy: { Array(repeating: 3, count: $0) })
            let body: JSONValue = [
                "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                "productId": .string(Shop.points60), "orderId": .string(thiefs.description),
            ]
            let request = shop.made(.post, "/v1/transactions", body, as: .user("thief"))
            let reply = try Reply(await keyless.respond(to: request))
            #expect(reply.status == 202 && reply["reason"].text == "unknown_token", "\(reply.body)")
            // The backend registers the token for its customer, and the purchase leaves quarantine.
            let path = "/v1/users/victim/account-tokens/\(token)"
            #expect(try await shop.send(.put, path).status < 300)
            #expect(try await shop.points(of: "victim") == 60)
        }
    }

    @Test(
        "Troubles of Apple's keep the receipt waiting, and it is granted without the phone afterwards (P2, U7)",
        arguments: [
            21000, 21001, 21002, 21004, 21005, 21008, 21009, 21100, 21199, 29999,
        ] as [JSONValue] + [
            ["status": 21150, "is_retryable": 1], ["status": 21100, "is-retryable": true],
            ["status": 21199, "is_retryable": "true"],
        ])
    func troubles(_ status: JSONValue) async throws {
        try await open { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            line.rewrite = { _ in status.int == nil ? status : ["status": status] }
            try await waits(payment, shop, line)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.status(of: order) == "completed")
        }
    }

    @Test("A page, an empty body, a redirect, HTTP 5xx, an outage: none says anything about the purchase (P2, P11)")
    func pages() async throws {
        let page = Array("<html><body>Service Unavailable</body></html>".utf8)
        let answers: [AppleResponse?] = [
            AppleResponse(status: 200, headers: [.init("Content-Type", "text/html")], body: page),
            AppleResponse(status: 200), AppleResponse(status: 302, headers: [.init("Location", "https://x.test")]),
            AppleResponse(status: 503, headers: [.init("Retry-After", "60")], body: page), nil,
        ]
        for answer in answers {
            try await open { shop, line in
                let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
                line.answer = answer
                if answer == nil { line.outage = AppleConnectionError(.timedOut) }
                try await waits(payment, shop, line)
                #expect(try await shop.points(of: "ann") == 60)
            }
        }
    }

    /// Posts the receipt while Apple has trouble, ends the trouble, and lets the server ask again.
    private func waits(_ payment: Payment, _ shop: Shop, _ line: AppleProxy) async throws {
        for _ in 0..<3 {
            let reply = try await shop.post(receiptOf: payment, order: nil, as: "ann")
            #expect(reply.status == 202 && reply["outcome"].text == "accepted" && reply["finish"] == false)
        }
        #expect(try await waiting(in: shop) == 1)
        #expect(try await shop.grantCount() == 0)
        (line.rewrite, line.answer, line.outage) = (nil, nil, nil)
        shop.time.advance(seconds: 3_600)
        #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 1)
        #expect(try await waiting(in: shop) == 0)
    }

    @Test(
        "Apple's final no grants nothing, is logged, and is not repeated (P2, P9)",
        arguments: [
            (21003, [:], "receipt_needs_refresh"), (21010, [:], "receipt_refused"),
            (21100, ["is-retryable": false], "receipt_refused"), (21199, ["is_retryable": "0"], "receipt_refused"),
        ] as [(Int64, [String: JSONValue], String)])
    func final(_ status: Int64, _ flag: [String: JSONValue], _ code: String) async throws {
        try await open { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            line.outage = AppleConnectionError(.timedOut)
            #expect(try await shop.post(receiptOf: payment, order: order, as: "ann")["outcome"] == "accepted")
            line.outage = nil
            line.rewrite = { _ in .object(flag.merging(["status": .int(status)]) { $1 }) }
            shop.time.advance(seconds: 3_600)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 1)
            #expect(try await waiting(in: shop) == 0)
            shop.time.advance(seconds: 120)
            let reply = try await shop.post(receiptOf: payment, order: order, as: "ann")
            #expect(reply.status == 422 && reply.code == code, "\(reply.body)")
            #expect(reply["detail"].text.contains("\(status)"))
            #expect(try await shop.grantCount() == 0)
            let logged = try await shop.ledger.read { try RefusedProofTable($0).list(claiming: order, limit: 9) }
            #expect(logged.map(\.code).contains(code))
            #expect(try await shop.status(of: order) == "prepared", "open for another proof")
        }
    }

    @Test("21006 confirms an expired subscription: the paid period is recorded, and gives no right now (P2)")
    func expired() async throws {
        let monthly = CloudShop.prefix + "premium_monthly_auto"
        try await open(change: { $0.catalog = CloudShop.catalog }) { shop, line in
            try await CloudShop.stock(shop)
            let order = try await shop.openOrder(monthly, as: "ann")
            let payment = try await shop.pay(monthly, token: order, storefront: "USA")
            line.rewrite = { answer in
                .object((answer.object ?? [:]).merging(answer["status"] == 0 ? ["status": 21006] : [:]) { $1 })
            }
            shop.time.advance(seconds: 40 * 86_400)
            let reply = try await shop.post(receiptOf: payment, monthly, order: order, as: "ann")
            #expect(reply.status == 200 && reply["outcome"].text == "granted", "\(reply.body)")
            #expect(line.asked == Self.asked)
            #expect(try await shop.status(of: order) == "completed")
            let rights = try await shop.send(.get, "/v1/users/ann/entitlements", as: .user("ann"))
            #expect(rights.status == 200 && rights["data"].list.isEmpty, "\(rights.body)")
        }
    }

    @Test("An answer that contradicts the receipt's own signature says nothing about the purchase (P9)")
    func contradiction() async throws {
        try await open { shop, line in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            line.rewrite = { answer in
                JSONValue.text(answer.encoded().replacing(Shop.points60, with: Shop.points300)) ?? answer
            }
            let reply = try await shop.post(receiptOf: payment, order: nil, as: "ann")
            #expect(reply.status == 202 && reply["outcome"].text == "accepted")
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("A refund that only Apple's answer shows is not granted (U5)")
    func refunded() async throws {
        let pro = "com.example.learn.pro"
        try await open { shop, line in
            let order = try await shop.openOrder(pro, as: "ann")
            let payment = try await shop.pay(pro, token: order)
            line.rewrite = { answer in
                let dated = #""product_id":"\#(pro)","cancellation_date_ms":"\#(shop.time.now.seconds * 1_000)""#
                return JSONValue.text(answer.encoded().replacing(#""product_id":"\#(pro)""#, with: dated)) ?? answer
            }
            let reply = try await shop.post(receiptOf: payment, pro, order: order, as: "ann")
            #expect(reply.status == 200 && reply["outcome"].text == "revoked", "\(reply.body)")
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("till serve with the secret asks the store over HTTP; without secret and key it says so at its start (P2)")
    func served() async throws {
        try await ServerProcess.withFiles { files in
            let store = try Listener(
                configuration: ListenerConfiguration(), bodyLimit: files.emulator.router.bodyLimit(method:path:),
                handler: files.emulator.respond(to:))
            let apple: [String: JSONValue] = [
                "bundleId": .string(Shop.bundleID), "environments": ["Sandbox"], "roots": ["root.pem"],
                "emulator": .string("http://127.0.0.1:\(store.port)"), "sharedSecret": .string(Self.secret),
            ]
            try files.configure("apple", .object(apple))
            let (process, port) = try await files.start()
            let opened = try await files.send(
                port, .post, "/v1/orders", ["productId": .string(Shop.points60)], as: .user("ann"))
            let payment = try await files.pay(token: UniqueID(opened["id"].text))
            let receipt = Base64.encode(try await files.emulator.receipt(bundleID: Shop.bundleID))
            let body: JSONValue = [
                "receipt": .string(receipt), "transactionId": .string(payment.id),
                "productId": .string(Shop.points60),
            ]
            let reply = try await files.send(port, .post, "/v1/transactions", body, as: .user("ben"))
            #expect(reply.status == 200 && reply["outcome"].text == "granted", "\(reply.body)")
            #expect(try await files.send(port, .get, "/v1/users/ann/wallet")["balances"].at("points").int == 60)
            process.send(SIGTERM)
            #expect(await process.end() == 0)
            #expect(!process.complaints.contains("apple.sharedSecret"), "\(process.complaints)")

            try files.configure("apple", .object(apple.filter { $0.key != "sharedSecret" }))
            let (bare, _) = try await files.start()
            bare.send(SIGTERM)
            #expect(await bare.end() == 0)
            #expect(
                bare.complaints.contains("neither an In-App Purchase Key nor apple.sharedSecret is configured"),
                "\(bare.complaints)")
            await store.stop(grace: 1)
        }
    }

    @Test("The released client's post reaches the buyer too: B's phone posts A's receipt, and is not told success (C8)")
    func postPay() async throws {
        try await open { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            let body: JSONValue = [
                "token": .string(UserToken.hs256(subject: "ben", expires: shop.time.now.seconds + 600)),
                "receipt-data": .string(payment.receipt), "product_id": "points60",
                "transaction_id": .string(payment.id), "order_id": "7",
            ]
            let reply = try await shop.send(.post, "/postPay/ios", body, as: .anonymous)
            #expect(reply.status == 409 && reply["status"] == 409)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(line.asked == Self.asked)
        }
    }
}

extension JSONValue {
    fileprivate static func text(_ text: String) -> JSONValue? { try? JSONValue(decoding: Array(text.utf8)) }
}
