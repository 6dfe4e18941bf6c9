import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Offer signatures, verified with the store's own key")
struct OfferSignatureTests {
    private let token = UniqueID(high: 0x3F2C_1A00_1111_4222, low: 0x8333_4444_5555_6666)
    private var product: ProductID { ProductID("\(EmulatedWorld.app).family.monthly") }

    private func signer(_ world: EmulatedWorld, bundleID: String = EmulatedWorld.app) async throws -> OfferSigner {
        let json = await world.ask(.get, "/emulator/api-key").json
        let key = try InAppPurchaseKey(
            issuerID: try #require(json["issuerId"]?.string), keyID: try #require(json["keyId"]?.string),
            privateKey: try PrivateKey(pem: try #require(json["privateKey"]?.string)))
        return OfferSigner(
            key: key, bundleID: bundleID, clock: { world.now }, entropy: { RandomBytes.make($0) })
    }

    private func request() -> PurchaseRequest {
        var request = PurchaseRequest(bundleID: EmulatedWorld.app, productID: product)
        request.appAccountToken = token
        return request
    }

    private func check(
        _ world: EmulatedWorld, _ signature: OfferSignature, offer: String = "back",
        _ change: @Sendable (inout PurchaseRequest) -> Void = { _ in }
    ) async throws -> String? {
        var request = request()
        change(&request)
        let asked = request
        return try await world.emulator.store.change {
            try OfferChecks.check(signature, offer: offer, of: asked, $0)?.code
        }
    }

    private func classic(_ signed: PromotionalOfferSignature) -> OfferSignature {
        .classic(
            keyIdentifier: signed.keyID, nonce: signed.nonce, timestamp: signed.timestamp.milliseconds,
            signature: signed.signature)
    }

    @Test("The offer signer's signature is valid once, even if the purchase fails, and for 24 hours")
    func accepted() async throws {
        let world = try await EmulatedWorld.withStore()
        let signer = try await signer(world)
        let offer = try PromotionalOffer(
            productID: product, offerID: "back", account: token.description.uppercased())
        let signed = try signer.signature(for: offer)
        #expect(try await check(world, classic(signed)) == nil)
        #expect(try await check(world, classic(signed)) == "offer_nonce_used")
        let failing = try signer.signature(for: offer)
        let body: JSONValue = [
            "type": "promotional", "identifier": "back",
            "signature": [
                "keyIdentifier": .string(failing.keyID), "nonce": .string(failing.nonce.description),
                "timestamp": .int(failing.timestamp.milliseconds), "signature": .string(failing.signature),
            ],
        ]
        let failed = await world.tryToBuy(
            "family.monthly",
            ["offer": body, "outcome": "failed", "appAccountToken": .string(token.description)])
        #expect(failed.json["outcome"] == "failed")
        #expect(try await check(world, classic(failing)) == "offer_nonce_used")
        let late = try signer.signature(for: offer)
        let last = try signer.signature(for: offer)
        world.advance(seconds: 86_399)
        #expect(try await check(world, classic(last)) == nil)
        world.advance(seconds: 1)
        #expect(try await check(world, classic(late)) == "offer_signature_expired")
        await world.remove()
    }

    @Test("Every altered field of a classic signature is refused, and uses up no nonce")
    func altered() async throws {
        let world = try await EmulatedWorld.withStore()
        let signed = try await signer(world).signature(
            for: try PromotionalOffer(productID: product, offerID: "back", account: token.description))
        let (key, nonce, time, text) = (signed.keyID, signed.nonce, signed.timestamp.milliseconds, signed.signature)
        func form(
            key: String? = nil, nonce other: UniqueID? = nil, time moment: Int64? = nil, _ signature: String? = nil
        ) -> OfferSignature {
            .classic(
                keyIdentifier: key ?? signed.keyID, nonce: other ?? nonce, timestamp: moment ?? time,
                signature: signature ?? text)
        }
        #expect(try await check(world, form(key: "ABCDEFGHIJ")) == "invalid_signature")
        #expect(try await check(world, form(key: "")) == "missing_offer_params")
        #expect(try await check(world, form(nonce: UniqueID(high: 1, low: 2))) == "invalid_signature")
        for moment in [time + 1, time - 1, 0, .max, .min] {
            #expect(try await check(world, form(time: moment)) == "invalid_signature")
        }
        for signature in ["AAAA", "no base64!", String(text.dropLast(4)), String(repeating: "A", count: 5_000)] {
            #expect(try await check(world, form(signature)) == "invalid_signature")
        }
        #expect(try await check(world, form("")) == "missing_offer_params")
        #expect(try await check(world, form(), offer: "stay") == "invalid_signature")
        #expect(try await check(world, form(), offer: "none") == "invalid_offer_identifier")
        #expect(try await check(world, form(), offer: "") == "missing_offer_params")
        #expect(try await check(world, form()) { $0.bundleID = "com.example.other" } == "invalid_signature")
        #expect(try await check(world, form()) { $0.appAccountToken = nil } == "invalid_signature")
        let member = ProductID("\(EmulatedWorld.app).member.monthly")
        #expect(try await check(world, form()) { $0.productID = member } == "invalid_offer_identifier")
        let other = try PrivateKey.generate(.p256)
        let forged = [
            EmulatedWorld.app, key, product.text, "back", token.description, nonce.description, String(time),
        ].joined(separator: "\u{2063}")
        let signature = Base64.encode(try other.signSHA256(Array(forged.utf8)))
        #expect(try await check(world, form(signature)) == "invalid_signature")
        #expect(try await check(world, form()) == nil, "after all of that it is good still")
        await world.remove()
    }

    @Test("A signature dated in the future is refused, except within a few minutes")
    func future() async throws {
        let world = try await EmulatedWorld.withStore()
        let offer = try PromotionalOffer(productID: product, offerID: "back", account: token.description)
        let json = await world.ask(.get, "/emulator/api-key").json
        let key = try InAppPurchaseKey(
            issuerID: try #require(json["issuerId"]?.string), keyID: try #require(json["keyId"]?.string),
            privateKey: try PrivateKey(pem: try #require(json["privateKey"]?.string)))
        for (ahead, code) in [(300, nil), (301, "offer_signature_expired")] as [(Int64, String?)] {
            let signer = OfferSigner(
                key: key, bundleID: EmulatedWorld.app, clock: { world.now.adding(seconds: ahead) },
                entropy: { RandomBytes.make($0) })
            #expect(try await check(world, classic(signer.signature(for: offer))) == code)
        }
        await world.remove()
    }

    @Test("As a JWS it is valid once, and refused for another app, product, offer, customer, key or day")
    func tokens() async throws {
        let world = try await EmulatedWorld.withStore()
        let mine = try world.identifier(try await world.buy())
        let others = try world.identifier(try await world.buy("points60", ["account": "anna"]))
        let signer = try await signer(world)
        func sign(_ transaction: String?, offer: String = "back") throws -> OfferSignature {
            .jws(
                try signer.token(
                    for: try PromotionalOffer(
                        productID: product, offerID: offer, transactionID: transaction.map { TransactionID($0) })))
        }
        let good = try sign(mine)
        #expect(try await check(world, good) == nil)
        #expect(try await check(world, good) == "offer_nonce_used")
        #expect(try await check(world, try sign(nil)) == nil)
        #expect(try await check(world, try sign(others)) == "ineligible_for_offer")
        #expect(try await check(world, try sign("12345")) == "ineligible_for_offer")
        #expect(try await check(world, try sign(mine), offer: "stay") == "invalid_signature")
        #expect(try await check(world, try sign(mine)) { $0.bundleID = "x.y" } == "invalid_signature")
        for text in ["", "a.b.c", "....", String(repeating: "A", count: 20_000)] {
            #expect(try await check(world, .jws(text)) == "invalid_signature")
        }
        guard case .jws(let text) = try sign(mine) else { return }
        #expect(try await check(world, .jws(String(text.dropLast(2)) + "AA")) == "invalid_signature")
        let eligibility = try signer.token(
            for: try IntroductoryEligibility(
                productID: product, isAllowed: true, transactionID: TransactionID(mine)))
        #expect(try await check(world, .jws(eligibility)) == "invalid_signature", "a token is for one purpose")
        let old = try sign(mine)
        world.advance(seconds: 86_401)
        #expect(try await check(world, old) == "offer_signature_expired")
        await world.remove()
    }

    @Test("The developer's token on the introductory offer yields yes, no, or a refusal if it is not genuine")
    func eligibility() async throws {
        let world = try await EmulatedWorld.withStore()
        let bought = try await world.buy()
        let download = try payload(of: bought["signedTransaction"]?.string)["appTransactionId"]?.string ?? ""
        let signer = try await signer(world)
        let asked = request()
        func ask(_ token: String) async throws -> Result<Bool, StoreRefusal> {
            try await world.emulator.store.change { try OfferChecks.introductoryEligibility(token, of: asked, $0) }
        }
        for isAllowed in [true, false] {
            for id in [try world.identifier(bought), download] {
                let token = try signer.token(
                    for: try IntroductoryEligibility(
                        productID: product, isAllowed: isAllowed, transactionID: TransactionID(id)))
                #expect(try await ask(token) == .success(isAllowed))
                #expect(try await ask(token) == .failure(.nonceUsed))
            }
        }
        let foreign = try signer.token(
            for: try IntroductoryEligibility(productID: product, isAllowed: true, transactionID: TransactionID("7")))
        #expect(try await ask(foreign) == .failure(.offerOfAnother))
        #expect(try await ask("x.y.z") == .failure(.wrongSignature))
        await world.remove()
    }

    @Test("A missing part of an offer is refused by name, before any charge")
    func missing() async throws {
        let world = try await EmulatedWorld.withStore()
        let incomplete: [JSONValue] = [
            ["type": "promotional"], ["type": "promotional", "identifier": "back"],
            ["type": "promotional", "identifier": "back", "signature": ["nonce": .string(token.description)]],
            ["type": "code"], ["type": "winBack"],
        ]
        for offer in incomplete {
            let answer = await world.tryToBuy("family.monthly", ["offer": offer])
            #expect(answer.json["code"] == "missing_offer_params", "\(offer.encoded())")
        }
        #expect(await world.tryToBuy("points60", ["offer": ["type": "gift"]]).status == 400)
        let wrong = await world.tryToBuy("points60", ["offer": ["type": "winBack", "identifier": "half"]])
        #expect(wrong.json["code"] == "invalid_offer_identifier")
        #expect(await world.transactions(of: "default").isEmpty)
        await world.remove()
    }
}
