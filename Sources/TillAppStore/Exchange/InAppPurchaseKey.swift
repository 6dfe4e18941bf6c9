import TillBilling
import TillCrypto
import TillJSON

/// The "In-App Purchase" key of App Store Connect: it signs the bearer tokens of the App Store Server API
/// (facts/server-api §2) and the offers that an app may show (facts/business-rules §9).
public struct InAppPurchaseKey: Sendable {
    /// A UUID's text: the account that the key belongs to.
    public let issuerID: String
    /// Ten letters and digits, like `2X9R4HXF34`.
    public let keyID: String
    /// On P-256: the `.p8` file that can be downloaded once.
    public let privateKey: PrivateKey

    /// - Throws: if the key is not on P-256: ES256 wants no other.
    public init(issuerID: String, keyID: String, privateKey: PrivateKey) throws(IssuingFault) {
        guard privateKey.kind == .p256 else {
            throw IssuingFault("an In-App Purchase key is on P-256, this one is \(privateKey.kind.rawValue)")
        }
        self.issuerID = issuerID
        self.keyID = keyID
        self.privateKey = privateKey
    }

    /// A JWT of these claims in compact serialization: `{"alg":"ES256","kid":…,"typ":"JWT"}`, signed by this key.
    func token(claims: [String: JSONValue]) throws(IssuingFault) -> String {
        let header: JSONValue = ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"]
        let message = [header, .object(claims)].map { Base64.encode(Array($0.encoded().utf8), .url) }
            .joined(separator: ".")
        return message + "." + Base64.encode(try privateKey.signES256(Array(message.utf8)), .url)
    }
}
