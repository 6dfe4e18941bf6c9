/// Percent-encoded text (RFC 3986 §2.1) and the `name=value&…` items of queries and forms made of it.
public enum PercentEncoding {
    /// Most items that are taken from one query or form.
    public static let itemLimit = 100

    public enum Fault: Error, Sendable, Hashable {
        /// A `%` without two hexadecimal digits.
        case badEscape
        /// Decoded bytes that are not UTF-8, that hold a NUL, or too many combining marks in a row.
        case badText
        /// More than the bound.
        case tooManyItems
    }

    /// Decodes one piece of text.
    /// - Parameter plusIsSpace: true in queries and forms, where `+` stands for a space.
    public static func decode(
        _ bytes: some Collection<UInt8>, plusIsSpace: Bool = false
    ) throws(Fault) -> String {
        guard bytes.contains(where: { $0 == percent || $0 == 0 || (plusIsSpace && $0 == plus) }) else {
            return try text(bytes)
        }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index != bytes.endIndex {
            var byte = bytes[index]
            bytes.formIndex(after: &index)
            if byte == percent {
                guard index != bytes.endIndex, let high = hexadecimal(bytes[index]) else { throw .badEscape }
                bytes.formIndex(after: &index)
                guard index != bytes.endIndex, let low = hexadecimal(bytes[index]) else { throw .badEscape }
                bytes.formIndex(after: &index)
                byte = high << 4 | low
            } else if plusIsSpace, byte == plus {
                byte = UInt8(ascii: " ")
            }
            if byte == 0 { throw .badText }
            decoded.append(byte)
        }
        return try text(decoded)
    }

    /// The items of a query or of an `application/x-www-form-urlencoded` body, in the order they came.
    ///
    /// An item without `=` has an empty value; empty items (`a=1&&b=2`) are skipped.
    public static func items(
        _ bytes: some Collection<UInt8>, limit: Int = itemLimit
    ) throws(Fault) -> [(name: String, value: String)] {
        var items: [(name: String, value: String)] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "&")) ?? rest.endIndex
            let item = rest[..<end]
            rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
            if item.isEmpty { continue }
            if items.count == limit { throw .tooManyItems }
            let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            let name = try decode(item[..<equals], plusIsSpace: true)
            let value = equals == item.endIndex ? "" : try decode(item[item.index(after: equals)...], plusIsSpace: true)
            items.append((name, value))
        }
        return items
    }

    private static let percent = UInt8(ascii: "%")
    private static let plus = UInt8(ascii: "+")

    private static func text(_ bytes: some Collection<UInt8>) throws(Fault) -> String {
        guard let text = String(validating: bytes, as: UTF8.self), isComparable(text) else { throw .badText }
        return text
    }

    /// Whether the text has at most thirty combining marks in a row, as Unicode's Stream-Safe Text Format has it
    /// (UAX #15 §13). Swift compares texts in canonical order, and puts longer runs into it in quadratic time.
    static func isComparable(_ text: String) -> Bool {
        guard text.utf8.contains(where: { $0 >= 0xCC }) else { return true }
        var run = 0
        for scalar in text.unicodeScalars {
            // Three are no marks themselves, but fall apart into two.
            let isMark =
                scalar.value >= 0x300
                && (scalar.properties.canonicalCombiningClass != .notReordered
                    || [0xF73, 0xF75, 0xF81].contains(scalar.value))
            run = isMark ? run + 1 : 0
            if run > 30 { return false }
        }
        return true
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
