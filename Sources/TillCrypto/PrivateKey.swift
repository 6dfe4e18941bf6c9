import CTillOpenSSL
import TillThreads

/// A private key that signs: EC P-256, EC P-384 and RSA 2048, the three kinds in Apple's chains (facts/jws §3,
/// facts/pkcs7-receipt §5), and RSA 1024, which signed old-style receipts (facts/verify-receipt §9).
///
/// Generated keys use OpenSSL's randomness; a reproducible run reads its keys from PEM instead.
public final class PrivateKey: @unchecked Sendable {
    // The EVP_PKEY is read-only after `init`, and OpenSSL allows reads from any number of threads.

    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case p256
        case p384
        case rsa2048
        /// Too short for anything except receipts of iOS 6.
        case rsa1024
    }

    public let kind: Kind
    let pointer: OpaquePointer
    private let idle = Locked<[Digest: [Context]]>([:])

    /// The number of contexts kept for reuse; threads beyond this number create and discard their own.
    private static let idleLimit = 16

    private init(owning pointer: OpaquePointer, kind: Kind) {
        self.pointer = pointer
        self.kind = kind
    }

    deinit { EVP_PKEY_free(pointer) }

    /// Generates a key. RSA takes up to some hundred milliseconds.
    public static func generate(_ kind: Kind) throws(SigningError) -> PrivateKey {
        let algorithm = kind == .rsa2048 || kind == .rsa1024 ? EVP_PKEY_RSA : EVP_PKEY_EC
        guard let context = EVP_PKEY_CTX_new_id(algorithm, nil) else { throw .openSSL("EVP_PKEY_CTX_new_id") }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_keygen_init(context) == 1 else { throw .openSSL("EVP_PKEY_keygen_init") }
        let chosen =
            switch kind {
            case .p256: EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
            case .p384: EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_secp384r1)
            case .rsa2048: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2_048)
            case .rsa1024: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 1_024)
            }
        var made: OpaquePointer?
        guard chosen == 1, EVP_PKEY_keygen(context, &made) == 1, let made else { throw .openSSL("EVP_PKEY_keygen") }
        return PrivateKey(owning: made, kind: kind)
    }

    /// Reads an unencrypted PKCS#8 key (`-----BEGIN PRIVATE KEY-----`), the format of Apple's `.p8` files.
    public convenience init(pem: String) throws(SigningError) {
        let text = Array(pem.utf8)
        guard text.count <= 16_384 else { throw SigningError("a PEM of \(text.count) bytes is no private key") }
        // The BIO reads the text in place, so the text must stay valid until the key is read.
        let read = text.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, CInt(bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            // The callback fails for an encrypted key; without one, OpenSSL would prompt for a password at the
            // terminal.
            return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let key = read else { throw .openSSL("PEM private key") }
        guard let kind = Self.kind(of: key) else {
            EVP_PKEY_free(key)
            throw SigningError("the key is neither EC P-256, EC P-384, RSA 2048 nor RSA 1024")
        }
        self.init(owning: key, kind: kind)
    }

    /// Unencrypted PKCS#8 PEM. Store it in a file of mode 0600.
    public func pem() throws(SigningError) -> String {
        guard let bio = BIO_new(BIO_s_mem()) else { throw .openSSL("BIO_new") }
        defer { BIO_free(bio) }
        guard PEM_write_bio_PKCS8PrivateKey(bio, pointer, nil, nil, 0, nil, nil) == 1 else {
            throw .openSSL("PEM_write_bio_PKCS8PrivateKey")
        }
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(bio)))
        let count = BIO_read(bio, &bytes, CInt(bytes.count))
        return String(decoding: bytes.prefix(max(0, Int(count))), as: UTF8.self)
    }

    /// The public half as DER SubjectPublicKeyInfo.
    public func publicKeyInfo() throws(SigningError) -> [UInt8] {
        try encoded("i2d_PUBKEY") { i2d_PUBKEY(pointer, $0) }
    }

    /// A SHA-256 signature in the key's own format: DER for EC, PKCS#1 v1.5 for RSA.
    public func signSHA256(_ message: [UInt8]) throws(SigningError) -> [UInt8] {
        try sign(message, digest: .sha256)
    }

    /// A SHA-1 signature, which only old-style receipts use.
    public func signSHA1(_ message: [UInt8]) throws(SigningError) -> [UInt8] { try sign(message, digest: .sha1) }

    private func sign(_ message: [UInt8], digest: Digest) throws(SigningError) -> [UInt8] {
        let prepared = idle.withLock { $0[digest]?.popLast() }
        let context = if let prepared { prepared } else { try Context(pointer, digest) }
        let signature = try context.sign(hash: digest.hash(message))
        idle.withLock { if $0[digest, default: []].count < Self.idleLimit { $0[digest, default: []].append(context) } }
        return signature
    }

    /// One key's preparation for signatures with one hash, which costs an eighth of a signature. One thread at a time
    /// uses it.
    private final class Context {
        private let pointer: OpaquePointer
        private let longest: Int

        init(_ key: OpaquePointer, _ digest: Digest) throws(SigningError) {
            guard let pointer = EVP_PKEY_CTX_new(key, nil) else { throw .openSSL("EVP_PKEY_CTX_new") }
            guard EVP_PKEY_sign_init(pointer) == 1, EVP_PKEY_CTX_set_signature_md(pointer, digest.algorithm) == 1 else {
                EVP_PKEY_CTX_free(pointer)
                throw .openSSL("EVP_PKEY_sign_init")
            }
            self.pointer = pointer
            longest = Int(EVP_PKEY_get_size(key))
        }

        deinit { EVP_PKEY_CTX_free(pointer) }

        /// PKCS#1 v1.5 is OpenSSL's default for RSA keys.
        func sign(hash: [UInt8]) throws(SigningError) -> [UInt8] {
            var length = longest
            var signature = [UInt8](repeating: 0, count: length)
            guard EVP_PKEY_sign(pointer, &signature, &length, hash, hash.count) == 1 else {
                throw .openSSL("EVP_PKEY_sign")
            }
            signature.removeLast(signature.count - length)
            return signature
        }
    }

    /// An ES256 signature in JWS format: r and s, 32 bytes each (RFC 7518 §3.4). The key must be P-256.
    public func signES256(_ message: [UInt8]) throws(SigningError) -> [UInt8] {
        guard kind == .p256 else { throw SigningError("ES256 needs a P-256 key, this one is \(kind.rawValue)") }
        let der = try signSHA256(message)
        let pair = der.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &position, buffer.count)
        }
        guard let pair else { throw .openSSL("d2i_ECDSA_SIG") }
        defer { ECDSA_SIG_free(pair) }
        var raw = [UInt8](repeating: 0, count: 64)
        let filled = raw.withUnsafeMutableBufferPointer { buffer in
            BN_bn2binpad(ECDSA_SIG_get0_r(pair), buffer.baseAddress, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(pair), buffer.baseAddress.map { $0 + 32 }, 32) == 32
        }
        guard filled else { throw .openSSL("BN_bn2binpad") }
        return raw
    }

    private static func kind(of key: OpaquePointer) -> Kind? {
        let bits = EVP_PKEY_get_bits(key)
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA: return bits == 2_048 ? .rsa2048 : bits == 1_024 ? .rsa1024 : nil
        case EVP_PKEY_EC:
            var name = [CChar](repeating: 0, count: 64)
            var length = 0
            guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return nil }
            let group = String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return group == "prime256v1" ? .p256 : group == "secp384r1" ? .p384 : nil
        default: return nil
        }
    }
}

/// Why a key, a certificate or a signature could not be made. A proof from outside never causes it.
public struct SigningError: Error, Sendable, Hashable, CustomStringConvertible {
    /// For operators, in English.
    public let detail: String
    /// False: the same call with the same input fails again.
    public var isRetryable: Bool { false }
    public var description: String { detail }

    public init(_ detail: String) { self.detail = detail }

    /// OpenSSL's text for its last failure; empties its error queue.
    static func openSSL(_ call: String) -> SigningError {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_peek_last_error(), &text, text.count)
        ERR_clear_error()
        let detail = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return SigningError("\(call): \(String(decoding: detail, as: UTF8.self))")
    }
}

/// Calls one of OpenSSL's `i2d_` functions twice: first for the length, then for the bytes.
func encoded(
    _ call: String, _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt
) throws(SigningError) -> [UInt8] {
    let length = write(nil)
    guard length > 0 else { throw .openSSL(call) }
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let written = bytes.withUnsafeMutableBufferPointer { buffer in
        var position = buffer.baseAddress
        return write(&position)
    }
    guard written == length else { throw .openSSL(call) }
    return bytes
}
