import CTillOpenSSL

/// An X.509 certificate, parsed once. Nothing about it is trusted until a `TrustStore` has built its chain.
public final class Certificate: @unchecked Sendable {
    // OpenSSL's certificate is reference-counted; its lazily cached parts are filled under its own lock.
    let handle: OpaquePointer

    /// Takes over one reference of `handle`.
    init(owning handle: OpaquePointer) { self.handle = handle }

    deinit { X509_free(handle) }

    /// From DER; nil if it is no certificate, or has bytes after it.
    public convenience init?(der: [UInt8]) {
        let handle: OpaquePointer? = clearingErrors {
            der.withUnsafeBufferPointer { buffer in
                var cursor = buffer.baseAddress
                guard let certificate = d2i_X509(nil, &cursor, buffer.count) else { return nil }
                guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else {
                    X509_free(certificate)
                    return nil
                }
                return certificate
            }
        }
        guard let handle else { return nil }
        self.init(owning: handle)
    }

    /// From a file's bytes: DER, or PEM whose first certificate is taken.
    public convenience init?(derOrPEM bytes: [UInt8]) {
        if bytes.first == 0x30 {
            self.init(der: bytes)
        } else if let der = PEM.decode(String(decoding: bytes, as: UTF8.self), label: "CERTIFICATE") {
            self.init(der: der)
        } else {
            return nil
        }
    }

    public var der: [UInt8] {
        clearingErrors {
            var bytes: UnsafeMutablePointer<UInt8>?
            let length = i2d_X509(handle, &bytes)
            defer { CRYPTO_free(bytes, nil, 0) }
            return length > 0 ? Array(UnsafeBufferPointer(start: bytes, count: Int(length))) : []
        }
    }

    /// The subject as RFC 4514 text, most specific part first: `CN=…,OU=…,O=Apple Inc.,C=US`.
    public var subject: String { DistinguishedName.text(of: X509_get_subject_name(handle)) }
    public var issuer: String { DistinguishedName.text(of: X509_get_issuer_name(handle)) }

    /// The first second at which the certificate is valid, counted from 1970 in UTC.
    public var notBefore: Int64 { ASN1Time.seconds(X509_get0_notBefore(handle)) ?? 0 }
    /// The last second of validity as the certificate states it, counted from 1970 in UTC.
    public var notAfter: Int64 { ASN1Time.seconds(X509_get0_notAfter(handle)) ?? 0 }

    /// SHA-256 of the DER, 32 bytes.
    public var sha256: [UInt8] { Digest.sha256.hash(der) }

    /// Whether an extension with this object identifier (dotted decimal) is present, whatever it contains.
    public func hasExtension(_ identifier: String) -> Bool {
        clearingErrors {
            guard let object = OBJ_txt2obj(identifier, 1) else { return false }
            defer { ASN1_OBJECT_free(object) }
            return X509_get_ext_by_OBJ(handle, object, -1) >= 0
        }
    }

    /// Whether it may sign other certificates, by its own word (basic constraints) or as a self-signed
    /// one of version 1.
    public var isAuthority: Bool { clearingErrors { X509_check_ca(handle) > 0 } }

    /// Nil if the key is of a kind or encoding libcrypto does not know.
    public var publicKey: PublicKey? {
        clearingErrors { X509_get_pubkey(handle).map(PublicKey.init(owning:)) }
    }

    /// Whether this certificate's own signature was made with `key`. Says nothing about names, dates or purposes.
    public func isSigned(by key: PublicKey) -> Bool {
        clearingErrors { X509_verify(handle, key.handle) == 1 }
    }
}

extension Certificate: Equatable {
    public static func == (left: Certificate, right: Certificate) -> Bool {
        left === right || clearingErrors { X509_cmp(left.handle, right.handle) == 0 }
    }
}
