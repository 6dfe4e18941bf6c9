import CTillOpenSSL
import Foundation
import Testing
import TillBilling
import TillCrypto
import TillJSON

@testable import TillAppStore

/// A test app's key, and signers that use it.
struct OfferKey: Sendable {
    static let issuerID = "57246542-96fe-1a63-e053-0824d011072a"
    static let keyID = "2X9R4HXF34"
    static let bundleID = "com.example.learn"

    let privateKey: PrivateKey

    init() throws { privateKey = try PrivateKey.generate(.p256) }

    /// - Parameter random: the byte that entropy returns; new random bytes each time if nil.
    func signer(at now: Instant, bundleID: String = bundleID, random: UInt8? = nil) throws -> OfferSigner {
        let key = try InAppPurchaseKey(issuerID: Self.issuerID, keyID: Self.keyID, privateKey: privateKey)
        return OfferSigner(key: key, bundleID: bundleID, clock: { now }) { count in
            random.map { [UInt8](repeating: $0, count: count) } ?? RandomBytes.make(count)
        }
    }

    /// Whether `signature` is this key's ECDSA signature of `message` in DER, according to OpenSSL.
    func hasSigned(_ message: String, _ signature: [UInt8]) throws -> Bool {
        let info = try privateKey.publicKeyInfo()
        let key = info.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return d2i_PUBKEY(nil, &position, buffer.count)
        }
        defer { EVP_PKEY_free(key) }
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        let text = Array(message.utf8)
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, text, text.count) == 1
    }
}

@Suite("Signing offers")
struct OfferSignerTests {
    private static let now = Instant(milliseconds: 1_772_353_802_456)
    private static let monthly = ProductID("com.example.learn.member.monthly")
    private static let nonce = "07070707-0707-4707-8707-070707070707"

    @Test("The classic form signs seven texts with U+2063 between them, account and nonce in lower case")
    func classic() throws {
        let key = try OfferKey()
        let offer = try PromotionalOffer(
            productID: Self.monthly, offerID: "Welcome-Back.1", account: "3F2C91AB-6D0E-4B57-9A43-0C5D8E1F2A64")
        let signed = try key.signer(at: Self.now, random: 7).signature(for: offer)
        #expect(signed.keyID == "2X9R4HXF34")
        #expect(signed.nonce.description == Self.nonce)
        #expect(signed.timestamp == Self.now)
        #expect(signed.expiresAt == Instant(milliseconds: 1_772_440_202_456))
        let signature = try #require(Base64.decode(signed.signature))
        let message = """
            com.example.learn\u{2063}2X9R4HXF34\u{2063}com.example.learn.member.monthly\u{2063}Welcome-Back.1\u{2063}\
            3f2c91ab-6d0e-4b57-9a43-0c5d8e1f2a64\u{2063}\(Self.nonce)\u{2063}1772353802456
            """
        #expect(try key.hasSigned(message, signature))
        #expect(try !key.hasSigned(message + " ", signature))
    }

    @Test("Without an account its place is empty, and the separators stay")
    func absentAccount() throws {
        let key = try OfferKey()
        let offer = try PromotionalOffer(productID: Self.monthly, offerID: "a")
        let signed = try key.signer(at: Self.now, random: 7).signature(for: offer)
        let message = """
            com.example.learn\u{2063}2X9R4HXF34\u{2063}com.example.learn.member.monthly\u{2063}a\u{2063}\u{2063}\
            \(Self.nonce)\u{2063}1772353802456
            """
        #expect(try key.hasSigned(message, try #require(Base64.decode(signed.signature))))
    }

    @Test("Every signature has its own nonce, in either form")
    func nonces() throws {
        let signer = try OfferKey().signer(at: Self.now)
        let offer = try PromotionalOffer(productID: Self.monthly, offerID: "a")
        var nonces: Set<String> = []
        for _ in 0..<20 {
            nonces.insert(try signer.signature(for: offer).nonce.description)
            nonces.insert(try Self.claims(of: signer.token(for: offer))["nonce"]?.string ?? "")
        }
        #expect(nonces.count == 40)
        #expect(nonces.allSatisfy { UniqueID($0) != nil && $0 == $0.lowercased() })
    }

    private static func claims(of token: String) throws -> JSONValue {
        try JSONValue(decoding: try #require(CompactToken(token)).payload)
    }

    @Test("Each JWS carries exactly the claims of its audience")
    func tokens() throws {
        let signer = try OfferKey().signer(at: Self.now, random: 7)
        let common: [String: JSONValue] = [
            "iss": .string(OfferKey.issuerID), "iat": 1_772_353_802, "bid": "com.example.learn",
            "nonce": .string(Self.nonce),
        ]
        let product = JSONValue.string(Self.monthly.text)
        let bare = try PromotionalOffer(productID: Self.monthly, offerID: "a", account: "ann")
        let full = try PromotionalOffer(
            productID: Self.monthly, offerID: "a", transactionID: TransactionID("2000000356937285"))
        let eligibility = try IntroductoryEligibility(
            productID: Self.monthly, isAllowed: false, transactionID: TransactionID("71134"))
        let request = try AdvancedCommerceRequest(json: Array(#"{"operation": "CREATE"}"#.utf8))
        let made: [(String, [String: JSONValue])] = [
            (
                try signer.token(for: bare),
                ["aud": "promotional-offer", "productId": product, "offerIdentifier": "a"]
            ),
            (
                try signer.token(for: full),
                [
                    "aud": "promotional-offer", "productId": product, "offerIdentifier": "a",
                    "transactionId": "2000000356937285",
                ]
            ),
            (
                try signer.token(for: eligibility),
                [
                    "aud": "introductory-offer-eligibility", "productId": product, "allowIntroductoryOffer": false,
                    "transactionId": "71134",
                ]
            ),
            (
                try signer.token(for: request),
                ["aud": "advanced-commerce-api", "request": "eyJvcGVyYXRpb24iOiAiQ1JFQVRFIn0="]
            ),
        ]
        for (token, own) in made {
            #expect(try Self.claims(of: token) == .object(common.merging(own) { $1 }))
            let header = try #require(CompactToken(token)?.header)
            #expect(try JSONValue(decoding: header) == ["alg": "ES256", "kid": "2X9R4HXF34", "typ": "JWT"])
        }
    }

    @Test(
        "A text that could shift the fields, or that is invalid for its field, is refused by name",
        arguments: [
            ("", "a", "", "productId", "missing"),
            ("com.example\u{2063}a", "a", "", "productId", "badText"),
            ("com.example a", "a", "", "productId", "badText"),
            (String(repeating: "p", count: 101), "a", "", "productId", "tooLong"),
            ("p", "", "", "offerId", "missing"),
            ("p", "a\u{2063}b", "", "offerId", "badText"),
            ("p", "a b", "", "offerId", "badText"),
            ("p", "a\u{2028}", "", "offerId", "badText"),
            ("p", "优惠", "", "offerId", "badText"),
            ("p", String(repeating: "o", count: 101), "", "offerId", "tooLong"),
            ("p", "a", "ann\u{2063}", "account", "badText"),
            ("p", "a", "ΑΝΝΑΣ", "account", "ambiguousCase"),
            ("p", "a", "İstanbul", "account", "ambiguousCase"),
            ("p", "a", String(repeating: "安", count: 86), "account", "tooLong"),
        ])
    func refusals(_ product: String, _ offer: String, _ account: String, _ field: String, _ rule: String) {
        let refused = #expect(throws: InvalidRequestError.self) {
            try PromotionalOffer(productID: ProductID(product), offerID: offer, account: account)
        }
        #expect(refused?.field == field)
        #expect(refused?.rule.rawValue == rule)
    }

    @Test("An account contains no invisible characters")
    func unseen() {
        for scalar: Unicode.Scalar in [
            "\u{0}", "\u{1F}", "\u{7F}", "\u{85}", "\u{AD}", "\u{200B}", "\u{202E}", "\u{2028}", "\u{2063}", "\u{E000}",
            "\u{FEFF}", "\u{10FFFF}",
        ] {
            let refused = #expect(throws: InvalidRequestError.self) {
                try PromotionalOffer(productID: Self.monthly, offerID: "a", account: "ann\(scalar)")
            }
            #expect(refused?.field == "account" && refused?.rule == .badText, "\(scalar.value)")
        }
    }

    @Test(
        "A transaction is one to twenty digits",
        arguments: ["", "1x", "-1", "１２", "1\u{2063}", "123456789012345678901"])
    func transactions(_ id: String) {
        #expect(throws: InvalidRequestError.self) {
            try PromotionalOffer(productID: Self.monthly, offerID: "a", transactionID: TransactionID(id))
        }
        let refused = #expect(throws: InvalidRequestError.self) {
            try IntroductoryEligibility(productID: Self.monthly, isAllowed: true, transactionID: TransactionID(id))
        }
        #expect(refused?.field == "transactionId")
    }

    @Test(
        "A valid account is accepted and signed in lower case",
        arguments: ["安娜", "Ann@Example.COM", "ß", "ann b"])
    func taken(_ account: String) throws {
        let offer = try PromotionalOffer(
            productID: ProductID(String(repeating: "p", count: 100)), offerID: String(repeating: "~", count: 100),
            account: account, transactionID: TransactionID("18446744073709551615"))
        #expect(offer.account == account.lowercased())
    }

    @Test("An Advanced Commerce request is a JSON object of at most 64 KiB, and is signed byte by byte")
    func advancedCommerce() throws {
        for text in ["", "[]", "1", "{", "{}x", #"{"a":"\#(String(repeating: "x", count: 64 << 10))"}"#] {
            let refused = #expect(throws: InvalidRequestError.self) {
                try AdvancedCommerceRequest(json: Array(text.utf8))
            }
            #expect(refused?.field == "request")
        }
        let text = #"{ "b": 1.50, "a": "\u00e9" }"#
        let token = try OfferKey().signer(at: Self.now).token(for: AdvancedCommerceRequest(json: Array(text.utf8)))
        let request = try #require(try Self.claims(of: token)["request"]?.string)
        #expect(Base64.decode(request) == Array(text.utf8))
    }

    @Test("A separator in the configured bundle id is a fault and gives no signature")
    func configuration() throws {
        let signer = try OfferKey().signer(at: Self.now, bundleID: "com.example\u{2063}learn")
        let offer = try PromotionalOffer(productID: Self.monthly, offerID: "a")
        #expect(throws: SigningError.self) { try signer.signature(for: offer) }
    }

    @Test("A key that is not on P-256 is no In-App Purchase key", arguments: [PrivateKey.Kind.p384, .rsa2048])
    func keys(_ kind: PrivateKey.Kind) throws {
        let key = try PrivateKey.generate(kind)
        #expect(throws: SigningError.self) { try InAppPurchaseKey(issuerID: "i", keyID: "k", privateKey: key) }
    }
}
