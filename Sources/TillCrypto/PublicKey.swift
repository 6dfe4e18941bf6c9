import CTillOpenSSL
import TillThreads

/// A public key, from a certificate, PEM or DER.
public final class PublicKey: @unchecked Sendable {
    // OpenSSL's keys are reference-counted and read-only after loading; many threads may verify with the same key.
    let handle: OpaquePointer

    /// Takes over one reference of `handle`.
    init(owning handle: OpaquePointer) { self.handle = handle }

    deinit { EVP_PKEY_free(handle) }

    /// Reads a DER SubjectPublicKeyInfo; nil if the bytes are not one, or continue after it.
    public convenience init?(der: [UInt8]) {
        let handle: OpaquePointer? = clearingErrors {
            der.withUnsafeBufferPointer { buffer in
                var cursor = buffer.baseAddress
                guard let key = d2i_PUBKEY(nil, &cursor, buffer.count) else { return nil }
                guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else {
                    EVP_PKEY_free(key)
                    return nil
                }
                return key
            }
        }
        guard let handle else { return nil }
        self.init(owning: handle)
    }

    /// Reads PEM that begins with `-----BEGIN PUBLIC KEY-----`; nil if the text is not such a key.
    public convenience init?(pem: some StringProtocol) {
        guard let der = PEM.decode(pem, label: "PUBLIC KEY") else { return nil }
        self.init(der: der)
    }

    /// The DER SubjectPublicKeyInfo.
    public var der: [UInt8] {
        clearingErrors {
            var bytes: UnsafeMutablePointer<UInt8>?
            let length = i2d_PUBKEY(handle, &bytes)
            defer { CRYPTO_free(bytes, nil, 0) }
            return length > 0 ? Array(UnsafeBufferPointer(start: bytes, count: Int(length))) : []
        }
    }

    /// Whether the key can make ES256 signatures: an elliptic-curve key on P-256.
    public var isP256: Bool {
        clearingErrors {
            guard EVP_PKEY_get_base_id(handle) == EVP_PKEY_EC else { return false }
            var name = [CChar](repeating: 0, count: 32)
            var length = 0
            guard EVP_PKEY_get_group_name(handle, &name, name.count, &length) == 1 else { return false }
            return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) == "prime256v1"
        }
    }

    /// Whether `signature`, in DER, is this P-256 key's ECDSA signature of `message` with SHA-256: the signature of the
    /// original promotional offers (facts/business-rules §9).
    public func isValidECDSA(signature: [UInt8], of message: [UInt8]) -> Bool {
        guard isP256 else { return false }
        return clearingErrors {
            let context = EVP_MD_CTX_new()
            defer { EVP_MD_CTX_free(context) }
            guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1 else { return false }
            return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        }
    }

    public var isRSA: Bool { EVP_PKEY_get_base_id(handle) == EVP_PKEY_RSA }

    /// Whether `signature` is this RSA key's PKCS#1 v1.5 signature of `message`.
    public func isValidRSA(signature: [UInt8], of message: [UInt8], digest: Digest) -> Bool {
        guard isRSA else { return false }
        return clearingErrors {
            let context = EVP_MD_CTX_new()
            defer { EVP_MD_CTX_free(context) }
            // PKCS#1 v1.5 is OpenSSL's default for RSA keys.
            guard EVP_DigestVerifyInit(context, nil, digest.algorithm, nil, handle) == 1 else { return false }
            return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        }
    }
}

/// Verifies ES256 signatures (ECDSA P-256 with SHA-256, raw r‖s of 64 bytes) of messages with a common prefix, such as
/// all JWS with the same header.
///
/// The prefix is hashed once, and verification contexts are reused, each by one thread at a time. Any number of threads
/// may share one verifier. A key that has made many signatures gets a table of its multiples.
public final class ES256Verifier: @unchecked Sendable {
    private let key: PublicKey
    private let afterPrefix: OpaquePointer
    private let idle = Locked<[Context]>([])
    private let table = Locked(Table.counting(0))

    private enum Table {
        /// How many signatures were checked without one.
        case counting(Int)
        case ready(KeyMultiples)
        /// One thread makes it, or it cannot be made.
        case none
    }

    /// So many checks save more than the table costs.
    static let checksBeforeTable = 512

    /// The number of contexts kept for reuse; threads beyond this number create and discard their own.
    private static let idleLimit = 16

    /// Nil if the key is not on P-256.
    public init?(key: PublicKey, messagePrefix: [UInt8] = []) {
        guard key.isP256 else { return nil }
        let state: OpaquePointer? = clearingErrors {
            guard let state = EVP_MD_CTX_new() else { return nil }
            guard EVP_DigestInit_ex(state, EVP_sha256(), nil) == 1,
                EVP_DigestUpdate(state, messagePrefix, messagePrefix.count) == 1
            else {
                EVP_MD_CTX_free(state)
                return nil
            }
            return state
        }
        guard let state else { return nil }
        self.key = key
        afterPrefix = state
    }

    deinit { EVP_MD_CTX_free(afterPrefix) }

    /// Whether `signature` (64 bytes) is the key's signature of the prefix followed by `message`. OpenSSL refuses r and
    /// s out of range.
    public func isValid(signature: some Collection<UInt8>, message: UnsafeRawBufferPointer) -> Bool {
        guard signature.count == 64 else { return false }
        let signature = Array(signature)
        return clearingErrors {
            guard let context = idle.withLock({ $0.popLast() }) ?? Context(key: key) else { return false }
            defer { idle.withLock { if $0.count < Self.idleLimit { $0.append(context) } } }
            return context.isValid(
                signature: signature, from: afterPrefix, message: message, multiples: multiples()
            ) { Self.sequence(of: signature) }
        }
    }

    private func multiples() -> KeyMultiples? {
        let (known, isDue) = table.withLock { table -> (KeyMultiples?, Bool) in
            switch table {
            case .ready(let multiples): return (multiples, false)
            case .none: return (nil, false)
            case .counting(let count):
                let isDue = count + 1 >= Self.checksBeforeTable
                table = isDue ? .none : .counting(count + 1)
                return (nil, isDue)
            }
        }
        guard isDue, let made = KeyMultiples(of: key) else { return known }
        table.withLock { $0 = .ready(made) }
        return made
    }

    /// Whether signatures are checked with a table.
    var hasTable: Bool { table.withLock { if case .ready = $0 { true } else { false } } }

    public func isValid(signature: some Collection<UInt8>, message: [UInt8]) -> Bool {
        message.withUnsafeBytes { isValid(signature: signature, message: $0) }
    }

    /// `SEQUENCE { r INTEGER, s INTEGER }` in DER, from 32 bytes each.
    private static func sequence(of raw: [UInt8]) -> [UInt8] {
        var sequence: [UInt8] = [0x30, 0]
        sequence.reserveCapacity(72)
        for half in [raw[..<32], raw[32...]] {
            let digits = half.drop { $0 == 0 }
            let needsZero = digits.first.map { $0 & 0x80 != 0 } ?? true
            sequence.append(0x02)
            sequence.append(UInt8(digits.count + (needsZero ? 1 : 0)))
            if needsZero { sequence.append(0) }
            sequence.append(contentsOf: digits)
        }
        sequence[1] = UInt8(sequence.count - 2)
        return sequence
    }

    /// The contexts that only one thread may use at a time.
    private final class Context {
        private let verification: OpaquePointer
        private let hash: OpaquePointer
        private var scratch: KeyMultiples.Scratch?

        init?(key: PublicKey) {
            guard let verification = EVP_PKEY_CTX_new(key.handle, nil) else { return nil }
            guard EVP_PKEY_verify_init(verification) == 1, let hash = EVP_MD_CTX_new() else {
                EVP_PKEY_CTX_free(verification)
                return nil
            }
            self.verification = verification
            self.hash = hash
        }

        deinit {
            EVP_PKEY_CTX_free(verification)
            EVP_MD_CTX_free(hash)
        }

        /// - Parameter encoded: the signature in DER.
        func isValid(
            signature: [UInt8], from prefix: OpaquePointer, message: UnsafeRawBufferPointer, multiples: KeyMultiples?,
            encoded: () -> [UInt8]
        ) -> Bool {
            guard EVP_MD_CTX_copy_ex(hash, prefix) == 1,
                EVP_DigestUpdate(hash, message.baseAddress, message.count) == 1
            else { return false }
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { digest in
                guard let start = digest.baseAddress, EVP_DigestFinal_ex(hash, start, nil) == 1 else { return false }
                if let multiples {
                    if scratch == nil { scratch = KeyMultiples.Scratch(for: multiples) }
                    if let scratch, multiples.accepts(signature, of: start, scratch) { return true }
                }
                let encoded = encoded()
                return EVP_PKEY_verify(verification, encoded, encoded.count, start, 32) == 1
            }
        }
    }
}
