import CTillOpenSSL

/// A JWS or JWT in compact serialization (RFC 7515 §7.1), split into its parts and not yet verified:
/// `base64url(header).base64url(payload).base64url(signature)`, no padding, no surrounding text.
public struct CompactToken: Sendable {
    /// The whole text.
    public let bytes: [UInt8]
    /// The end of the header's text, before the first dot.
    let headerEnd: Int
    /// The end of the payload's text, before the second dot.
    let payloadEnd: Int
    /// The decoded payload: JSON in every token that Till accepts.
    public let payload: [UInt8]
    public let signature: [UInt8]

    /// Nil unless there are exactly three segments, with strict base64url in payload and signature. `header` is decoded
    /// on demand.
    public init?(_ bytes: [UInt8]) {
        let dot = UInt8(ascii: ".")
        guard let headerEnd = Self.first(dot, in: bytes, from: 0),
            let payloadEnd = Self.first(dot, in: bytes, from: headerEnd + 1)
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

    /// The first index of a byte from `start` on.
    package static func first(_ byte: UInt8, in bytes: [UInt8], from start: Int) -> Int? {
        let found = bytes.withUnsafeBufferPointer { text in
            let rest = UnsafeBufferPointer(rebasing: text[start...])
            return start + till_first_index(rest.baseAddress, Int32(byte), rest.count)
        }
        return found < bytes.count ? found : nil
    }

    /// The header's JSON bytes; nil if its segment is not base64url.
    public var header: [UInt8]? { Base64.decode(bytes[..<headerEnd], .url) }

    /// The header's segment with its dot, which all tokens with the same header begin with.
    public var headerPrefix: ArraySlice<UInt8> { bytes[...headerEnd] }

    /// The signature's segment.
    public var signatureText: ArraySlice<UInt8> { bytes[(payloadEnd + 1)...] }

    /// Whether the token begins with these bytes.
    public func hasHeaderPrefix(_ prefix: [UInt8]) -> Bool {
        prefix.count == headerEnd + 1 && till_bytes_equal(prefix, bytes, prefix.count) == 1
    }

    /// Whether a text that is not split yet has these bytes at `start`.
    public static func begins(_ text: [UInt8], at start: Int = 0, with prefix: [UInt8]) -> Bool {
        guard start <= text.count, text.count - start >= prefix.count else { return false }
        return text.withUnsafeBytes { till_bytes_equal(prefix, $0.baseAddress.map { $0 + start }, prefix.count) == 1 }
    }

    /// Whether the signature is valid for `verifier`, which was prepared with this token's header prefix.
    public func isSigned(accordingTo verifier: ES256Verifier) -> Bool {
        bytes.withUnsafeBytes { text in
            verifier.isValid(
                signature: signature, message: UnsafeRawBufferPointer(rebasing: text[(headerEnd + 1)..<payloadEnd]))
        }
    }

    /// Whether the token carries this P-256 key's ES256 signature. Ignores the algorithm that the header names.
    public func isSigned(by key: PublicKey) -> Bool {
        guard let verifier = ES256Verifier(key: key, messagePrefix: Array(headerPrefix)) else { return false }
        return isSigned(accordingTo: verifier)
    }

    /// Whether the token carries the HS256 code of this secret. Ignores the algorithm that the header names.
    public func isAuthenticated(by secret: [UInt8]) -> Bool {
        HMACSHA256.isValid(signature, for: bytes[..<payloadEnd], key: secret)
    }
}
