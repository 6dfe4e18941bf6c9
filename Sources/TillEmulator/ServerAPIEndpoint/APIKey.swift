import TillBilling
import TillCrypto
import TillJSON

/// The "In-App Purchase" key that callers of the server API sign their bearer tokens with (facts/server-api §2). A
/// throw-away: whoever asks the emulator gets it.
struct APIKey: Sendable {
    let issuerID: UniqueID
    /// Ten characters, capital letters and digits.
    let keyID: String
    let privateKey: PrivateKey
    private let publicKey: PublicKey

    init(issuerID: UniqueID, keyID: String, privateKey: PrivateKey) throws(IssuingFault) {
        guard let publicKey = PublicKey(der: try privateKey.publicKeyInfo()) else {
            throw IssuingFault("the API key has no public half")
        }
        self.issuerID = issuerID
        self.keyID = keyID
        self.privateKey = privateKey
        self.publicKey = publicKey
    }

    /// A key id from ten random bytes.
    static func keyID(_ random: [UInt8]) -> String {
        let letters = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789".utf8)
        return String(decoding: random.prefix(10).map { letters[Int($0) % letters.count] }, as: UTF8.self)
    }

    func json(bundleID: String) throws(IssuingFault) -> JSONValue {
        [
            "issuerId": .string(issuerID.description), "keyId": .string(keyID), "bundleId": .string(bundleID),
            "privateKey": .string(try privateKey.pem()),
        ]
    }

    /// Apple allows a token an hour at most; a caller's clock may run a minute ahead.
    private static let longestLife: Int64 = 3_600
    private static let skew: Int64 = 60

    /// The app a bearer token speaks for; nil if the token is not one Apple would take.
    func bundleID(authorizedBy header: String?, at now: Instant) -> String? {
        guard let header, header.utf8.count <= 8_192, header.hasPrefix("Bearer "),
            let token = CompactToken(header.dropFirst(7)), let headerBytes = token.header,
            let head = try? JSONValue(decoding: headerBytes), let claims = try? JSONValue(decoding: token.payload),
            head["alg"]?.string == "ES256", head["kid"]?.string == keyID,
            claims["iss"]?.string?.lowercased() == issuerID.description,
            claims["aud"]?.string == "appstoreconnect-v1",
            let expires = claims["exp"]?.int, now.seconds < expires,
            Self.isShortLived(issued: claims["iat"], expires: expires, now: now.seconds),
            let bundleID = claims["bid"]?.string, !bundleID.isEmpty,
            token.isSigned(by: publicKey)
        else { return nil }
        return bundleID
    }

    /// Apple's documentation asks for `iat`; Apple's own Python library leaves it out, and is served.
    private static func isShortLived(issued: JSONValue?, expires: Int64, now: Int64) -> Bool {
        guard let issued else { return expires <= now + longestLife + skew }
        guard let issued = issued.int, issued >= 0, issued <= now + skew, expires > issued else { return false }
        return expires - issued <= longestLife
    }
}
