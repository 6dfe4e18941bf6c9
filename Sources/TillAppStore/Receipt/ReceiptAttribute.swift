import TillBilling
import TillCrypto

/// One numbered attribute as it stands in a receipt or in one of its purchases (facts/pkcs7-receipt §3): what has a
/// name here and what has none.
public struct ReceiptAttribute: Equatable, Sendable {
    public let type: Int64
    /// 1 almost everywhere; 2 for App Store receipts' opaque value.
    public let version: Int64
    /// The octets inside the OCTET STRING, which for most types are DER again.
    public let value: ArraySlice<UInt8>

    /// The attribute as DER: `SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`.
    var der: [UInt8] {
        DERWriter.sequence(
            DERWriter.integer(type), DERWriter.integer(version), DERWriter.octetString(Array(value)))
    }

    /// Attributes as the DER of a set, in the order they have: an App Store receipt's is DER's own, Xcode sorts by
    /// type (facts/pkcs7-receipt §3).
    static func set(_ attributes: [ReceiptAttribute]) -> [UInt8] {
        DERWriter.value(tag: ASN1Reader.Tag.set, attributes.flatMap(\.der))
    }

    /// `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`, in any order.
    static func all(in set: ArraySlice<UInt8>) throws(ASN1Reader.Malformation) -> [ReceiptAttribute] {
        let outer = try ASN1Reader.single(set)
        guard outer.tag == ASN1Reader.Tag.set else { throw ASN1Reader.Malformation("no set of attributes") }
        var rest = ASN1Reader(outer.content)
        var attributes: [ReceiptAttribute] = []
        while !rest.isAtEnd {
            var fields = ASN1Reader(try rest.next(ASN1Reader.Tag.sequence).content)
            let type = try ASN1Reader.integer(fields.next())
            let version = try ASN1Reader.integer(fields.next())
            let value = try ASN1Reader.octets(fields.next())
            try fields.end()
            attributes.append(ReceiptAttribute(type: type, version: version, value: value))
        }
        return attributes
    }

    /// - Throws: if one of the types that only one may be of is there again.
    static func refuseRepeated(
        _ onlyOnce: Set<Int64>, in attributes: [ReceiptAttribute]
    ) throws(ASN1Reader.Malformation) {
        var seen: Set<Int64> = []
        for attribute in attributes where onlyOnce.contains(attribute.type) {
            guard seen.insert(attribute.type).inserted else {
                throw ASN1Reader.Malformation("attribute \(attribute.type) twice")
            }
        }
    }

    // MARK: - What the octets hold. An attribute without octets has no value.

    func text() throws(ASN1Reader.Malformation) -> String? {
        value.isEmpty ? nil : try ASN1Reader.text(ASN1Reader.single(value))
    }

    func integer() throws(ASN1Reader.Malformation) -> Int64? {
        value.isEmpty ? nil : try ASN1Reader.integer(ASN1Reader.single(value))
    }

    /// RFC 3339; Xcode writes offsets like `+0300`. An empty text is no date.
    func date() throws(ASN1Reader.Malformation) -> Instant? {
        guard let text = try text(), !text.isEmpty else { return nil }
        guard let instant = Instant(rfc3339: text) else { throw ASN1Reader.Malformation("no date") }
        return instant
    }
}
