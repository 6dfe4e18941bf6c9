/// Writes the DER types that receipts and signed messages consist of (ITU-T X.690).
public enum DERWriter {
    /// One value with its tag and definite length.
    public static func value(tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    public static func sequence(_ parts: [UInt8]...) -> [UInt8] { value(tag: 0x30, parts.flatMap { $0 }) }

    /// SET OF in DER's order: sorted by encoding, so shorter elements come first (X.690 §11.6).
    public static func setOf(_ elements: [[UInt8]]) -> [UInt8] {
        let sorted = elements.sorted { $0.lexicographicallyPrecedes($1) }
        var content: [UInt8] = []
        content.reserveCapacity(sorted.reduce(0) { $0 + $1.count })
        for element in sorted { content += element }
        return value(tag: 0x31, content)
    }

    /// INTEGER in the fewest bytes.
    public static func integer(_ number: Int64) -> [UInt8] {
        var bytes = withUnsafeBytes(of: number.bigEndian) { Array($0) }
        while bytes.count > 1, (bytes[0] == 0 && bytes[1] < 0x80) || (bytes[0] == 0xFF && bytes[1] >= 0x80) {
            bytes.removeFirst()
        }
        return value(tag: 0x02, bytes)
    }

    public static func octetString(_ content: [UInt8]) -> [UInt8] { value(tag: 0x04, content) }
    public static func utf8String(_ text: String) -> [UInt8] { value(tag: 0x0C, Array(text.utf8)) }
    /// The text must be ASCII.
    public static func ia5String(_ text: String) -> [UInt8] { value(tag: 0x16, Array(text.utf8)) }
    public static let null: [UInt8] = [0x05, 0x00]

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        var bytes: [UInt8] = []
        var rest = count
        while rest > 0 {
            bytes.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}
