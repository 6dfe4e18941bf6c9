import TillJSON

/// What a JWS says of its own signature. Nothing in it is believed: the algorithm is a constant of ours, and its
/// certificates count only as far as they lead to a configured root (facts/jws §8).
struct JWSHeader {
    /// The only algorithm Apple signs with.
    static let algorithm = "ES256"

    /// All of the header.
    let json: JSONValue
    /// `x5c` as it is; empty if there is none, or if it is no list.
    let certificates: [JSONValue]

    /// Nil if the bytes are no JSON object, or name an extension that must be understood: we understand none
    /// (RFC 7515 §4.1.11), nor a payload that is not base64 (RFC 7797).
    init?(_ bytes: [UInt8]?) {
        guard let bytes, let json = try? JSONValue(decoding: bytes), json.object != nil else { return nil }
        guard json["crit"] == nil, json["b64"] == nil else { return nil }
        self.json = json
        certificates = json["x5c"]?.array ?? []
    }
}
