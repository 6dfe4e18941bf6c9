import TillBilling
import TillCrypto

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

    /// A chain as it was built: leaf first, a configured root last.
    static func chain(_ certificates: [Certificate]) -> [CertificateRecord] {
        certificates.enumerated().map { index, certificate in
            let isRoot = index == certificates.count - 1 && index > 0
            return CertificateRecord(certificate, index == 0 ? .leaf : isRoot ? .root : .intermediate)
        }
    }

    /// `Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version OPTIONAL, serialNumber INTEGER, …` (RFC 5280
    /// §4.1).
    private static func serial(of der: [UInt8]) -> String? {
        guard let outer = try? ASN1Reader.single(der[...]) else { return nil }
        var certificate = ASN1Reader(outer.content)
        guard let signed = try? certificate.next() else { return nil }
        var fields = ASN1Reader(signed.content)
        guard var field = try? fields.next() else { return nil }
        if field.tag == 0xA0, let second = try? fields.next() { field = second }
        return field.tag == ASN1Reader.Tag.integer ? hexadecimal(field.content) : nil
    }

    /// What kind of key a SubjectPublicKeyInfo holds (RFC 5280 §4.1.2.7, RFC 3279 §2.3).
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
