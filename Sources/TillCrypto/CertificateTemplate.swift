/// What a certificate is to say, before an authority signs it.
public struct CertificateTemplate: Sendable, Hashable {
    /// Whether the subject may sign certificates, and how many authorities may stand below it.
    public enum Role: Sendable, Hashable {
        /// `pathLength` nil: no limit is written.
        case authority(pathLength: Int?)
        /// Signs documents only.
        case signer
        /// Answers for its issuer whether certificates are revoked (RFC 6960 §4.2.2.2).
        case responder
    }

    /// The subject's attributes in order; short names as OpenSSL knows them (`CN`, `OU`, `O`, `C`).
    public var subject: [(name: String, value: String)]
    /// Unsigned, most significant byte first, 1 to 20 bytes (RFC 5280 §4.1.2.2).
    public var serial: [UInt8]
    /// Seconds since 1970, the first and the last moment of validity.
    public var validity: ClosedRange<Int64>
    public var role: Role
    /// Dotted OIDs of extensions whose value is ASN.1 NULL: Apple marks its intermediates and its receipt signers so
    /// (facts/jws §2, step 6).
    public var markers: [String]
    /// Where this certificate may be asked about by OCSP (RFC 5280 §4.2.2.1).
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
