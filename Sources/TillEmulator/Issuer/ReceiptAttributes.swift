import TillCrypto

/// A SET of receipt attributes as DER (facts/pkcs7-receipt §3), named as their reader names them. A heavy buyer's
/// receipt has half a million of them, so what is the same in every purchase is written once, and nothing is compared
/// byte by byte that need not be.
struct ReceiptAttributes<Name: RawRepresentable<Int64>> {
    /// One attribute, written.
    private struct Element {
        let type: Int64
        let bytes: [UInt8]

        init(_ type: Int64, version: Int64 = 1, _ value: [UInt8]) {
            self.type = type
            bytes = DERWriter.sequence(
                DERWriter.integer(type), DERWriter.integer(version), DERWriter.octetString(value))
        }
    }

    private var elements: [Element] = []

    mutating func add(_ name: Name, version: Int64 = 1, _ value: [UInt8]) {
        elements.append(Element(name.rawValue, version: version, value))
    }

    mutating func add(number: Int64, _ value: [UInt8]) { elements.append(Element(number, value)) }

    /// In DER's order, which is that of the encodings: they begin with their length, then comes the type, in as many
    /// bytes as the other types of the set (X.690 §11.6).
    func encoded() -> [UInt8] {
        let sorted = elements.sorted { left, right in
            if left.bytes.count != right.bytes.count { return left.bytes.count < right.bytes.count }
            if left.type != right.type { return left.type < right.type }
            return left.bytes.lexicographicallyPrecedes(right.bytes)
        }
        var content: [UInt8] = []
        content.reserveCapacity(sorted.reduce(0) { $0 + $1.bytes.count })
        for element in sorted { content += element.bytes }
        return DERWriter.value(tag: 0x31, content)
    }
}
