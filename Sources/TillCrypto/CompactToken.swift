import CTillOpenSSL

/// A JWS or JWT in compact serialization (RFC 7515 §7.1), taken apart and not yet believed:
/// `base64url(header).base64url(payload).base64url(signature)`, no padding, nothing around it.
public struct CompactToken: Sendable {
    /// All of the text.
    public let bytes: [UInt8]
    /// Where the text of the header ends, before the first dot.
    let headerEnd: Int
    /// Where the text of the payload ends, before the second dot.
    let payloadEnd: Int
    /// Decoded; JSON if the token is one of ours.
    public let payload: [UInt8]
    public let signature: [UInt8]

    /// Nil unless there are exactly three segments, each strict base64url. The header is decoded when asked for.
    public init?(_ bytes: [UInt8]) {
        guard let headerEnd = Self.dot(in: bytes, from: 0), let payloadEnd = Self.dot(in: bytes, from: headerEnd + 1)
        else { return nil }
        guard let payload = Base64.decode(bytes[(headerEnd + 1)..<payloadEnd], .url),
            let signature = Base64.decode(bytes[(payloadEnd + 1)...], .url)
        else { return nil }
        self.bytes = bytes
        self.headerEnd = headerEnd
        self.payloadEnd = payloadEnd
        self.payload = payload
        self.signature = signature
    }

    public init?(_ text: some StringProtocol) { self.init(Array(text.utf8)) }

    private static func dot(in bytes: [UInt8], from start: Int) -> Int? {
        let found = bytes.withUnsafeBufferPointer { text in
            let rest = UnsafeBufferPointer(rebasing: text[start...])
            return start + till_first_index(rest.baseAddress, Int32(UInt8(ascii: ".")), rest.count)
        }
        return found < bytes.count ? found : nil
    }

    /// The header as bytes of JSON; nil if its segment is no base64url.
    public var header: [UInt8]? { Base64.decode(bytes[..<headerEnd], .url) }

    /// The header's segment with its dot: what all tokens of one signer begin with.
    public var headerPrefix: ArraySlice<UInt8> { bytes[...headerEnd] }

    /// Whether the token begins with these bytes.
    public func hasHeaderPrefix(_ prefix: [UInt8]) -> Bool {
        prefix.count == headerEnd + 1 && till_bytes_equal(prefix, bytes, prefix.count) == 1
    }

    /// Whether a text that was not taken apart yet begins with these bytes.
    public static func begins(_ text: [UInt8], with prefix: [UInt8]) -> Bool {
        text.count >= prefix.count && till_bytes_equal(prefix, text, prefix.count) == 1
    }

    /// Whether `verifier`, prepared with this token's header prefix, finds the signature good.
    public func isSigned(accordingTo verifier: ES256Verifier) -> Bool {
        bytes.withUnsafeBytes { text in
            verifier.isValid(
                signature: signature, message: UnsafeRawBufferPointer(rebasing: text[(headerEnd + 1)..<payloadEnd]))
        }
    }

    /// Whether the token carries this P-256 key's ES256 signature. What the header claims is not asked.
    public func isSigned(by key: PublicKey) -> Bool {
        guard let verifier = ES256Verifier(key: key, messagePrefix: Array(headerPrefix)) else { return false }
        return isSigned(accordingTo: verifier)
    }

    /// Whether the token carries the HS256 code of this secret. What the header claims is not asked.
    public func isAuthenticated(by secret: [UInt8]) -> Bool {
        HMACSHA256.isValid(signature, for: bytes[..<payloadEnd], key: secret)
    }
}
