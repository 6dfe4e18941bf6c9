import CTillOpenSSL
import TillCrypto

extension HandmadeCertificate {
    static var sha1: OpaquePointer? { EVP_sha1() }
    static var sha256: OpaquePointer? { EVP_sha256() }
}

/// A PKCS#7 container with freely chosen parts (facts/pkcs7-receipt §2), as DER.
struct HandmadeReceipt {
    /// The signed attributes, if any.
    enum Attributes {
        case none
        /// Correct contentType and messageDigest.
        case sound
        /// These attributes, each as DER.
        case these([[UInt8]])
    }

    var content: [UInt8]
    var signer: HandmadeCertificate
    /// The enclosed certificates, in order.
    var certificates: [[UInt8]]
    var digest = "sha256"
    var attributes = Attributes.none
    var contentType = "1.2.840.113549.1.7.1"
    /// True leaves the content out (detached).
    var isDetached = false
    var signatureAlgorithm = "1.2.840.113549.1.1.1"
    /// Parameters beside the signature's algorithm.
    var signatureParameters = DERWriter.null
    var isPSS = false
    /// Replaces the genuine signature.
    var signature: [UInt8]?
    /// The number of signer informations.
    var signerCount = 1
    /// Replaces the one digest that is used.
    var digestAlgorithms: [[UInt8]]?
    /// DER between the certificates and the signer informations: revocation lists.
    var revocation: [UInt8] = []
    /// DER after the signature: unsigned attributes.
    var unsignedAttributes: [UInt8] = []
    var type = "1.2.840.113549.1.7.2"
    var version: Int64 = 1

    static let digests = [
        "sha256": "2.16.840.1.101.3.4.2.1", "sha1": "1.3.14.3.2.26", "md5": "1.2.840.113549.2.5",
        "sha512": "2.16.840.1.101.3.4.2.3", "none": "1.2.3.4.5",
    ]

    static func algorithm(_ digest: String) -> [UInt8] {
        DERWriter.sequence(HandmadeDER.oid(digests[digest] ?? "1.2.3.4.5"), DERWriter.null)
    }

    private var openSSLDigest: OpaquePointer? {
        switch digest {
        case "sha1": EVP_sha1()
        case "md5": EVP_md5()
        case "sha512": EVP_sha512()
        default: EVP_sha256()
        }
    }

    func hash(_ bytes: [UInt8]) -> [UInt8] { (digest == "sha1" ? Digest.sha1 : Digest.sha256).hash(bytes) }

    /// `SEQUENCE { type, SET { values } }`
    static func attribute(_ type: String, _ values: [[UInt8]]) -> [UInt8] {
        DERWriter.sequence(HandmadeDER.oid(type), DERWriter.value(tag: 0x31, values.flatMap { $0 }))
    }

    static let contentTypeAttribute = "1.2.840.113549.1.9.3"
    static let messageDigestAttribute = "1.2.840.113549.1.9.4"

    var soundAttributes: [[UInt8]] {
        [
            Self.attribute(Self.contentTypeAttribute, [HandmadeDER.oid(contentType)]),
            Self.attribute(Self.messageDigestAttribute, [DERWriter.octetString(hash(content))]),
        ]
    }

    var signerInfo: [UInt8] {
        let list: [[UInt8]]?
        switch attributes {
        case .none: list = nil
        case .sound: list = soundAttributes
        case .these(let chosen): list = chosen
        }
        let flat = list?.flatMap { $0 }
        let signed = flat.map { DERWriter.value(tag: 0x31, $0) } ?? content
        let made = signature ?? signer.key.signature(signed, digest: openSSLDigest, isPSS: isPSS)
        return DERWriter.value(
            tag: 0x30,
            DERWriter.integer(1) + DERWriter.sequence(signer.issuerName, signer.serial) + Self.algorithm(digest)
                + (flat.map { DERWriter.value(tag: 0xA0, $0) } ?? [])
                + DERWriter.sequence(HandmadeDER.oid(signatureAlgorithm), signatureParameters)
                + DERWriter.octetString(made) + unsignedAttributes)
    }

    var der: [UInt8] {
        let inner = isDetached ? [] : DERWriter.value(tag: 0xA0, DERWriter.octetString(content))
        let signers =
            signerCount == 0 ? [] : (0..<signerCount).flatMap { [signerInfo = self.signerInfo] _ in signerInfo }
        let digests = digestAlgorithms ?? [Self.algorithm(digest)]
        var body = DERWriter.integer(version) + DERWriter.value(tag: 0x31, digests.flatMap { $0 })
        body += DERWriter.sequence(HandmadeDER.oid(contentType), inner)
        if !certificates.isEmpty { body += DERWriter.value(tag: 0xA0, certificates.flatMap { $0 }) }
        body += revocation + DERWriter.value(tag: 0x31, signers)
        let signedData = DERWriter.value(tag: 0x30, body)
        return DERWriter.sequence(HandmadeDER.oid(type), DERWriter.value(tag: 0xA0, signedData))
    }
}

/// The same ASN.1 with lengths of another kind.
enum Relengthened {
    /// Gives every constructed element down to `maximumDepth` an indefinite length.
    static func indefinite(_ bytes: [UInt8], maximumDepth: Int) -> [UInt8] {
        indefinite(bytes, in: 0..<bytes.count, depth: 0, maximumDepth)
    }

    private static func indefinite(_ bytes: [UInt8], in range: Range<Int>, depth: Int, _ limit: Int) -> [UInt8] {
        HandmadeDER.elements(of: bytes, in: range).flatMap { start, content -> [UInt8] in
            let tag = bytes[start]
            guard tag & 0x20 != 0, depth < limit else { return Array(bytes[start..<content.upperBound]) }
            return [tag, 0x80] + indefinite(bytes, in: content, depth: depth + 1, limit) + [0, 0]
        }
    }
}
