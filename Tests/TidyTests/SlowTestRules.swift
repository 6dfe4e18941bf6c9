import Testing

/// docs/testing.md lists every test target, and every suite with something slow in it.
enum SlowTestRules {
    /// The types whose suite or one of whose tests is declared `.slow`.
    static func suites(in source: SwiftSource) -> Set<String> {
        guard source.isTest else { return [] }
        var found: Set<String> = []
        var type = ""
        // An attribute of a suite comes before its type.
        var (isSuite, isSlow) = (false, false)
        let tokens = source.tokens
        for index in tokens.indices.dropLast() {
            switch tokens[index].text {
            case "Suite" where index > 0 && tokens[index - 1].text == "@": isSuite = true
            case "slow" where index > 0 && tokens[index - 1].text == ".":
                if isSuite { isSlow = true } else { found.insert(type) }
            case "struct", "class", "enum", "actor", "extension":
                type = tokens[index + 1].text
                if isSlow { found.insert(type) }
                (isSuite, isSlow) = (false, false)
            default: break
            }
        }
        return found
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
    @Test("It names every test target, and every suite that is slow and no other", arguments: ["", ".zh-CN"])
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
            @Suite("B") struct Some { @Test("quick") func one() {}; @Test("long", .slow) func two() {} }
            @Suite("C") struct None { @Test func slow() {} }
            """
        let source = SwiftSource(path: "Tests/TillHTTPTests/A.swift", text: text)
        #expect(SlowTestRules.suites(in: source) == ["All", "Some"])
        #expect(SlowTestRules.names(in: "a\n## B\n| `C` | `D` |\n## E\n| `F` |", section: 1) == ["C"])
    }
}
