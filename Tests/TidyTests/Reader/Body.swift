/// A function, initialiser, subscript or computed variable with the braces that hold its body.
struct Body: Hashable {
    let name: String
    /// The first line of its declaration, counted from 1.
    let line: Int
    /// From the declaration to the closing brace, inclusive.
    let lineCount: Int

    static func all(in source: SwiftSource) -> [Body] {
        let tokens = source.tokens
        let closings = closings(of: tokens)
        return tokens.indices.compactMap { index in
            guard let opening = opening(of: index, in: tokens), let closing = closings[opening] else { return nil }
            let isNamed = tokens[index].text == "func" || tokens[index].text == "var"
            let name = isNamed ? tokens[index + 1].text : tokens[index].text
            return Body(
                name: name, line: tokens[index].line, lineCount: tokens[closing].line - tokens[index].line + 1)
        }
    }

    /// For every opening brace, the matching closing one.
    private static func closings(of tokens: [Token]) -> [Int: Int] {
        var open: [Int] = []
        var closings: [Int: Int] = [:]
        for (index, token) in tokens.enumerated() {
            if token.text == "{" { open.append(index) }
            if token.text == "}", let opening = open.popLast() { closings[opening] = index }
        }
        return closings
    }

    private static let callables: Set<String> = ["func", "init", "deinit", "subscript"]
    /// Tokens that begin another declaration: the one before had no body, as in a protocol.
    private static let declarations: Set<String> = [
        "func", "init", "deinit", "subscript", "var", "let", "case", "associatedtype", "typealias", "static", "public",
        "private", "fileprivate", "internal", "package", "mutating", "nonmutating", "struct", "enum", "extension", "}",
    ]

    /// The brace that opens the body of the declaration at this token; nil if it has no body.
    private static func opening(of start: Int, in tokens: [Token]) -> Int? {
        let keyword = tokens[start].text
        guard callables.contains(keyword) || keyword == "var", start + 1 < tokens.count,
            start == 0 || tokens[start - 1].text != "."
        else { return nil }
        var depth = 0
        var index = start + 1
        // The name may be a word that would end the search: `func case(…)` in backticks.
        if keyword == "func" { index += tokens[index].text == "`" ? 3 : 1 }
        while index < tokens.count {
            let text = tokens[index].text
            if text == "(" || text == "[" { depth += 1 }
            if text == ")" || text == "]" { depth -= 1 }
            if depth < 0 { return nil }
            if depth == 0 {
                if text == "{" { return index }
                if declarations.contains(text) { return nil }
                if keyword == "var", text == "=" || endsStatement(index, in: tokens) { return nil }
            }
            index += 1
        }
        return nil
    }

    /// Whether a line break before this token ends a `var` without a body.
    private static func endsStatement(_ index: Int, in tokens: [Token]) -> Bool {
        tokens[index].line > tokens[index - 1].line
            && ![",", ":", ">", "&", "<", "."].contains(tokens[index - 1].text)
    }
}
