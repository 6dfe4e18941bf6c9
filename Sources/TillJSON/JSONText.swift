/// Decodes the values that the scanner locates.
package enum JSONText {
    /// Whether the whole text is well-formed UTF-8 (RFC 3629: shortest forms, no surrogates, nothing above 10FFFF).
    package static func isUTF8(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let bytes = text.baseAddress else { return true }
        var index = 0
        let count = text.count
        while index < count {
            // Thirty-two bytes at a time: tokens are kilobytes of ASCII.
            if count - index >= 32,
                (eight(bytes, at: index) | eight(bytes, at: index + 8) | eight(bytes, at: index + 16)
                    | eight(bytes, at: index + 24)) & highBits == 0
            {
                index += 32
                continue
            }
            if count - index >= 8 {
                let found = eight(bytes, at: index) & highBits
                index += found.trailingZeroBitCount >> 3
                if found == 0 { continue }
            }
            let first = bytes[index]
            if first < 0x80 {
                index += 1
                continue
            }
            let (length, low, high): (Int, UInt8, UInt8)
            switch first {
            case 0xC2...0xDF: (length, low, high) = (2, 0x80, 0xBF)
            case 0xE0: (length, low, high) = (3, 0xA0, 0xBF)
            case 0xED: (length, low, high) = (3, 0x80, 0x9F)
            case 0xE1...0xEF: (length, low, high) = (3, 0x80, 0xBF)
            case 0xF0: (length, low, high) = (4, 0x90, 0xBF)
            case 0xF1...0xF3: (length, low, high) = (4, 0x80, 0xBF)
            case 0xF4: (length, low, high) = (4, 0x80, 0x8F)
            default: return false
            }
            guard index + length <= count, low <= text[index + 1], text[index + 1] <= high else { return false }
            for offset in 2..<max(2, length) where text[index + offset] & 0xC0 != 0x80 { return false }
            index += length
        }
        return true
    }

    private static let highBits: UInt64 = 0x8080_8080_8080_8080
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// Eight bytes, the first one lowest.
    private static func eight(_ bytes: UnsafePointer<UInt8>, at index: Int) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(bytes + index).loadUnaligned(as: UInt64.self))
    }

    /// The first byte from `start` on that is a quote, a backslash, a control character or outside ASCII; `end` if
    /// there is none. It reads eight bytes at a time: Apple's tokens are long strings without such bytes.
    static func firstSpecial(_ bytes: UnsafePointer<UInt8>, from start: Int, to end: Int) -> Int {
        var index = start
        while end - index >= 8 {
            let word = eight(bytes, at: index)
            let (quotes, backslashes) = (word ^ (ones &* 0x22), word ^ (ones &* 0x5C))
            // Sets the high bit of each byte that is below 0x20, zero, or 0x80 and above. A borrow starts at such a
            // byte and can only mark bytes above it, so the lowest mark is right.
            let found = ((word &- ones &* 0x20) | (quotes &- ones) | (backslashes &- ones) | word) & highBits
            if found != 0 { return index + found.trailingZeroBitCount >> 3 }
            index += 8
        }
        while index < end, bytes[index] != 0x22, bytes[index] != 0x5C, bytes[index] &- 0x20 < 0x60 { index += 1 }
        return index
    }

    /// The string at a place that the scanner reported as a string.
    static func string(_ value: JSONScanner.Value, in text: UnsafeBufferPointer<UInt8>) -> String {
        let raw = UnsafeBufferPointer(rebasing: text[value.start..<value.end])
        return value.kind == .escapedString ? unescaped(raw) : String(decoding: raw, as: UTF8.self)
    }

    /// The number at a place that the scanner reported as an integer; nil if it exceeds 64 bits.
    static func int64(_ value: JSONScanner.Value, in text: UnsafeBufferPointer<UInt8>) -> Int64? {
        var cursor = value.start
        let isNegative = text[cursor] == UInt8(ascii: "-")
        if isNegative { cursor += 1 }
        var result: Int64 = 0
        while cursor < value.end {
            let digit = Int64(text[cursor] &- UInt8(ascii: "0"))
            let (tens, overflows) = result.multipliedReportingOverflow(by: 10)
            let (sum, carries) =
                isNegative
                ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
            if overflows || carries { return nil }
            result = sum
            cursor += 1
        }
        return result
    }

    /// The number at a place that the scanner reported as an integer or a fraction; nil if it is too large for a
    /// double.
    static func double(_ value: JSONScanner.Value, in text: UnsafeBufferPointer<UInt8>) -> Double? {
        let digits = String(decoding: UnsafeBufferPointer(rebasing: text[value.start..<value.end]), as: UTF8.self)
        return Double(digits).flatMap { $0.isFinite ? $0 : nil }
    }

    /// The greatest whole number not above this one; nil beyond 64 bits.
    package static func floor(_ number: Double) -> Int64? {
        guard number > -0x1p63, number < 0x1p63 else { return nil }
        // `rounded(.down)` needs the C library, which this module does not link.
        let whole = Int64(number)
        return Double(whole) > number ? whole - 1 : whole
    }

    private static func unescaped(_ raw: UnsafeBufferPointer<UInt8>) -> String {
        var units: [UInt8] = []
        units.reserveCapacity(raw.count)
        var index = 0
        while index < raw.count {
            let unit = raw[index]
            index += 1
            guard unit == UInt8(ascii: "\\") else {
                units.append(unit)
                continue
            }
            let escape = raw[index]
            index += 1
            switch escape {
            case UInt8(ascii: "b"): units.append(0x08)
            case UInt8(ascii: "f"): units.append(0x0C)
            case UInt8(ascii: "n"): units.append(0x0A)
            case UInt8(ascii: "r"): units.append(0x0D)
            case UInt8(ascii: "t"): units.append(0x09)
            case UInt8(ascii: "u"): units.append(contentsOf: scalar(raw, &index).utf8)
            default: units.append(escape)
            }
        }
        return String(decoding: units, as: UTF8.self)
    }

    /// The character of `\uXXXX`, or of two escapes that form a surrogate pair; half a pair decodes as U+FFFD.
    private static func scalar(_ raw: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> Character {
        let first = codeUnit(raw, index)
        index += 4
        if (0xD800..<0xDC00).contains(first), index + 6 <= raw.count, raw[index] == UInt8(ascii: "\\"),
            raw[index + 1] == UInt8(ascii: "u")
        {
            let second = codeUnit(raw, index + 2)
            if (0xDC00..<0xE000).contains(second) {
                index += 6
                let value = 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
                return Character(Unicode.Scalar(value) ?? "\u{FFFD}")
            }
        }
        return Character(Unicode.Scalar(first) ?? "\u{FFFD}")
    }

    private static func codeUnit(_ raw: UnsafeBufferPointer<UInt8>, _ start: Int) -> UInt32 {
        var value: UInt32 = 0
        for unit in raw[start..<start + 4] { value = value << 4 | (JSONScanner.nibble(unit) ?? 0) }
        return value
    }
}

/// Counts consecutive combining marks and allows at most thirty, the limit of Unicode's Stream-Safe Text Format (UAX
/// #15 §13).
///
/// Swift compares and hashes strings in canonical order, and sorts a run of marks in quadratic time: one key of 160 KB
/// took half a minute. Longer runs are therefore refused on input, before any comparison.
package struct CombiningMarkCounter {
    static let limit = 30

    private var length = 0

    /// False if this mark exceeds the limit.
    mutating func takes(_ scalar: Unicode.Scalar) -> Bool {
        length = Self.isMark(scalar) ? length + 1 : 0
        return length <= Self.limit
    }

    package static func isBounded(_ scalars: some Sequence<Unicode.Scalar>) -> Bool {
        var run = CombiningMarkCounter()
        return scalars.allSatisfy { run.takes($0) }
    }

    /// Marks by their combining class, and the three characters without one that decompose into two marks.
    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x300: false
        case 0xF73, 0xF75, 0xF81: true
        default: scalar.properties.canonicalCombiningClass != .notReordered
        }
    }

    /// Whether a byte of UTF-8 may begin a mark. No character from U+4000 to U+9FFF is one, so Chinese text is not
    /// checked.
    static func mayBegin(at unit: UInt8) -> Bool { unit >= 0xCC && !(0xE4...0xE9).contains(unit) }
}
