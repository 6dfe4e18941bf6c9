import Foundation
import Testing
import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillServer

@Suite("Offers") struct OfferJourneys {
    private static let monthly = "com.example.learn.member.monthly"
    private static let promotionalPath = "/v1/offers/promotional"
    private static let introductoryPath = "/v1/offers/introductory"

    /// A shop that sells a subscription, and may sign offers for it.
    private func open(
        _ reach: Reach = .inProcess, hasKey: Bool = true, _ journey: (Shop, PublicKey) async throws -> Void
    ) async throws {
        let privateKey = try PrivateKey.generate(.p256)
        let key = try InAppPurchaseKey(
            issuerID: "57246542-96fe-1a63-e053-0824d011072a", keyID: "2X9R4HXF34", privateKey: privateKey)
        let publicKey = try #require(PublicKey(der: try privateKey.publicKeyInfo()))
        let member = CatalogProduct(
            id: ProductID(Self.monthly), type: .autoRenewable, names: LocalizedText(en: "Membership", zh: "会员"),
            price: Money(amount: 1_800, currency: Currency("CNY")), entitlement: "member")
        try await Shop.open(
            reach,
            change: { configuration in
                configuration.catalog = Catalog(products: configuration.catalog.products + [member])
                if hasKey { configuration.inAppPurchaseKey = key }
            }, { shop in try await journey(shop, publicKey) })
    }

    private func claims(_ reply: Reply, signedBy key: PublicKey) throws -> JSONValue {
        let token = try #require(CompactToken(reply["compactJWS"].text))
        #expect(token.isSigned(by: key))
        return try JSONValue(decoding: token.payload)
    }

    @Test("A backend gets an offer signed for the order that will be paid", arguments: Reach.allCases)
    func classic(_ reach: Reach) async throws {
        try await open(reach) { shop, _ in
            let order = try await shop.openOrder(Self.monthly, as: "u1")
            let reply = try await shop.send(
                .post, Self.promotionalPath,
                [
                    "productId": .string(Self.monthly), "offerId": "welcome-back", "userId": "u1",
                    "orderId": .string(order.description.uppercased()),
                ])
            #expect(reply.status == 200)
            #expect(reply["form"] == "classic" && reply["keyId"] == "2X9R4HXF34")
            #expect(reply["account"].text == order.description)
            #expect(reply["timestamp"] == .int(shop.time.now.milliseconds))
            #expect(reply["expiresAt"].text == shop.time.now.adding(seconds: 86_400).rfc3339)
            #expect(UniqueID(reply["nonce"].text) != nil)
            // 70 to 72 bytes of DER, in base64; independent implementations verify it in Tests/TillAppStoreTests.
            #expect(Base64.decode(reply["signature"].text)?.first == 0x30)
            #expect(reply["compactJWS"].isNull)
        }
    }

    @Test("The form jws is one token for StoreKit 2, with a transaction of the customer if one is named")
    func jws() async throws {
        try await open { shop, key in
            let reply = try await shop.send(
                .post, Self.promotionalPath,
                [
                    "productId": .string(Self.monthly), "offerId": "welcome-back", "form": "jws",
                    "transactionId": "2000000356937285",
                ])
            #expect(reply.status == 200 && reply["form"] == "jws" && reply["signature"].isNull)
            let claims = try claims(reply, signedBy: key)
            #expect(claims.at("aud") == "promotional-offer" && claims.at("bid").text == Shop.bundleID)
            #expect(claims.at("productId").text == Self.monthly && claims.at("offerIdentifier") == "welcome-back")
            #expect(claims.at("transactionId") == "2000000356937285")
        }
    }

    @Test("A backend gets its decision on the introductory offer signed", arguments: Reach.allCases)
    func introductory(_ reach: Reach) async throws {
        try await open(reach) { shop, key in
            for isAllowed in [true, false] {
                let reply = try await shop.send(
                    .post, Self.introductoryPath,
                    ["productId": .string(Self.monthly), "allowed": .bool(isAllowed), "transactionId": "71134"])
                #expect(reply.status == 200)
                let claims = try claims(reply, signedBy: key)
                #expect(claims.at("aud") == "introductory-offer-eligibility")
                #expect(claims.at("allowIntroductoryOffer") == .bool(isAllowed))
                #expect(claims.at("transactionId") == "71134" && claims.at("productId").text == Self.monthly)
            }
        }
    }

    @Test("The backend decides on offers that the catalogue doesn't open: apps and strangers get no signature")
    func onlyBackends() async throws {
        try await open { shop, _ in
            let offer: JSONValue = ["productId": .string(Self.monthly), "offerId": "a"]
            let intro: JSONValue = ["productId": .string(Self.monthly), "allowed": true, "transactionId": "1"]
            for (path, body, code) in [
                (Self.promotionalPath, offer, "offer_not_open"), (Self.introductoryPath, intro, "forbidden"),
            ] {
                let signed = try await shop.send(.post, path, body)
                #expect(signed.status == 200)
                let refused = try await shop.send(.post, path, body, as: .user("u1"))
                #expect(refused.status == 403 && refused.code == code && refused["signature"].isNull)
                let stranger = try await shop.send(.post, path, body, as: .anonymous)
                #expect(stranger.status == 401)
            }
        }
    }

    @Test("A repeated Idempotency-Key gets the same signature; every other request gets its own nonce")
    func repetition() async throws {
        try await open { shop, _ in
            let body: JSONValue = ["productId": .string(Self.monthly), "offerId": "a"]
            func sign(_ key: String?, _ body: JSONValue) async throws -> Reply {
                try await shop.send(
                    .post, Self.promotionalPath, body, headers: key.map { [("Idempotency-Key", $0)] } ?? [])
            }
            let first = try await sign("attempt-1", body)
            let again = try await sign("attempt-1", body)
            #expect(first.status == 200 && again.body == first.body)
            #expect(again.headers["Idempotency-Replayed"] == "true")
            let nonces = [
                first, try await sign("attempt-2", body), try await sign(nil, body), try await sign(nil, body),
            ]
            .map { $0["nonce"].text }
            #expect(Set(nonces).count == 4)
            let other: JSONValue = ["productId": .string(Self.monthly), "offerId": "b"]
            #expect(try await sign("attempt-1", other).code == "idempotency_key_reused")
        }
    }

    @Test("Without an In-App Purchase key offers are unavailable, and the problem says so in the reader's language")
    func noKey() async throws {
        try await open(hasKey: false) { shop, _ in
            let body: JSONValue = ["productId": .string(Self.monthly), "allowed": true, "transactionId": "1"]
            let reply = try await shop.send(.post, Self.introductoryPath, body, headers: [("Accept-Language", "zh")])
            #expect(reply.status == 501 && reply.code == "no_in_app_purchase_key")
            #expect(reply["title"].text.contains("密钥") && reply["retryable"] == false)
            let offer: JSONValue = ["productId": .string(Self.monthly), "offerId": "a"]
            #expect(try await shop.send(.post, Self.promotionalPath, offer).code == "no_in_app_purchase_key")
        }
    }

    @Test("Only the catalogue's auto-renewable subscriptions can be offered")
    func products() async throws {
        try await open { shop, _ in
            for (product, code) in [(Shop.points60, "not_auto_renewable"), ("nothing", "unknown_product")] {
                let offer: JSONValue = ["productId": .string(product), "offerId": "a"]
                let reply = try await shop.send(.post, Self.promotionalPath, offer)
                #expect(reply.status == 422 && reply.code == code)
                let intro: JSONValue = ["productId": .string(product), "allowed": true, "transactionId": "1"]
                #expect(try await shop.send(.post, Self.introductoryPath, intro).code == code)
            }
        }
    }

    @Test("An order that doesn't exist, is another user's or for another product is not signed into an offer")
    func orders() async throws {
        try await open { shop, _ in
            let mine = try await shop.openOrder(Self.monthly, as: "u1")
            let points = try await shop.openOrder(as: "u1")
            func sign(_ more: [String: JSONValue]) async throws -> Reply {
                let body: [String: JSONValue] = ["productId": .string(Self.monthly), "offerId": "a"]
                return try await shop.send(.post, Self.promotionalPath, .object(body.merging(more) { $1 }))
            }
            let id = JSONValue.string(mine.description)
            #expect(try await sign(["orderId": id]).status == 200)
            #expect(try await sign(["orderId": id, "userId": "u2"]).code == "unknown_order")
            #expect(try await sign(["orderId": .string(UUID().uuidString)]).code == "unknown_order")
            #expect(try await sign(["orderId": .string(points.description)]).code == "invalid_field")
            #expect(try await sign(["orderId": id, "form": "jws"]).status == 200)
            #expect(try await sign(["userId": "u1"]).code == "invalid_field")
            #expect(try await sign(["orderId": id, "appAccountToken": id]).code == "invalid_field")
        }
    }

    @Test(
        "Members that a form doesn't sign, or that could shift the fields, are refused and named",
        arguments: [
            ("form", "pkcs7", ""), ("transactionId", "1", ""), ("appAccountToken", "ann", ""),
            ("appAccountToken", "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64", "jws"), ("applicationUsername", "ann", "jws"),
            ("applicationUsername", "ann\u{2063}", ""), ("applicationUsername", "ΑΝΝΑΣ", ""),
            ("offerId", "", ""), ("offerId", "a\u{2063}b", "jws"), ("transactionId", "x", "jws"),
        ])
    func fields(_ name: String, _ value: String, _ form: String) async throws {
        try await open { shop, _ in
            var body: [String: JSONValue] = ["productId": .string(Self.monthly), "offerId": "a"]
            if !form.isEmpty { body["form"] = .string(form) }
            body[name] = .string(value)
            let reply = try await shop.send(.post, Self.promotionalPath, .object(body))
            #expect(reply.status == 400 && reply.code == "invalid_field")
            #expect(reply["detail"].text.hasPrefix("\(name): "), "\(reply["detail"].text)")
        }
    }

    @Test("An account that is no known order is signed in lower case, and a missing one as empty")
    func accounts() async throws {
        try await open { shop, _ in
            for (name, value, signed) in [
                ("appAccountToken", "3F2C91AB-6D0E-4B57-9A43-0C5D8E1F2A64", "3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64"),
                ("applicationUsername", "Ann@Example.com", "ann@example.com"), ("form", "classic", ""),
            ] {
                let body: JSONValue = [
                    "productId": .string(Self.monthly), "offerId": "a", name: .string(value),
                ]
                let reply = try await shop.send(.post, Self.promotionalPath, body)
                #expect(reply.status == 200 && reply["account"].text == signed)
            }
        }
    }
}
