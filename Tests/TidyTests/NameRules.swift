import Testing

enum NameRules {
    /// Words without meaning in a name. Code whose name needs one belongs to another type.
    static let emptyWords: Set<String> = [
        "Manager", "Managers", "Helper", "Helpers", "Util", "Utils", "Utility", "Utilities", "Misc", "Common", "Stuff",
    ]
    /// A handler's name states what it handles: one request, one event. (A type alias for a closure inside `Router` may
    /// be its `Handler`.)
    static let emptyHandlers: Set<String> = [
        "Handler", "Handlers", "RequestHandler", "EventHandler", "MainHandler", "BaseHandler", "DefaultHandler",
        "ErrorHandler",
        "GenericHandler", "MessageHandler",
    ]

    static func findings(in source: SwiftSource) -> [Finding] {
        let file = source.path.split(separator: "/").last.map { String($0.dropLast(".swift".count)) } ?? ""
        var findings = complaint(about: file).map { [Finding(source.path, 0, $0)] } ?? []
        let directories = source.path.split(separator: "/").dropLast().map(String.init)
        for directory in directories where !Set(words(of: directory)).isDisjoint(with: emptyWords) {
            findings.append(Finding(source.path, 0, "the directory \(directory) says nothing about what is in it"))
        }
        let tokens = source.tokens
        // StoreKit's names are Apple's.
        let isOurs = source.target != "StoreKit"
        let kinds: Set<String> = ["struct", "class", "enum", "protocol", "actor", "typealias"]
        for index in tokens.indices.dropLast() {
            let token = tokens[index]
            let name = tokens[index + 1].text
            let isAlias = token.text == "typealias" && name == "Handler"
            if kinds.contains(token.text), !isAlias, let complaint = complaint(about: name) {
                findings.append(Finding(source.path, token.line, complaint))
            }
            let isVariable = token.text == "let" || token.text == "var"
            if isVariable, name == "shared", isOurs, index > 0, isStatic(tokens[..<index]) {
                findings.append(Finding(source.path, token.line, "no shared singletons: pass it in"))
            }
        }
        return findings
    }

    private static func isStatic(_ before: ArraySlice<Token>) -> Bool {
        let modifiers: Set<String> = [
            "static", "class", "public", "private", "internal", "package", "nonisolated", "unsafe",
        ]
        return before.reversed().prefix { modifiers.contains($0.text) || $0.text == "(" || $0.text == ")" }
            .contains { $0.text == "static" || $0.text == "class" }
    }

    private static func complaint(about name: String) -> String? {
        if let word = words(of: name).first(where: emptyWords.contains) {
            return "\(name): “\(word)” says nothing; name what it is or does"
        }
        return emptyHandlers.contains(name) ? "\(name): say what it handles" : nil
    }

    /// `HTTPRequestHandler` → `HTTP`, `Request`, `Handler`.
    static func words(of name: String) -> [String] {
        name.split { $0 == "_" || $0 == "+" || $0 == "-" }.flatMap { part -> [String] in
            let letters = Array(part)
            var words: [String] = []
            for (index, letter) in letters.enumerated() {
                let afterSmall = index > 0 && !letters[index - 1].isUppercase
                let beforeSmall = index + 1 < letters.count && letters[index + 1].isLowercase
                if words.isEmpty || letter.isUppercase && (afterSmall || beforeSmall) { words.append("") }
                words[words.count - 1].append(letter)
            }
            return words
        }
    }
}

@Suite("Names")
struct NameTests {
    @Test("Types, files and directories have meaningful names")
    func names() {
        expectNone(Checkout.current.sources.flatMap(NameRules.findings(in:)))
    }

    @Test(
        "A meaningless name and a shared singleton are found",
        arguments: [
            "struct OrderManager {}", "enum StringUtils {}", "final class TestHelper {}", "protocol Handler {}",
            "actor RequestHandler {}", "typealias Utilities = Int", "struct A { static let shared = A() }",
            "class A { public static var shared: A { A() } }",
        ])
    func findsSample(_ text: String) {
        #expect(NameRules.findings(in: SwiftSource(path: "Sources/TillHTTP/A.swift", text: text)).count == 1)
    }

    @Test(
        "A meaningless word in a path is found",
        arguments: ["Sources/TillHTTP/StringHelpers.swift", "Sources/TillHTTP/Utils/Base64.swift"])
    func findsPaths(_ path: String) {
        #expect(NameRules.findings(in: SwiftSource(path: path, text: "")).count == 1)
    }

    @Test("Names of the field, and words that only contain a meaningless one, are accepted")
    func leavesOthers() {
        let text =
            "struct Utilization {}\nlet shared = 1\nstruct CreateOrderHandler {}\n// class UserManager\nlet manager = 1"
        #expect(NameRules.findings(in: SwiftSource(path: "Sources/TillServer/Handlers/A.swift", text: text)).isEmpty)
        #expect(NameRules.words(of: "HTTPRequestHandler") == ["HTTP", "Request", "Handler"])
        #expect(NameRules.words(of: "Array+Utils") == ["Array", "Utils"])
    }
}
