import Testing

/// docs/testing.md lists every test target, and every suite that contains slow tests.
enum SlowTestRules {
    /// The types whose suite or tests are declared `.slow`.
    static func suites(in source: SwiftSource) -> Set<String> {
        guard source.isTest else { return [] }
        var found: Set<String> = []
        var type = ""
        // The attribute of a suite comes before its type.
        var isSlow = false
        var depth = 0
        let tokens = source.tokens
        for index in tokens.indices.dropLast(2) {
            switch tokens[index].text {
            case "@" where tokens[index + 1].text == "Suite": isSlow = isDeclaredSlow(tokens[(index + 2)...])
            case "@" where tokens[index + 1].text == "Test":
                if isDeclaredSlow(tokens[(index + 2)...]) { found.insert(type) }
            case "{": depth += 1
            case "}": depth -= 1
            case "struct", "class", "enum", "actor", "extension":
                guard depth == 0 else { continue }
                type = tokens[index + 1].text
                if isSlow { found.insert(type) }
                isSlow = false
            default: break
            }
        }
        return found
    }

    /// Whether `.slow` is one of an attribute's arguments, which begin here.
    private static func isDeclaredSlow(_ tokens: ArraySlice<Token>) -> Bool {
        var depth = 0
        var before = ""
        for token in tokens {
            if token.text == "(" { depth += 1 }
            if token.text == ")" { depth -= 1 }
            if depth <= 0 { return false }
            if depth == 1, before == ".", token.text == "slow" { return true }
            before = token.text
        }
        return false
    }

    /// The names in the first column of a section's table, each in backticks.
    static func names(in text: String, section: Int) -> Set<String> {
        let parts = "\n\(text)".split(separator: "\n## ", omittingEmptySubsequences: false)
        guard parts.indices.contains(section) else { return [] }
        return Set(
            parts[section].split(separator: "\n").compactMap { line in
                line.hasPrefix("| `") ? line.dropFirst(3).split(separator: "`").first.map(String.init) : nil
            })
    }
}

@Suite("The list of tests") struct SlowTestRuleTests {
    @Test("It names every test target, and exactly the suites that are slow", arguments: ["", ".zh-CN"])
    func list(_ language: String) throws {
        let text = try #require(Checkout.current.text("docs/testing\(language).md"))
        let targets = Checkout.current.targets(under: "Tests") + ["FuzzTests"]
        #expect(SlowTestRules.names(in: text, section: 1).sorted() == targets.sorted())
        let slow = Checkout.current.sources.reduce(into: Set<String>()) {
            $0.formUnion(SlowTestRules.suites(in: $1))
        }
        #expect(SlowTestRules.names(in: text, section: 2).sorted() == slow.sorted())
    }

    @Test("A slow suite and a slow test are found, each under its type")
    func finds() {
        let text = """
            @Suite("A", .slow) struct All { @Test func one() {} }
            @Suite("B") struct Some { enum Way {}; @Test("quick") func one() {}; @Test("long", .slow) func two() {} }
            @Suite("C") struct None { @Test func slow() { cut(.slow(gate)) } }
            """
        let source = SwiftSource(path: "Tests/TillHTTPTests/A.swift", text: text)
        #expect(SlowTestRules.suites(in: source) == ["All", "Some"])
        #expect(SlowTestRules.names(in: "a\n## B\n| `C` | `D` |\n## E\n| `F` |", section: 1) == ["C"])
    }
}
