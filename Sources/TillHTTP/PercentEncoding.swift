#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Percent-encoded text (RFC 3986 §2.1), and the `name=value&…` items of queries and forms.
public enum PercentEncoding {
    /// The maximum of items in one query or form.
    public static let itemLimit = 100

    /// Decodes one piece of text.
    ///
    /// - Parameter plusIsSpace: true in queries and forms, where `+` stands for a space.
    public static func decode(
        _ bytes: some Collection<UInt8>, plusIsSpace: Bool = false
    ) throws(HTTPRequestError) -> String {
        try withBytes(bytes) { bytes throws(HTTPRequestError) in try decode(bytes, plusIsSpace: plusIsSpace) }
    }

    /// The items of a query or of an `application/x-www-form-urlencoded` body, in order.
    ///
    /// An item without `=` has an empty value; empty items (`a=1&&b=2`) are skipped.
    public static func items(
        _ bytes: some Collection<UInt8>, limit: Int = itemLimit
    ) throws(HTTPRequestError) -> [(name: String, value: String)] {
        try withBytes(bytes) { bytes throws(HTTPRequestError) in try items(bytes, limit: limit) }
    }

    /// The raw, undecoded value of the first item with exactly this name. One pass over the bytes, so that a form's
    /// credential can be checked before the rest is parsed.
    public static func rawValue(of name: StaticString, in bytes: [UInt8]) -> [UInt8]? {
        bytes.withUnsafeBufferPointer { bytes in
            let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            var start = 0
            while start < bytes.count {
                let end = index(of: ampersand, in: bytes, from: start)
                let equals = start + name.count
                if equals < end, bytes[equals] == UInt8(ascii: "="),
                    UnsafeBufferPointer(rebasing: bytes[start..<equals]).elementsEqual(name)
                {
                    return Array(bytes[(equals + 1)..<end])
                }
                start = end + 1
            }
            return nil
        }
    }

    /// Works on bare bytes: a generic collection costs a hundred times as much per byte, several seconds for a body of
    /// eight megabytes.
    private static func withBytes<Result>(
        _ bytes: some Collection<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) throws(HTTPRequestError) -> Result
    ) throws(HTTPRequestError) -> Result {
        let result = bytes.withContiguousStorageIfAvailable { bytes in
            Swift.Result { () throws(HTTPRequestError) in try body(bytes) }
        }
        if let result { return try result.get() }
        return try Array(bytes).withUnsafeBufferPointer { bytes throws(HTTPRequestError) in try body(bytes) }
    }

    private static func decode(_ bytes: UnsafeBufferPointer<UInt8>, plusIsSpace: Bool) throws(HTTPRequestError)
        -> String
    {
        guard bytes.contains(where: { $0 == percent || $0 == 0 || (plusIsSpace && $0 == plus) }) else {
            return try text(bytes)
        }
        var error: HTTPRequestError?
        let decoded = [UInt8](unsafeUninitializedCapacity: bytes.count) { output, count in
            var index = 0
            while index < bytes.count {
                var byte = bytes[index]
                index += 1
                if byte == percent {
                    guard index + 1 < bytes.count, let high = hexadecimal(bytes[index]),
                        let low = hexadecimal(bytes[index + 1])
                    else { return error = .badEscape }
                    index += 2
                    byte = high << 4 | low
                } else if plusIsSpace, byte == plus {
                    byte = UInt8(ascii: " ")
                }
                if byte == 0 { return error = .badTargetText }
                output[count] = byte
                count += 1
            }
        }
        if let error { throw error }
        return try decoded.withUnsafeBufferPointer { bytes throws(HTTPRequestError) in try text(bytes) }
    }

    private static func items(
        _ bytes: UnsafeBufferPointer<UInt8>, limit: Int
    ) throws(HTTPRequestError) -> [(name: String, value: String)] {
        var items: [(name: String, value: String)] = []
        var start = 0
        while start < bytes.count {
            let end = index(of: ampersand, in: bytes, from: start)
            let item = UnsafeBufferPointer(rebasing: bytes[start..<end])
            start = end + 1
            if item.isEmpty { continue }
            if items.count == limit { throw .tooManyQueryItems }
            let equals = index(of: UInt8(ascii: "="), in: item, from: 0)
            let name = try decode(UnsafeBufferPointer(rebasing: item[..<equals]), plusIsSpace: true)
            let value = UnsafeBufferPointer(rebasing: item[min(equals + 1, item.count)...])
            items.append((name, value.isEmpty ? "" : try decode(value, plusIsSpace: true)))
        }
        return items
    }

    private static let percent = UInt8(ascii: "%")
    private static let plus = UInt8(ascii: "+")
    private static let ampersand = UInt8(ascii: "&")

    /// The next index of the byte, or the end.
    private static func index(of byte: UInt8, in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        guard let base = bytes.baseAddress, start < bytes.count,
            let found = memchr(base + start, Int32(byte), bytes.count - start)
        else { return bytes.count }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(HTTPRequestError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self), isComparable(text) else { throw .badTargetText }
        return text
    }

    /// Whether the text has at most thirty combining marks in a row, the limit of Unicode's Stream-Safe Text Format
    /// (UAX #15 §13). Swift compares strings in canonical order, and sorts longer runs in quadratic time.
    static func isComparable(_ text: String) -> Bool {
        // No character from U+4000 to U+9FFF is a mark, so Chinese text is not checked.
        guard text.utf8.contains(where: { $0 >= 0xCC && !(0xE4...0xE9).contains($0) }) else { return true }
        var run = 0
        for scalar in text.unicodeScalars {
            // Three characters are not marks themselves, but decompose into two.
            let isMark =
                scalar.value >= 0x300
                && (scalar.properties.canonicalCombiningClass != .notReordered
                    || [0xF73, 0xF75, 0xF81].contains(scalar.value))
            run = isMark ? run + 1 : 0
            if run > 30 { return false }
        }
        return true
    }

    static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
