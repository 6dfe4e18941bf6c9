import CTillOpenSSL

/// A private key with its certificate and the certificates above it up to the root. It signs documents, and, if its
/// certificate is an authority's, certificates.
public final class SigningIdentity: @unchecked Sendable {
    // The X509 is only read after `init`, so threads may share it.

    public let key: PrivateKey
    /// DER certificates: this identity's own first, the self-signed root last.
    public let chain: [[UInt8]]
    let x509: OpaquePointer

    private init(key: PrivateKey, owning x509: OpaquePointer, chain: [[UInt8]]) {
        self.key = key
        self.x509 = x509
        self.chain = chain
    }

    deinit { X509_free(x509) }

    /// An identity from a stored key and stored certificates; the identity's own certificate comes first.
    public convenience init(key: PrivateKey, chain: [[UInt8]]) throws(SigningError) {
        guard let own = chain.first else { throw SigningError("an identity needs a certificate") }
        let x509 = own.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return d2i_X509(nil, &position, buffer.count)
        }
        guard let x509 else { throw .openSSL("d2i_X509") }
        guard X509_check_private_key(x509, key.pointer) == 1 else {
            X509_free(x509)
            ERR_clear_error()
            throw SigningError("the certificate belongs to another key")
        }
        self.init(key: key, owning: x509, chain: chain)
    }

    /// A root, whose certificate is signed with its own key.
    public static func root(_ template: CertificateTemplate, key: PrivateKey) throws(SigningError) -> SigningIdentity {
        let x509 = try certificate(template, subjectKey: key, issuer: nil)
        return SigningIdentity(key: key, owning: x509, chain: [try der(of: x509)])
    }

    /// Issues a certificate for `key`, signed by this identity. It does not check that this identity is an authority:
    /// tests build invalid chains with it.
    public func issue(_ template: CertificateTemplate, key: PrivateKey) throws(SigningError) -> SigningIdentity {
        let x509 = try Self.certificate(template, subjectKey: key, issuer: self)
        return SigningIdentity(key: key, owning: x509, chain: [try Self.der(of: x509)] + chain)
    }

    private static func der(of x509: OpaquePointer) throws(SigningError) -> [UInt8] {
        try encoded("i2d_X509") { i2d_X509(x509, $0) }
    }

    private static func certificate(
        _ template: CertificateTemplate, subjectKey: PrivateKey, issuer: SigningIdentity?
    ) throws(SigningError) -> OpaquePointer {
        guard let x509 = X509_new() else { throw .openSSL("X509_new") }
        do throws(SigningError) {
            try fill(x509, template, subjectKey: subjectKey, issuer: issuer)
            let signer = issuer?.key ?? subjectKey
            // Apple signs with SHA-384 if the signing key is P-384, else with SHA-256 (facts/jws §3, pkcs7-receipt §5).
            let digest = signer.kind == .p384 ? EVP_sha384() : EVP_sha256()
            guard X509_sign(x509, signer.pointer, digest) > 0 else { throw .openSSL("X509_sign") }
            return x509
        } catch {
            X509_free(x509)
            throw error
        }
    }

    private static func fill(
        _ x509: OpaquePointer, _ template: CertificateTemplate, subjectKey: PrivateKey, issuer: SigningIdentity?
    ) throws(SigningError) {
        guard (1...20).contains(template.serial.count), template.serial.contains(where: { $0 != 0 }) else {
            throw SigningError("a serial number is 1 to 20 bytes and not zero")
        }
        guard let serial = BN_bin2bn(template.serial, CInt(template.serial.count), nil) else {
            throw .openSSL("BN_bin2bn")
        }
        defer { BN_free(serial) }
        guard let name = X509_NAME_new() else { throw .openSSL("X509_NAME_new") }
        defer { X509_NAME_free(name) }
        for attribute in template.subject {
            let value = Array(attribute.value.utf8)
            let added = X509_NAME_add_entry_by_txt(name, attribute.name, MBSTRING_UTF8, value, CInt(value.count), -1, 0)
            guard added == 1 else { throw .openSSL("subject \(attribute.name)") }
        }
        let issuerName = issuer.map { X509_get_subject_name($0.x509) } ?? name
        guard X509_set_version(x509, 2) == 1,
            BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(x509)) != nil,
            X509_set_subject_name(x509, name) == 1, X509_set_issuer_name(x509, issuerName) == 1,
            ASN1_TIME_set(X509_getm_notBefore(x509), time_t(template.validity.lowerBound)) != nil,
            ASN1_TIME_set(X509_getm_notAfter(x509), time_t(template.validity.upperBound)) != nil,
            X509_set_pubkey(x509, subjectKey.pointer) == 1
        else { throw .openSSL("certificate fields") }
        try addExtensions(x509, template, issuer: issuer)
    }

    private static func addExtensions(
        _ x509: OpaquePointer, _ template: CertificateTemplate, issuer: SigningIdentity?
    ) throws(SigningError) {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer?.x509 ?? x509, x509, nil, nil, 0)
        var wanted: [(nid: CInt, value: String)] = []
        switch template.role {
        case .authority(let pathLength):
            let limit = pathLength.map { ",pathlen:\($0)" } ?? ""
            wanted.append((NID_basic_constraints, "critical,CA:TRUE\(limit)"))
            wanted.append((NID_key_usage, "critical,keyCertSign,cRLSign"))
        case .signer, .responder:
            wanted.append((NID_basic_constraints, "critical,CA:FALSE"))
            wanted.append((NID_key_usage, "critical,digitalSignature"))
        }
        if template.role == .responder { wanted.append((NID_ext_key_usage, "OCSPSigning")) }
        if let url = template.ocspURL {
            // The value is in OpenSSL's configuration language, where these two characters are syntax.
            guard !url.contains(where: { $0 == "," || $0 == ";" }) else { throw SigningError("OCSP URL \(url)") }
            wanted.append((NID_info_access, "OCSP;URI:\(url)"))
        }
        wanted.append((NID_subject_key_identifier, "hash"))
        if issuer != nil { wanted.append((NID_authority_key_identifier, "keyid:always")) }
        for (nid, value) in wanted {
            guard let made = X509V3_EXT_conf_nid(nil, &context, nid, value) else {
                throw .openSSL("extension \(value)")
            }
            defer { X509_EXTENSION_free(made) }
            guard X509_add_ext(x509, made, -1) == 1 else { throw .openSSL("X509_add_ext") }
        }
        for marker in template.markers { try addMarker(x509, marker) }
    }

    private static func addMarker(_ x509: OpaquePointer, _ oid: String) throws(SigningError) {
        guard let object = OBJ_txt2obj(oid, 1) else { throw .openSSL("OID \(oid)") }
        defer { ASN1_OBJECT_free(object) }
        guard let value = ASN1_OCTET_STRING_new() else { throw .openSSL("ASN1_OCTET_STRING_new") }
        defer { ASN1_OCTET_STRING_free(value) }
        let null: [UInt8] = [0x05, 0x00]
        guard ASN1_OCTET_STRING_set(value, null, CInt(null.count)) == 1,
            let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, value)
        else { throw .openSSL("marker \(oid)") }
        defer { X509_EXTENSION_free(made) }
        guard X509_add_ext(x509, made, -1) == 1 else { throw .openSSL("X509_add_ext") }
    }
}

/// The contents of a certificate that an authority will sign.
public struct CertificateTemplate: Sendable, Hashable {
    /// Whether the subject may sign certificates, and how many authorities may stand below it.
    public enum Role: Sendable, Hashable {
        /// With a nil `pathLength`, the certificate states no limit.
        case authority(pathLength: Int?)
        /// Signs documents only.
        case signer
        /// Answers OCSP requests on behalf of its issuer (RFC 6960 §4.2.2.2).
        case responder
    }

    /// The subject's attributes in order, by OpenSSL's short names (`CN`, `OU`, `O`, `C`).
    public var subject: [(name: String, value: String)]
    /// Unsigned, most significant byte first, 1 to 20 bytes (RFC 5280 §4.1.2.2).
    public var serial: [UInt8]
    /// The first and the last moment of validity, in seconds since 1970.
    public var validity: ClosedRange<Int64>
    public var role: Role
    /// Dotted OIDs of extensions whose value is ASN.1 NULL, with which Apple marks its intermediates and receipt
    /// signers (facts/jws §2, step 6).
    public var markers: [String]
    /// The OCSP responder for this certificate (RFC 5280 §4.2.2.1).
    public var ocspURL: String?

    public init(
        subject: [(name: String, value: String)], serial: [UInt8], validity: ClosedRange<Int64>, role: Role,
        markers: [String] = [], ocspURL: String? = nil
    ) {
        self.subject = subject
        self.serial = serial
        self.validity = validity
        self.role = role
        self.markers = markers
        self.ocspURL = ocspURL
    }

    public static func == (left: CertificateTemplate, right: CertificateTemplate) -> Bool {
        left.subject.elementsEqual(right.subject) { $0 == $1 } && left.serial == right.serial
            && left.validity == right.validity && left.role == right.role && left.markers == right.markers
            && left.ocspURL == right.ocspURL
    }

    public func hash(into hasher: inout Hasher) {
        for attribute in subject {
            hasher.combine(attribute.name)
            hasher.combine(attribute.value)
        }
        hasher.combine(serial)
        hasher.combine(validity)
        hasher.combine(role)
        hasher.combine(markers)
        hasher.combine(ocspURL)
    }
}
