/// A Swift file split into what the compiler reads and what people read.
///
/// Not a parser: it knows comments, string literals (raw, multi-line, with interpolation) and regex literals, and
/// blanks them, so that the rules can look for words and braces in code alone.
struct SwiftSource: Sendable, CustomStringConvertible {
    let path: String
    /// The lines as they stand in the file.
    let lines: [String]
    /// The same lines with comments and the insides of literals replaced by spaces. Quotes stay, and so does the code
    /// of an interpolation.
    let code: [String]
    /// The same lines with nothing but the text of comments.
    let comments: [String]

    init(path: String, text: String) {
        self.path = path
        var masker = Masker(Array(text.utf8))
        masker.run()
        lines = Self.split(masker.bytes)
        code = Self.split(masker.code)
        comments = Self.split(masker.comments)
    }

    /// `Sources/TillHTTP/Listener.swift` → `TillHTTP`; nil for a file outside `Sources` and `Tests`.
    var target: String? {
        let parts = path.split(separator: "/")
        return parts.count > 2 && (isSource || isTest) ? String(parts[1]) : nil
    }

    var isSource: Bool { path.hasPrefix("Sources/") }
    var isTest: Bool { path.hasPrefix("Tests/") }

    /// The code's words and signs in order, without white space.
    var tokens: [Token] {
        var tokens: [Token] = []
        for (index, line) in code.enumerated() {
            let bytes = Array(line.utf8)
            var position = 0
            while position < bytes.count {
                let start = position
                if Token.isWordByte(bytes[position]) {
                    while position < bytes.count, Token.isWordByte(bytes[position]) { position += 1 }
                } else {
                    position += 1
                    if bytes[start] == UInt8(ascii: " ") || bytes[start] == UInt8(ascii: "\t") { continue }
                }
                tokens.append(Token(text: String(decoding: bytes[start..<position], as: UTF8.self), line: index + 1))
            }
        }
        return tokens
    }

    var description: String { path }

    private static func split(_ bytes: [UInt8]) -> [String] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { String(decoding: $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0, as: UTF8.self) }
    }
}

/// A word or a single sign of code.
struct Token: Hashable {
    let text: String
    /// Counted from 1.
    let line: Int

    /// Letters, digits, `_`, and everything beyond ASCII.
    static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }
}
