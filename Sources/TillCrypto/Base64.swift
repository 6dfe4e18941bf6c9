/// Strict base64 (RFC 4648): no white space, no characters of the other alphabet, exactly the padding that the alphabet
/// requires, and no stray bits in the last character. Each byte string has one text, so a signature's text cannot be
/// altered without breaking the signature.
public enum Base64 {
    /// The alphabet of section 4 (`+`, `/`) with padding, or of section 5 (`-`, `_`) without padding, as JOSE uses it.
    public enum Alphabet: Sendable {
        case standard
        case url
    }

    /// The decoded bytes; nil unless the text is exactly what `alphabet` writes for them.
    public static func decode(_ text: some Collection<UInt8>, _ alphabet: Alphabet = .standard) -> [UInt8]? {
        if let decoded = text.withContiguousStorageIfAvailable({ decode($0, alphabet) }) { return decoded }
        return Array(text).withUnsafeBufferPointer { decode($0, alphabet) }
    }

    /// The decoded bytes; nil unless the text is exactly what `alphabet` writes for them.
    public static func decode(_ text: some StringProtocol, _ alphabet: Alphabet = .standard) -> [UInt8]? {
        decode(text.utf8, alphabet)
    }

    /// Decodes standard base64 and ignores ASCII white space, which receipts pick up in transit; nil for any other
    /// deviation. A text without white space is decoded directly.
    public static func decode(ignoringBlanks text: some StringProtocol) -> [UInt8]? {
        var whole = String(text)
        return whole.withUTF8 { text in
            if let bytes = decode(text, .standard) { return bytes }
            let dense = [UInt8](unsafeUninitializedCapacity: text.count) { output, count in
                for unit in text where unit != 0x20 && !(0x09...0x0D).contains(unit) {
                    output[count] = unit
                    count += 1
                }
            }
            return dense.count == text.count ? nil : dense.withUnsafeBufferPointer { decode($0, .standard) }
        }
    }

    public static func encode(_ bytes: some Collection<UInt8>, _ alphabet: Alphabet = .standard) -> String {
        let bytes = Array(bytes)
        let length = length(of: bytes.count, alphabet)
        return String(unsafeUninitializedCapacity: length) { output in
            write(bytes, alphabet, to: output)
            return length
        }
    }

    /// Appends what `encode` returns, without a string in between.
    public static func append(_ bytes: [UInt8], _ alphabet: Alphabet = .standard, to text: inout [UInt8]) {
        let length = length(of: bytes.count, alphabet)
        text += [UInt8](unsafeUninitializedCapacity: length) { output, initialized in
            write(bytes, alphabet, to: output)
            initialized = length
        }
    }

    private static func length(of count: Int, _ alphabet: Alphabet) -> Int {
        let (whole, rest) = (count / 3, count % 3)
        return whole * 4 + (rest == 0 ? 0 : alphabet == .standard ? 4 : rest + 1)
    }

    private static func write(_ bytes: [UInt8], _ alphabet: Alphabet, to output: UnsafeMutableBufferPointer<UInt8>) {
        let (whole, rest) = (bytes.count / 3, bytes.count % 3)
        bytes.withUnsafeBufferPointer { bytes in
            (alphabet == .standard ? standardDigits : urlDigits).withUnsafeBufferPointer { digits in
                guard let source = bytes.baseAddress, let digits = digits.baseAddress, let target = output.baseAddress
                else { return }
                write(source, whole: whole, rest: rest, digits, to: target)
            }
        }
        guard alphabet == .standard, rest > 0 else { return }
        for index in whole * 4 + rest + 1..<whole * 4 + 4 { output[index] = UInt8(ascii: "=") }
    }

    /// Uses bare pointers: buffers and closures cost a debug build several times as much.
    private static func write(
        _ source: UnsafePointer<UInt8>, whole: Int, rest: Int, _ digits: UnsafePointer<UInt8>,
        to target: UnsafeMutablePointer<UInt8>
    ) {
        var (source, target) = (source, target)
        var group = 0
        while group < whole {
            let value = Int(source[0]) << 16 | Int(source[1]) << 8 | Int(source[2])
            target[0] = digits[value >> 18]
            target[1] = digits[value >> 12 & 0x3F]
            target[2] = digits[value >> 6 & 0x3F]
            target[3] = digits[value & 0x3F]
            (source, target) = (source + 3, target + 4)
            group += 1
        }
        guard rest > 0 else { return }
        let value = Int(source[0]) << 16 | (rest == 2 ? Int(source[1]) << 8 : 0)
        target[0] = digits[value >> 18]
        target[1] = digits[value >> 12 & 0x3F]
        if rest == 2 { target[2] = digits[value >> 6 & 0x3F] }
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
            isStrict = values.withUnsafeBufferPointer { values in
                guard let text = text.baseAddress, let output = output.baseAddress, let values = values.baseAddress
                else { return length == 0 }
                return decode(text, count: count, into: output, values: values)
            }
            initialized = isStrict ? length : 0
        }
        return isStrict ? bytes : nil
    }

    /// Decodes `count` characters into `output`; false if one is not in the alphabet or the last one has stray bits.
    private static func decode(
        _ text: UnsafePointer<UInt8>, count: Int, into output: UnsafeMutablePointer<UInt8>,
        values: UnsafePointer<UInt8>
    ) -> Bool {
        var foreign: UInt8 = 0
        var target = 0
        var source = 0
        // Eight characters become six bytes, which are written with two more; the next ones overwrite those.
        while source + 12 <= count {
            let eight = UnsafeRawPointer(text + source).loadUnaligned(as: UInt64.self).littleEndian
            let a = values[Int(eight & 0xFF)]
            let b = values[Int(eight >> 8 & 0xFF)]
            let c = values[Int(eight >> 16 & 0xFF)]
            let d = values[Int(eight >> 24 & 0xFF)]
            let e = values[Int(eight >> 32 & 0xFF)]
            let f = values[Int(eight >> 40 & 0xFF)]
            let g = values[Int(eight >> 48 & 0xFF)]
            let h = values[Int(eight >> 56)]
            foreign |= a | b | c | d | e | f | g | h
            let first = UInt64(a) << 58 | UInt64(b) << 52 | UInt64(c) << 46 | UInt64(d) << 40
            let second = UInt64(e) << 34 | UInt64(f) << 28 | UInt64(g) << 22 | UInt64(h) << 16
            UnsafeMutableRawPointer(output + target).storeBytes(of: (first | second).bigEndian, as: UInt64.self)
            source += 8
            target += 6
        }
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

    /// A bit that no six-bit value uses.
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

/// The PEM encoding of DER (RFC 7468).
public enum PEM {
    /// The bytes of the first block with this label; nil if there is none or its base64 is invalid.
    public static func decode(_ text: some StringProtocol, label: String) -> [UInt8]? {
        var body: [UInt8]?
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            if line.hasPrefix("-----BEGIN \(label)-----") {
                body = []
            } else if line.hasPrefix("-----END \(label)-----") {
                return body.flatMap { Base64.decode($0) }
            } else if body != nil {
                body?.append(contentsOf: words)
            }
        }
        return nil
    }

    public static func encode(_ bytes: [UInt8], label: String) -> String {
        let text = Array(Base64.encode(bytes).utf8)
        var lines = ["-----BEGIN \(label)-----"]
        for start in stride(from: 0, to: text.count, by: 64) {
            lines.append(String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self))
        }
        lines.append("-----END \(label)-----\n")
        return lines.joined(separator: "\n")
    }
}
