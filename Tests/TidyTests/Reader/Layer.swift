/// One layer of a file, its code or its comments, with everything else blanked: a collection of its lines.
struct Layer: Sendable, RandomAccessCollection {
    private let bytes: [UInt8]
    private let lines: [String]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let newline = UInt8(ascii: "\n")
        var pieces = bytes.split(separator: newline, omittingEmptySubsequences: false)
        if pieces.last?.isEmpty == true { pieces.removeLast() }
        lines = pieces.map { String(decoding: $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0, as: UTF8.self) }
    }

    var startIndex: Int { 0 }
    var endIndex: Int { lines.count }
    subscript(index: Int) -> String { lines[index] }

    /// The layer's words and signs in order, without white space.
    var tokens: [Token] {
        var tokens: [Token] = []
        var line = 1
        var position = 0
        var end = -1
        while position < bytes.count {
            let start = position
            switch bytes[position] {
            case UInt8(ascii: "\n"):
                line += 1
                position += 1
                continue
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
                position += 1
                continue
            case let byte where Token.isWordByte(byte):
                while position < bytes.count, Token.isWordByte(bytes[position]) { position += 1 }
            default:
                position += 1
            }
            let text = String(decoding: bytes[start..<position], as: UTF8.self)
            tokens.append(Token(text: text, line: line, isJoined: start == end))
            end = position
        }
        return tokens
    }
}

/// A word or a single sign of code.
struct Token: Hashable, Sendable {
    let text: String
    /// Counted from 1.
    let line: Int
    /// Whether it directly follows the token before it.
    let isJoined: Bool

    /// Letters, digits, `_`, and everything beyond ASCII.
    static func isWordByte(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == 0x5F || byte >= 0x30 && byte <= 0x39 || byte >= 0x41 && byte <= 0x5A
            || byte >= 0x61 && byte <= 0x7A
    }
}
