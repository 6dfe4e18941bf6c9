import TillCrypto

/// A certificate with octets chosen by the tests, and its key. Its plausibility is not checked.
struct HandmadeCertificate: Sendable {
    /// The content of a certificate before it is signed.
    struct Template: Sendable {
        var name: [(type: String, value: String)]
        var serial: [UInt8] = [0x11]
        /// UTCTime or GeneralizedTime, depending on the length.
        var notBefore = "240101000000Z"
        var notAfter = "260101000000Z"
        /// Nil leaves basicConstraints out.
        var isCA: Bool? = false
        var pathLength: Int64?
        var markers: [String] = []
        /// subjectKeyIdentifier.
        var keyID: [UInt8]?
        /// DER of further extensions.
        var extensions: [[UInt8]] = []
        var version: Int64 = 2

        init(_ commonName: String, organization: String? = nil, unit: String? = nil, markers: [String] = []) {
            name = [("2.5.4.6", "US")]
            if let organization { name.append(("2.5.4.10", organization)) }
            if let unit { name.append(("2.5.4.11", unit)) }
            name.append(("2.5.4.3", commonName))
            self.markers = markers
        }
    }

    static let leafMarker = "1.2.840.113635.100.6.11.1"
    static let intermediateMarker = "1.2.840.113635.100.6.2.1"

    let template: Template
    let key: SeededKey
    let der: [UInt8]
    /// DER Name of the issuer and DER INTEGER of the serial number: CMS identifies a certificate by these.
    let issuerName: [UInt8]
    var serial: [UInt8] { DERWriter.value(tag: 0x02, template.serial) }
    var name: [UInt8] { Self.name(template.name) }

    /// - Parameters:
    ///   - issuer: nil signs it with its own key.
    ///   - sha1: the old receipts' digest instead of SHA-256.
    ///   - issuerName: a false name of the issuer.
    init(
        _ template: Template, key: SeededKey, issuer: HandmadeCertificate? = nil, sha1: Bool = false,
        issuerName: [UInt8]? = nil
    ) {
        self.template = template
        self.key = key
        self.issuerName = issuerName ?? issuer?.name ?? Self.name(template.name)
        let signer = issuer?.key ?? key
        let algorithm =
            signer.kind == .rsa
            ? DERWriter.sequence(
                HandmadeDER.oid(sha1 ? "1.2.840.113549.1.1.5" : "1.2.840.113549.1.1.11"), DERWriter.null)
            : DERWriter.sequence(HandmadeDER.oid("1.2.840.10045.4.3.2"))
        let validity = DERWriter.sequence(Self.time(template.notBefore), Self.time(template.notAfter))
        let body = DERWriter.sequence(
            DERWriter.value(tag: 0xA0, DERWriter.integer(template.version)),
            DERWriter.value(tag: 0x02, template.serial), algorithm, self.issuerName, validity,
            Self.name(template.name), key.publicKey,
            DERWriter.value(tag: 0xA3, DERWriter.value(tag: 0x30, Self.extensions(template).flatMap { $0 })))
        let signature = signer.signature(body, digest: sha1 ? Self.sha1 : Self.sha256)
        der = DERWriter.sequence(body, algorithm, HandmadeDER.bitString(signature))
    }

    private static func name(_ parts: [(type: String, value: String)]) -> [UInt8] {
        DERWriter.value(
            tag: 0x30,
            parts.flatMap { part in
                DERWriter.setOf([DERWriter.sequence(HandmadeDER.oid(part.type), DERWriter.utf8String(part.value))])
            })
    }

    private static func time(_ text: String) -> [UInt8] {
        DERWriter.value(tag: text.utf8.count == 13 ? 0x17 : 0x18, Array(text.utf8))
    }

    private static func extensions(_ template: Template) -> [[UInt8]] {
        var all: [[UInt8]] = []
        if let isCA = template.isCA {
            let limit = template.pathLength.map(DERWriter.integer) ?? []
            let value = DERWriter.value(tag: 0x30, (isCA ? HandmadeDER.boolean(true) : []) + limit)
            all.append(added("2.5.29.19", value, isCritical: true))
            // keyCertSign and cRLSign, or digitalSignature.
            let usage: [UInt8] = isCA ? [0x03, 0x02, 0x01, 0x06] : [0x03, 0x02, 0x07, 0x80]
            all.append(added("2.5.29.15", usage, isCritical: true))
        }
        if let keyID = template.keyID { all.append(added("2.5.29.14", DERWriter.octetString(keyID))) }
        for marker in template.markers { all.append(added(marker, DERWriter.null)) }
        return all + template.extensions
    }

    static func added(_ oid: String, _ value: [UInt8], isCritical: Bool = false) -> [UInt8] {
        let flag = isCritical ? HandmadeDER.boolean(true) : []
        return DERWriter.value(tag: 0x30, HandmadeDER.oid(oid) + flag + DERWriter.octetString(value))
    }
}
