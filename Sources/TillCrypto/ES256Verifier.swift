import CTillOpenSSL

/// Checks ES256 signatures (ECDSA P-256 with SHA-256, raw r‖s of 64 bytes) of messages that begin with the same
/// bytes, such as all JWS with one header.
///
/// What can be done once is done once: the hash of the beginning is kept half-way, and the verification contexts
/// are reused, each by one thread at a time. One verifier serves any number of threads.
public final class ES256Verifier: @unchecked Sendable {
    private let key: PublicKey
    private let afterPrefix: OpaquePointer
    private let idle = Locked<[Session]>([])

    /// Contexts kept for reuse; more threads than this make and drop their own.
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

    /// Whether `signature` (64 bytes) is the key's over the prefix followed by `message`. r and s out of range are
    /// refused by OpenSSL.
    public func isValid(signature: some Collection<UInt8>, message: UnsafeRawBufferPointer) -> Bool {
        guard signature.count == 64 else { return false }
        let encoded = Self.sequence(of: Array(signature))
        return clearingErrors {
            guard let session = idle.withLock({ $0.popLast() }) ?? Session(key: key) else { return false }
            defer { idle.withLock { if $0.count < Self.idleLimit { $0.append(session) } } }
            return session.isValid(signature: encoded, from: afterPrefix, message: message)
        }
    }

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
    private final class Session {
        private let verification: OpaquePointer
        private let hash: OpaquePointer

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

        func isValid(signature: [UInt8], from prefix: OpaquePointer, message: UnsafeRawBufferPointer) -> Bool {
            guard EVP_MD_CTX_copy_ex(hash, prefix) == 1,
                EVP_DigestUpdate(hash, message.baseAddress, message.count) == 1
            else { return false }
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { digest in
                guard EVP_DigestFinal_ex(hash, digest.baseAddress, nil) == 1 else { return false }
                return EVP_PKEY_verify(verification, signature, signature.count, digest.baseAddress, 32) == 1
            }
        }
    }
}
