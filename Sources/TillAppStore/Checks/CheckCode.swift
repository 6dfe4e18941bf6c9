import TillBilling
import TillCrypto

/// One check of a proof, with a stable code. The cases are in the order of the checks, which is also the order of the
/// verdicts (facts/jws §2, facts/pkcs7-receipt §4).
public enum CheckCode: String, Sendable, CaseIterable {
    /// The outer format (compact JWS, PKCS#7, property-list text) and the maximum length.
    case parse
    /// The content is readable: JSON, receipt attributes, purchase info.
    case payload
    /// The proof is of the requested kind.
    case kind
    /// The fields that processing a purchase needs exist and have the right types. Only servers check this.
    case fields
    /// The tokens inside a notification are readable.
    case nestedFormat = "nested_format"
    /// The JWS header is JSON.
    case header
    /// The proof contains certificates; a receipt contains the one that its signer information names.
    case certificateList = "certificate_list"
    /// The algorithm is the one that Apple signs with.
    case algorithm
    /// The token contains exactly three certificates.
    case certificateCount = "certificate_count"
    /// A receipt's signed attributes match its content.
    case signedAttributes = "signed_attributes"
    /// The certificates are base64.
    case certificateEncoding = "certificate_encoding"
    /// The configured roots are readable.
    case roots
    /// The proof's certificates are readable.
    case certificates
    /// The certificates lead to a trusted root; an old-style receipt's certificate was issued by the pinned key.
    case chain
    /// Every certificate was valid at the date of verification.
    case validity
    /// The signer's certificate has Apple's marker for App Store proofs.
    case leafMarker = "leaf_marker"
    /// The intermediate has the marker of Apple's Worldwide Developer Relations.
    case intermediateMarker = "intermediate_marker"
    /// The chain is exactly leaf, intermediate, root.
    case chainLength = "chain_length"
    /// The signer's key signed this content.
    case signature
    case app
    /// The app's number in the App Store, which Apple states in production only.
    case appNumber = "app_number"
    case environment
    case device
    case nestedTransaction = "nested_transaction"
    case nestedRenewal = "nested_renewal"
    case nestedAppTransaction = "nested_app_transaction"

    /// The checks of a kind of proof, in order.
    public static func all(of kind: ProofInspection.Kind) -> [CheckCode] {
        let chain: [CheckCode] = [.chain, .validity, .leafMarker, .intermediateMarker, .chainLength, .signature]
        let token: [CheckCode] =
            [.header, .certificateList, .algorithm, .certificateCount, .certificateEncoding, .roots, .certificates]
            + chain
        switch kind {
        case .transaction: return [.parse, .payload, .kind, .fields] + token + [.app, .environment]
        case .renewal: return [.parse, .payload, .kind, .fields] + token + [.environment]
        case .appTransaction:
            return [.parse, .payload, .kind, .fields] + token + [.app, .appNumber, .environment]
        case .notification:
            return [.parse, .payload, .kind, .fields, .nestedFormat] + token + [.app, .appNumber, .environment]
                + [.nestedTransaction, .nestedRenewal, .nestedAppTransaction]
        case .receipt:
            return [.parse, .payload, .fields, .certificateList, .algorithm, .signedAttributes, .roots] + chain
                + [.app, .environment, .device]
        case .oldStyleReceipt: return [.parse, .payload, .certificates, .chain, .signature, .app, .environment]
        case .certificateChain:
            return [.certificateCount, .certificateEncoding, .roots, .certificates] + chain.dropLast()
        }
    }

    /// The subject of the check, for people.
    public var sentence: LocalizedText {
        switch self {
        case .parse: LocalizedText(en: "format", zh: "格式")
        case .payload: LocalizedText(en: "content can be read", zh: "内容可读")
        case .kind: LocalizedText(en: "expected kind of proof", zh: "凭证种类符合要求")
        case .fields: LocalizedText(en: "fields that processing needs", zh: "处理交易所需的字段")
        case .nestedFormat: LocalizedText(en: "format of the tokens inside", zh: "内含 JWS 的格式")
        case .header: LocalizedText(en: "header can be read", zh: "JWS 头可读")
        case .certificateList: LocalizedText(en: "certificates are present", zh: "附带证书")
        case .algorithm: LocalizedText(en: "algorithm is the one that Apple uses", zh: "算法与 Apple 所用一致")
        case .certificateCount: LocalizedText(en: "exactly three certificates", zh: "正好三张证书")
        case .signedAttributes: LocalizedText(en: "signed attributes match this content", zh: "签名属性与内容一致")
        case .certificateEncoding: LocalizedText(en: "certificates are base64", zh: "证书是 base64")
        case .roots: LocalizedText(en: "trusted roots can be read", zh: "受信任的根证书可读")
        case .certificates: LocalizedText(en: "certificates can be read", zh: "证书可读")
        case .chain: LocalizedText(en: "certificates lead to a trusted root", zh: "证书链以受信任的根证书为终点")
        case .validity: LocalizedText(en: "certificates were valid at that date", zh: "证书在该日期有效")
        case .leafMarker: LocalizedText(en: "signer's certificate carries Apple's marker", zh: "签名证书带有 Apple 的标记")
        case .intermediateMarker: LocalizedText(en: "intermediate carries Apple's marker", zh: "中间证书带有 Apple 的标记")
        case .chainLength: LocalizedText(en: "chain is signer, intermediate, root", zh: "证书链为签名者、中间、根三级")
        case .signature: LocalizedText(en: "signature", zh: "签名")
        case .app: LocalizedText(en: "app", zh: "App")
        case .appNumber: LocalizedText(en: "app's number in the App Store", zh: "App 在 App Store 的数字 ID")
        case .environment: LocalizedText(en: "environment", zh: "环境")
        case .device: LocalizedText(en: "device", zh: "设备")
        case .nestedTransaction: LocalizedText(en: "the transaction inside", zh: "内含的交易")
        case .nestedRenewal: LocalizedText(en: "the renewal info inside", zh: "内含的续订信息")
        case .nestedAppTransaction: LocalizedText(en: "the app transaction inside", zh: "内含的 App 交易")
        }
    }
}

extension CertificateRecord {
    init(_ certificate: Certificate, _ position: Position) {
        self.position = position
        subject = bounded(certificate.subject)
        issuer = bounded(certificate.issuer)
        serial = bounded(Self.serial(of: certificate.der) ?? "")
        sha256 = certificate.sha256
        notBefore = Instant(seconds: certificate.notBefore)
        notAfter = Instant(seconds: certificate.notAfter)
        key = certificate.publicKey.flatMap { Self.kind(ofKey: $0.der) } ?? "unknown"
        markers = [SigningChain.leafMarker, SigningChain.intermediateMarker].filter(certificate.hasExtension)
    }

    /// A complete chain: leaf first, a configured root last.
    static func chain(_ certificates: [Certificate]) -> [CertificateRecord] {
        certificates.enumerated().map { index, certificate in
            let isRoot = index == certificates.count - 1 && index > 0
            return CertificateRecord(certificate, index == 0 ? .leaf : isRoot ? .root : .intermediate)
        }
    }

    /// `Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version OPTIONAL, serialNumber INTEGER, …`
    /// (RFC 5280 §4.1).
    private static func serial(of der: [UInt8]) -> String? {
        guard let outer = try? ASN1Reader.single(der[...]) else { return nil }
        var certificate = ASN1Reader(outer.content)
        guard let signed = try? certificate.next() else { return nil }
        var fields = ASN1Reader(signed.content)
        guard var field = try? fields.next() else { return nil }
        if field.tag == 0xA0, let second = try? fields.next() { field = second }
        return field.tag == ASN1Reader.Tag.integer ? hexadecimal(field.content) : nil
    }

    /// The kind of key in a SubjectPublicKeyInfo (RFC 5280 §4.1.2.7, RFC 3279 §2.3).
    private static func kind(ofKey der: [UInt8]) -> String? {
        guard let outer = try? ASN1Reader.single(der[...]) else { return nil }
        var info = ASN1Reader(outer.content)
        guard let algorithm = try? info.next(ASN1Reader.Tag.sequence), let bits = try? info.next() else { return nil }
        var fields = ASN1Reader(algorithm.content)
        guard let identifier = try? fields.next() else { return nil }
        switch hexadecimal(identifier.content) {
        case "2a864886f70d010101": return "RSA \(modulusBits(of: bits.content.dropFirst()))"
        case "2a8648ce3d0201":
            let curve = (try? fields.next()).map { hexadecimal($0.content) }
            return switch curve {
            case "2a8648ce3d030107": "EC P-256"
            case "2b81040022": "EC P-384"
            case "2b81040023": "EC P-521"
            default: "EC"
            }
        case let other: return bounded(other)
        }
    }

    private static func modulusBits(of key: ArraySlice<UInt8>) -> Int {
        guard let outer = try? ASN1Reader.single(key) else { return 0 }
        var numbers = ASN1Reader(outer.content)
        guard let modulus = try? numbers.next(ASN1Reader.Tag.integer) else { return 0 }
        let digits = modulus.content.drop { $0 == 0 }
        return digits.count * 8 - (digits.first?.leadingZeroBitCount ?? 0)
    }
}
