import CTillOpenSSL

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
