import TillBilling
import TillCrypto
import TillJSON

/// Signs purchases as Xcode's local StoreKit testing does, with a certificate made for one test.
struct XcodeSigner: Sendable {
    private let identity: SigningIdentity

    /// The certificate, as Xcode exports it (DER).
    var certificate: [UInt8] { identity.chain[0] }

    /// Xcode's own certificates are valid from 2020 to 2040.
    init(validity: ClosedRange<Int64> = 1_585_763_555...2_216_483_555) throws {
        identity = try SigningIdentity.root(
            CertificateTemplate(
                subject: [("CN", "StoreKit Testing in Xcode"), ("O", "StoreKit Testing in Xcode")], serial: [1],
                validity: validity, role: .authority(pathLength: nil)),
            key: PrivateKey.generate(.p256))
    }

    /// A purchase of 60 points.
    func purchase(
        id: String = "0", token: OrderID? = nil, environment: String = "Xcode", at time: Instant
    ) throws -> String {
        var payload: [String: JSONValue] = [
            "transactionId": .string(id), "originalTransactionId": .string(id),
            "bundleId": .string(Shop.bundleID), "productId": .string(Shop.points60),
            // Xcode writes fractions of milliseconds.
            "purchaseDate": .double(Double(time.milliseconds) + 0.7297),
            "originalPurchaseDate": .double(Double(time.milliseconds) + 0.7297),
            "signedDate": .double(Double(time.milliseconds) + 12.25), "quantity": 1, "type": "Consumable",
            "inAppOwnershipType": "PURCHASED", "environment": .string(environment), "storefront": "USA",
            "storefrontId": "143441", "transactionReason": "PURCHASE", "price": 6_000, "currency": "CNY",
        ]
        if let token { payload["appAccountToken"] = .string(token.description) }
        return try sign(.object(payload))
    }

    func sign(_ payload: JSONValue) throws -> String {
        let header: JSONValue = [
            "alg": "ES256", "kid": "Apple_Xcode_Key", "typ": "JWT",
            "x5c": [.string(Base64.encode(certificate))],
        ]
        let input =
            Base64.encode(Array(header.encoded().utf8), .url) + "."
            + Base64.encode(Array(payload.encoded().utf8), .url)
        return input + "." + Base64.encode(try identity.key.signES256(Array(input.utf8)), .url)
    }
}
