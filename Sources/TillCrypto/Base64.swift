/// Base64 of RFC 4648, decoded strictly: no white space, no characters of the other alphabet, padding exactly
/// where the alphabet wants it, and no stray bits in the last character. Two texts never mean the same bytes, so
/// a signature's text cannot be varied without breaking it.
public enum Base64 {
    /// Section 4's alphabet (`+`, `/`) with padding, or section 5's (`-`, `_`) without any, as JOSE writes it.
    public enum Alphabet: Sendable {
        case standard
        case url
    }

    /// The bytes, or nil if the text is not exactly what `alphabet` writes for them.
    public static func decode(_ text: some Collection<UInt8>, _ alphabet: Alphabet = .standard) -> [UInt8]? {
        if let decoded = text.withContiguousStorageIfAvailable({ decode($0, alphabet) }) { return decoded }
        return Array(text).withUnsafeBufferPointer { decode($0, alphabet) }
    }

    /// The bytes, or nil if the text is not exactly what `alphabet` writes for them.
    public static func decode(_ text: some StringProtocol, _ alphabet: Alphabet = .standard) -> [UInt8]? {
        decode(text.utf8, alphabet)
    }

    public static func encode(_ bytes: some Collection<UInt8>, _ alphabet: Alphabet = .standard) -> String {
        let bytes = Array(bytes)
        let digits = alphabet == .standard ? standardDigits : urlDigits
        let whole = bytes.count / 3
        let rest = bytes.count - whole * 3
        let length = whole * 4 + (rest == 0 ? 0 : alphabet == .standard ? 4 : rest + 1)
        return String(unsafeUninitializedCapacity: length) { output in
            var target = 0
            func put(_ value: UInt32, _ shift: UInt32) {
                output[target] = digits[Int(value >> shift & 0x3F)]
                target += 1
            }
            for group in 0..<whole {
                let at = group * 3
                let value = UInt32(bytes[at]) << 16 | UInt32(bytes[at + 1]) << 8 | UInt32(bytes[at + 2])
                put(value, 18)
                put(value, 12)
                put(value, 6)
                put(value, 0)
            }
            if rest > 0 {
                let first = UInt32(bytes[whole * 3]) << 16
                let value = rest == 2 ? first | UInt32(bytes[whole * 3 + 1]) << 8 : first
                put(value, 18)
                put(value, 12)
                if rest == 2 { put(value, 6) }
                while target < length {
                    output[target] = UInt8(ascii: "=")
                    target += 1
                }
            }
            return length
        }
    }

    private static func decode(_ text: UnsafeBufferPointer<UInt8>, _ alphabet: Alphabet) -> [UInt8]? {
        var count = text.count
        if alphabet == .standard {
            guard count % 4 == 0 else { return nil }
            if count > 0, text[count - 1] == UInt8(ascii: "=") {
                count -= text[count - 2] == UInt8(ascii: "=") ? 2 : 1
            }
        }
        let rest = count % 4
        guard rest != 1 else { return nil }
        let length = count / 4 * 3 + (rest == 0 ? 0 : rest - 1)
        var isStrict = true
        let bytes = [UInt8](unsafeUninitializedCapacity: length) { output, initialized in
            let values = alphabet == .standard ? standardValues : urlValues
            isStrict = values.withUnsafeBufferPointer { decode(text, count: count, into: output, values: $0) }
            initialized = isStrict ? length : 0
        }
        return isStrict ? bytes : nil
    }

    /// Fills `output`; false if a character is foreign or the last one has stray bits.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, count: Int, into output: UnsafeMutableBufferPointer<UInt8>,
        values: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        var foreign: UInt8 = 0
        var target = 0
        var source = 0
        while source + 4 <= count {
            let a = values[Int(text[source])]
            let b = values[Int(text[source + 1])]
            let c = values[Int(text[source + 2])]
            let d = values[Int(text[source + 3])]
            foreign |= a | b | c | d
            output[target] = a << 2 | b >> 4
            output[target + 1] = b << 4 | c >> 2
            output[target + 2] = c << 6 | d
            source += 4
            target += 3
        }
        if count - source >= 2 {
            let a = values[Int(text[source])]
            let b = values[Int(text[source + 1])]
            foreign |= a | b
            output[target] = a << 2 | b >> 4
            if count - source == 3 {
                let c = values[Int(text[source + 2])]
                foreign |= c
                output[target + 1] = b << 4 | c >> 2
                if c & 0x03 != 0 { return false }
            } else if b & 0x0F != 0 {
                return false
            }
        }
        return foreign & foreignMark == 0
    }

    /// The bit no six-bit value has.
    private static let foreignMark: UInt8 = 0x80

    private static let standardDigits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlDigits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let standardValues = values(of: standardDigits)
    private static let urlValues = values(of: urlDigits)

    private static func values(of digits: [UInt8]) -> [UInt8] {
        var values = [UInt8](repeating: foreignMark, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }
}
