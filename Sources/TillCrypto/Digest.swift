import CTillOpenSSL

/// The hashes of Apple's proofs and of Till's own tokens.
public enum Digest: String, Sendable {
    /// Only where Apple's old receipts and the device hash require it (facts/pkcs7-receipt §4.2, §5).
    case sha1
    case sha256
    /// Only for `deviceVerification` (facts/jws §2).
    case sha384

    /// The hash of `bytes`: 20, 32 or 48 bytes.
    public func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        hash(Array(bytes))
    }

    public func hash(_ input: [UInt8]) -> [UInt8] {
        clearingErrors {
            var output = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
            var length: UInt32 = 0
            let done = EVP_Digest(input, input.count, &output, &length, algorithm, nil)
            precondition(done == 1, "libcrypto cannot hash")
            output.removeLast(output.count - Int(length))
            return output
        }
    }

    var algorithm: OpaquePointer? {
        switch self {
        case .sha1: Self.implementations[0]
        case .sha256: Self.implementations[1]
        case .sha384: Self.implementations[2]
        }
    }

    /// Fetched once: given only a name, OpenSSL looks for the implementation at every hash. They live as long as the
    /// process, and are read-only.
    nonisolated(unsafe) private static let implementations: [OpaquePointer?] = [
        EVP_MD_fetch(nil, "SHA1", nil) ?? EVP_sha1(), EVP_MD_fetch(nil, "SHA256", nil) ?? EVP_sha256(),
        EVP_MD_fetch(nil, "SHA384", nil) ?? EVP_sha384(),
    ]
}

/// The SHA-256 of bytes that arrive in parts.
public final class SHA256Stream {
    private let context = EVP_MD_CTX_new()

    public init() {
        let isReady = EVP_DigestInit_ex2(context, Digest.sha256.algorithm, nil) == 1
        precondition(isReady, "libcrypto cannot hash")
    }

    deinit { EVP_MD_CTX_free(context) }

    public func add(_ bytes: UnsafeRawBufferPointer) {
        let isDone = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
        precondition(isDone, "libcrypto cannot hash")
    }

    /// The digest of all parts. Call it once.
    public func finish() -> [UInt8] {
        var output = [UInt8](repeating: 0, count: 32)
        let isDone = EVP_DigestFinal_ex(context, &output, nil) == 1
        precondition(isDone, "libcrypto cannot hash")
        return output
    }
}

/// HMAC with SHA-256 (RFC 2104), for HS256 tokens and webhook signatures.
public enum HMACSHA256 {
    /// The 32 bytes that authenticate `message` under `key`.
    public static func code(for message: some Collection<UInt8>, key: some Collection<UInt8>) -> [UInt8] {
        let message = Array(message)
        // Keys are padded with zeros, so this is the empty key, which OpenSSL takes for a missing one.
        let key = key.isEmpty ? [0] : Array(key)
        return clearingErrors {
            let context = EVP_MAC_CTX_dup(prepared)
            defer { EVP_MAC_CTX_free(context) }
            var output = [UInt8](repeating: 0, count: 32)
            var length = 0
            let isDone =
                EVP_MAC_init(context, key, key.count, nil) == 1
                && EVP_MAC_update(context, message, message.count) == 1
                && EVP_MAC_final(context, &output, &length, output.count) == 1
            precondition(isDone && length == 32, "libcrypto cannot authenticate")
            return output
        }
    }

    /// Without a key, and only copied: OpenSSL's one call for everything looks for the implementation each time.
    nonisolated(unsafe) private static let prepared = till_hmac_sha256()

    /// Whether `code` authenticates `message`, compared in constant time.
    public static func isValid(
        _ code: some Collection<UInt8>, for message: some Collection<UInt8>, key: some Collection<UInt8>
    ) -> Bool {
        constantTimeEqual(code, self.code(for: message, key: key))
    }
}

/// Compares secrets in constant time, so that the time taken does not reveal where they differ. The lengths are not
/// hidden.
public func constantTimeEqual(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    let left = Array(left)
    let right = Array(right)
    return left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}

/// Lower-case hexadecimal, two digits a byte.
package func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value }
    let bytes = Array(bytes)
    return String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
        for (index, byte) in bytes.enumerated() {
            text[2 * index] = digit(byte >> 4)
            text[2 * index + 1] = digit(byte & 0x0F)
        }
        return 2 * bytes.count
    }
}

/// A chain of SHA-256 digests: each is the hash of the one before, followed by the next content. Changing, removing or
/// moving a content changes every digest after it.
public final class SHA256Chain {
    private let context = EVP_MD_CTX_new()
    /// The 32 bytes after the contents so far.
    public private(set) var digest: [UInt8]

    public init(after digest: [UInt8]) {
        precondition(context != nil && digest.count == 32, "a chain goes on after a SHA-256 digest")
        self.digest = digest
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Goes on after another digest.
    public func restart(after digest: [UInt8]) {
        precondition(digest.count == 32, "a chain goes on after a SHA-256 digest")
        self.digest = digest
    }

    public func add(_ content: [UInt8]) { content.withUnsafeBytes { add($0) } }

    public func add(_ content: UnsafeRawBufferPointer) {
        let isDone =
            EVP_DigestInit_ex2(context, Digest.sha256.algorithm, nil) == 1
            && EVP_DigestUpdate(context, digest, digest.count) == 1
            && EVP_DigestUpdate(context, content.baseAddress, content.count) == 1
            && digest.withUnsafeMutableBufferPointer { EVP_DigestFinal_ex(context, $0.baseAddress, nil) } == 1
        precondition(isDone, "libcrypto cannot hash")
    }
}
