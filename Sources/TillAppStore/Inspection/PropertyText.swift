import TillJSON

/// NeXTSTEP property-list text as old-style receipts have it, outside and inside: `"key" = "value";` as often as it
/// occurs (facts/verify-receipt §9). There are no escapes.
struct PropertyText: Equatable, Sendable {
    struct Line: Equatable, Sendable {
        let key: String
        let value: String
    }

    /// In the order of the text, keys that are written twice included.
    let lines: [Line]

    /// Nil if the text is not UTF-8, or has more marks in a row than can be compared.
    init?(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.withUnsafeBufferPointer(JSONText.isUTF8),
            CombiningRun.isBounded(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        else { return nil }
        var reader = Reader(rest: bytes[...])
        var lines: [Line] = []
        while let start = reader.rest.firstIndex(of: UInt8(ascii: "\"")) {
            let candidate = reader.rest[start...]
            reader.rest = candidate
            if let line = reader.line() {
                lines.append(line)
            } else {
                // This quote began no pair; the next one may.
                reader.rest = candidate.dropFirst()
            }
        }
        self.lines = lines
    }

    /// A key's last value.
    subscript(key: String) -> String? { lines.last { $0.key == key }?.value }

    var dictionary: [String: String] {
        Dictionary(lines.map { ($0.key, $0.value) }, uniquingKeysWith: { _, last in last })
    }

    /// The text as Apple lays it out.
    var encoded: [UInt8] {
        Array(("{\n" + lines.map { "\t\"\($0.key)\" = \"\($0.value)\";\n" }.joined() + "}").utf8)
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func line() -> Line? {
            guard let key = quoted(), !key.isEmpty, passes("=") else { return nil }
            skipBlanks()
            guard let value = quoted(), passes(";") else { return nil }
            return Line(key: key, value: value)
        }

        private mutating func quoted() -> String? {
            guard rest.first == UInt8(ascii: "\""), let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\""))
            else { return nil }
            let text = String(decoding: rest[(rest.startIndex + 1)..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            return text
        }

        private mutating func passes(_ mark: Unicode.Scalar) -> Bool {
            skipBlanks()
            guard rest.first == UInt8(ascii: mark) else { return false }
            rest = rest.dropFirst()
            return true
        }

        private mutating func skipBlanks() { rest = rest.drop(while: ProofText.isBlank) }
    }
}
