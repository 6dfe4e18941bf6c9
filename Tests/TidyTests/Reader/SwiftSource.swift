/// A Swift file split into code and comments.
///
/// Not a parser: it recognizes comments, string literals (raw, multi-line, with interpolation) and regex literals, and
/// blanks them, so that the rules search words and braces in code alone. All layers have the same lines and columns.
struct SwiftSource: Sendable, CustomStringConvertible {
    let path: String
    /// The unchanged file.
    let lines: Layer
    /// Comments and the insides of literals are replaced by spaces. Quotes stay, and so does the code of an
    /// interpolation.
    let code: Layer
    /// The text of comments alone.
    let comments: Layer
    /// The code's words and signs.
    let tokens: [Token]

    init(path: String, text: String) {
        self.path = path
        var masker = Masker(Array(text.utf8))
        masker.run()
        lines = Layer(masker.bytes)
        code = Layer(masker.code)
        comments = Layer(masker.comments)
        tokens = code.tokens
    }

    /// `Sources/TillHTTP/Listener.swift` → `TillHTTP`; nil for a file outside `Sources`, `Tests` and `Fuzz`.
    var target: String? {
        if path.hasPrefix("Fuzz/") { return "FuzzTests" }
        let parts = path.split(separator: "/")
        return parts.count > 2 && (isSource || isTest) ? String(parts[1]) : nil
    }

    var isSource: Bool { path.hasPrefix("Sources/") }
    var isTest: Bool { path.hasPrefix("Tests/") || path.hasPrefix("Fuzz/") }

    var description: String { path }
}
