import CTillOpenSSL

/// An X.509 certificate, parsed once. It is untrusted until a `TrustStore` has built its chain.
public final class Certificate: @unchecked Sendable {
    // OpenSSL's certificate is reference-counted, and fills its lazily cached parts under its own lock.
    let handle: OpaquePointer

    /// Takes over one reference of `handle`.
    init(owning handle: OpaquePointer) { self.handle = handle }

    deinit { X509_free(handle) }

    /// Reads DER; nil if the bytes are not a certificate, or continue after it.
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

    /// Reads a file's bytes: DER, or PEM, of which the first certificate is used.
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

    /// Whether the certificate may sign other certificates: basic constraints say so, or it is a self-signed
    /// certificate of version 1.
    public var isAuthority: Bool { clearingErrors { X509_check_ca(handle) > 0 } }

    /// Nil if libcrypto does not support the key's kind or encoding.
    public var publicKey: PublicKey? {
        clearingErrors { X509_get_pubkey(handle).map(PublicKey.init(owning:)) }
    }

    /// Whether `key` made this certificate's signature. Names, dates and purposes are not checked.
    public func isSigned(by key: PublicKey) -> Bool {
        clearingErrors { X509_verify(handle, key.handle) == 1 }
    }
}

extension Certificate: Equatable {
    public static func == (left: Certificate, right: Certificate) -> Bool {
        left === right || clearingErrors { X509_cmp(left.handle, right.handle) == 0 }
    }
}

/// A certificate's subject or issuer as the text of RFC 4514.
enum DistinguishedName {
    static func text(of name: OpaquePointer?) -> String {
        clearingErrors {
            var parts: [String] = []
            var currentSet: Int32 = -1
            for index in 0..<max(0, X509_NAME_entry_count(name)) {
                guard let entry = X509_NAME_get_entry(name, index) else { continue }
                let text = "\(type(of: entry))=\(escaped(value(of: entry)))"
                let set = X509_NAME_ENTRY_set(entry)
                if set == currentSet, let last = parts.popLast() {
                    parts.append("\(last)+\(text)")
                } else {
                    parts.append(text)
                }
                currentSet = set
            }
            return parts.reversed().joined(separator: ",")
        }
    }

    /// The short names of RFC 4514 §3; the dotted decimal for every other type.
    private static func type(of entry: OpaquePointer) -> String {
        let object = X509_NAME_ENTRY_get_object(entry)
        switch OBJ_obj2nid(object) {
        case NID_commonName: return "CN"
        case NID_localityName: return "L"
        case NID_stateOrProvinceName: return "ST"
        case NID_organizationName: return "O"
        case NID_organizationalUnitName: return "OU"
        case NID_countryName: return "C"
        case NID_streetAddress: return "STREET"
        case NID_domainComponent: return "DC"
        case NID_userId: return "UID"
        default:
            var buffer = [CChar](repeating: 0, count: 128)
            let length = OBJ_obj2txt(&buffer, Int32(buffer.count), object, 1)
            let shown = buffer.prefix(max(0, min(Int(length), buffer.count - 1)))
            return String(decoding: shown.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    private static func value(of entry: OpaquePointer) -> String {
        var bytes: UnsafeMutablePointer<UInt8>?
        let length = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(entry))
        defer { CRYPTO_free(bytes, nil, 0) }
        guard length > 0 else { return "" }
        return String(decoding: UnsafeBufferPointer(start: bytes, count: Int(length)), as: UTF8.self)
    }

    /// RFC 4514 §2.4: special characters get a backslash, as do a leading `#` or blank and a final blank.
    private static func escaped(_ value: String) -> String {
        let scalars = Array(value.unicodeScalars)
        var text = ""
        for (index, scalar) in scalars.enumerated() {
            switch scalar {
            case "\\", "\"", "+", ",", ";", "<", ">": text += "\\"
            case "#" where index == 0: text += "\\"
            case " " where index == scalars.count - 1 || index == 0: text += "\\"
            case "\0":
                text += "\\00"
                continue
            default: break
            }
            text.unicodeScalars.append(scalar)
        }
        return text
    }
}

/// Why no chain of certificates leads to a configured root.
public struct CertificateChainError: Error, Equatable {
    /// A chain exists, but one of its certificates is expired, or not yet valid, at the given time.
    public let isOutsideValidity: Bool
    /// OpenSSL's text, for people. No decision depends on it.
    public let reason: String

    public init(isOutsideValidity: Bool, reason: String) {
        self.isOutsideValidity = isOutsideValidity
        self.reason = reason
    }
}

/// The trusted roots. Neither the system's store nor a certificate that came with a message is trusted.
public final class TrustStore: @unchecked Sendable {
    // X509_STORE is reference-counted and locks itself; each verification has its own context.
    private let store: OpaquePointer
    public let roots: [Certificate]

    /// - Parameter strict: also applies the finer rules of RFC 5280 (OpenSSL's `X509_V_FLAG_X509_STRICT`).
    public init(roots: [Certificate], strict: Bool = false) {
        guard let store = X509_STORE_new() else { fatalError("out of memory for a trust store") }
        self.store = store
        self.roots = roots
        clearingErrors {
            for root in roots { X509_STORE_add_cert(store, root.handle) }
            if strict { X509_STORE_set_flags(store, UInt(X509_V_FLAG_X509_STRICT)) }
        }
    }

    deinit { X509_STORE_free(store) }

    /// 0001-01-01 to 9999-12-31, in seconds since 1970.
    private static let datesWithFourDigits: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// Builds and verifies the chain from `leaf` over some of `intermediates` to one of the roots, by RFC 5280 at
    /// `seconds` since 1970. The leaf comes first.
    ///
    /// Allows authentication level 0 and any purpose: Apple signs old receipts with SHA-1 (facts/pkcs7-receipt §5.1),
    /// and Apple's marker extensions, which the caller checks, say which leaf may sign what.
    public func chain(
        leaf: Certificate, intermediates: [Certificate], at seconds: Int64
    ) throws(CertificateChainError) -> [Certificate] {
        // OpenSSL compares years of four digits, and reports any other date as an error of the certificate.
        guard Self.datesWithFourDigits.contains(seconds) else {
            throw CertificateChainError(isOutsideValidity: true, reason: "no certificate is valid in such a year")
        }
        return try clearingErrors { () throws(CertificateChainError) in
            guard let context = X509_STORE_CTX_new(), let untrusted = till_x509_stack_new() else {
                fatalError("out of memory for a chain")
            }
            defer {
                X509_STORE_CTX_free(context)
                till_x509_stack_free(untrusted)
            }
            for certificate in intermediates { till_x509_stack_push(untrusted, certificate.handle) }
            guard X509_STORE_CTX_init(context, store, leaf.handle, untrusted) == 1 else {
                throw CertificateChainError(isOutsideValidity: false, reason: "the chain cannot be examined")
            }
            let parameters = X509_STORE_CTX_get0_param(context)
            X509_VERIFY_PARAM_set_time(parameters, time_t(seconds))
            X509_VERIFY_PARAM_set_auth_level(parameters, 0)
            X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY)
            guard X509_verify_cert(context) == 1 else { throw Self.failure(of: context) }

            let stack = X509_STORE_CTX_get0_chain(context)
            let chain = (0..<till_x509_stack_count(stack)).compactMap { index -> Certificate? in
                guard let item = till_x509_stack_item(stack, index), X509_up_ref(item) == 1 else { return nil }
                return Certificate(owning: item)
            }
            // The anchor equals a configured root in all its bytes, not only in name and key.
            guard let anchor = chain.last, roots.contains(anchor) else {
                throw CertificateChainError(isOutsideValidity: false, reason: "the chain ends at no configured root")
            }
            return chain
        }
    }

    private static func failure(of context: OpaquePointer) -> CertificateChainError {
        let code = X509_STORE_CTX_get_error(context)
        let reason = X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? ""
        let isOutsideValidity = code == X509_V_ERR_CERT_HAS_EXPIRED || code == X509_V_ERR_CERT_NOT_YET_VALID
        return CertificateChainError(isOutsideValidity: isOutsideValidity, reason: reason)
    }
}

/// UTCTime and GeneralizedTime, the two formats of a moment in certificates and OCSP responses.
enum ASN1Time {
    /// Seconds since 1970 in UTC; nil if the value is not a time.
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        clearingErrors {
            guard let time, let epoch = ASN1_TIME_set(nil, 0) else { return nil }
            defer { ASN1_TIME_free(epoch) }
            var days: Int32 = 0
            var seconds: Int32 = 0
            guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
            return Int64(days) * 86_400 + Int64(seconds)
        }
    }
}
