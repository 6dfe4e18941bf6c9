import TillJSON

/// Reads consecutive ASN.1 elements from a bounded byte slice, in the subset that receipts use: one-byte tags, definite
/// lengths, and the indefinite lengths of some Xcode receipts (facts/pkcs7-receipt §2). An element that claims more
/// bytes than exist is refused; no memory is allocated by a claimed length.
struct ASN1Reader {
    static func malformed(_ reason: String) -> VerificationError {
        VerificationError(.malformed, "receipt: \(reason)", zh: "收据内容无法解析")
    }

    struct Element {
        let tag: UInt8
        /// Without tag, length and end marker.
        let content: ArraySlice<UInt8>

        var isConstructed: Bool { tag & 0x20 != 0 }
    }

    enum Tag {
        static let integer: UInt8 = 0x02
        static let octetString: UInt8 = 0x04
        static let constructedOctetString: UInt8 = 0x24
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
        static let utf8String: UInt8 = 0x0C
        static let printableString: UInt8 = 0x13
        static let ia5String: UInt8 = 0x16
        static let visibleString: UInt8 = 0x1A
    }

    /// The maximum nesting of indefinite lengths or string segments; receipts have two.
    private static let depthLimit = 8

    /// All bytes, and where the next element begins. Dropping bytes of a slice one by one would count a reference for
    /// each, and a long receipt has half a million elements.
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    var isAtEnd: Bool { position == bytes.endIndex }

    private mutating func byte() -> UInt8? {
        guard position < bytes.endIndex else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads the next element and advances past it.
    mutating func next() throws(VerificationError) -> Element { try next(depth: 0) }

    /// Reads the next element, which must have this tag.
    mutating func next(_ tag: UInt8) throws(VerificationError) -> Element {
        let element = try next()
        guard element.tag == tag else { throw Self.malformed("tag \(element.tag) instead of \(tag)") }
        return element
    }

    func end() throws(VerificationError) {
        guard isAtEnd else { throw Self.malformed("trailing bytes") }
    }

    private mutating func next(depth: Int) throws(VerificationError) -> Element {
        guard let tag = byte(), let first = byte() else { throw Self.malformed("truncated") }
        guard tag & 0x1F != 0x1F else { throw Self.malformed("long tag") }
        if first == 0x80 { return try indefinite(tag, depth: depth) }
        var length = Int(first)
        if first > 0x80 {
            length = 0
            // Four bytes exceed what the largest receipt needs; BER allows leading zeros.
            for _ in 0..<Int(first & 0x7F) {
                guard let byte = byte(), length <= 0x7F_FFFF else { throw Self.malformed("length") }
                length = length << 8 | Int(byte)
            }
        }
        guard length <= bytes.endIndex - position else { throw Self.malformed("truncated") }
        let start = position
        position += length
        return Element(tag: tag, content: bytes[start..<position])
    }

    /// Reads an element of indefinite length, which ends with two zero bytes.
    private mutating func indefinite(_ tag: UInt8, depth: Int) throws(VerificationError) -> Element {
        guard tag & 0x20 != 0, depth < Self.depthLimit else { throw Self.malformed("indefinite length") }
        let start = position
        while true {
            if bytes[position...].prefix(2).elementsEqual([0, 0]) {
                let content = bytes[start..<position]
                position += 2
                return Element(tag: tag, content: content)
            }
            _ = try next(depth: depth + 1)
        }
    }

    // MARK: - Values

    /// The only element of `bytes`.
    static func single(_ bytes: ArraySlice<UInt8>) throws(VerificationError) -> Element {
        var reader = ASN1Reader(bytes)
        let element = try reader.next()
        try reader.end()
        return element
    }

    /// The octets of an OCTET STRING, joined if it is segmented.
    static func octets(_ element: Element, depth: Int = 0) throws(VerificationError) -> ArraySlice<UInt8> {
        if element.tag == Tag.octetString { return element.content }
        guard element.tag == Tag.constructedOctetString, depth < depthLimit else {
            throw Self.malformed("no octet string")
        }
        var reader = ASN1Reader(element.content)
        var octets: [UInt8] = []
        while !reader.isAtEnd { octets += try Self.octets(reader.next(), depth: depth + 1) }
        return octets[...]
    }

    /// A signed INTEGER of at most 64 bits.
    static func integer(_ element: Element) throws(VerificationError) -> Int64 {
        guard element.tag == Tag.integer, (1...8).contains(element.content.count) else {
            throw Self.malformed("no 64-bit integer")
        }
        let isNegative = (element.content.first ?? 0) & 0x80 != 0
        return element.content.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }

    /// A text of any type that receipts use.
    static func text(_ element: Element) throws(VerificationError) -> String {
        switch element.tag {
        case Tag.utf8String, Tag.ia5String, Tag.printableString, Tag.visibleString:
            guard element.content.withUnsafeBufferPointer(JSONText.isUTF8) else { throw Self.malformed("text") }
            let text = String(decoding: element.content, as: UTF8.self)
            guard CombiningMarkCounter.isBounded(text.unicodeScalars) else { throw Self.malformed("text") }
            return text
        default: throw Self.malformed("no text")
        }
    }
}
