import TillCrypto

/// Makes the tokens that an app's own backend would make.
enum UserToken {
    /// The additional claim in the token of a journey's guest, whose id begins with `guest`.
    static func guestClaim(_ user: String) -> String { user.hasPrefix("guest") ? #","guest":true"# : "" }

    static func hs256(
        subject: String, expires: Int64, algorithm: String = "HS256", secret: [UInt8] = Shop.tokenSecret,
        extra: String = ""
    ) -> String {
        let header = Base64.encode(Array(#"{"alg":"\#(algorithm)","typ":"JWT"}"#.utf8), .url)
        let claims = Base64.encode(Array(#"{"sub":"\#(subject)","exp":\#(expires)\#(extra)}"#.utf8), .url)
        let code = HMACSHA256.code(for: "\(header).\(claims)".utf8, key: secret)
        return "\(header).\(claims).\(Base64.encode(code, .url))"
    }
}

extension UserToken {
    static func withoutExpiry(subject: String) -> String {
        let header = Base64.encode(Array(#"{"alg":"HS256"}"#.utf8), .url)
        let claims = Base64.encode(Array(#"{"sub":"\#(subject)"}"#.utf8), .url)
        let code = HMACSHA256.code(for: "\(header).\(claims)".utf8, key: Shop.tokenSecret)
        return "\(header).\(claims).\(Base64.encode(code, .url))"
    }
}

extension UserToken {
    static func es256(subject: String, expires: Int64, key: PrivateKey) throws -> String {
        try es256(header: #"{"alg":"ES256"}"#, claims: #"{"sub":"\#(subject)","exp":\#(expires)}"#, key: key)
    }

    static func es256(header: String, claims: String, key: PrivateKey) throws -> String {
        let signed = "\(Base64.encode(Array(header.utf8), .url)).\(Base64.encode(Array(claims.utf8), .url))"
        return "\(signed).\(Base64.encode(try key.signES256(Array(signed.utf8)), .url))"
    }
}
