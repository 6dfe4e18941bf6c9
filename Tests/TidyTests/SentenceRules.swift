import Testing

enum SentenceRules {
    /// Every `@Test` opens with a sentence that states what holds, in words a reader of the report understands.
    static func findings(in source: SwiftSource) -> [Finding] {
        guard source.isTest else { return [] }
        return Needle.places(of: [Needle("@Test")], in: source.tokens).compactMap { _, index in
            let line = source.tokens[index].line
            let words = sentence(from: line - 1, in: source)?.split(separator: " ") ?? []
            return words.count >= 3
                ? nil : Finding(source.path, line, "@Test opens with a sentence that says what holds")
        }
    }

    /// The string literal right after `@Test(`, on the same line or the next.
    private static func sentence(from index: Int, in source: SwiftSource) -> Substring? {
        guard let start = source.lines[index].firstRange(of: "@Test") else { return nil }
        let next = index + 1 < source.lines.count ? source.lines[index + 1] : ""
        let text = (source.lines[index][start.upperBound...] + " " + next).drop { $0 == " " }
        guard text.first == "(" else { return nil }
        let arguments = text.dropFirst().drop { $0 == " " }
        let isRaw = arguments.hasPrefix("#\"")
        guard isRaw || arguments.hasPrefix("\"") else { return nil }
        return arguments.dropFirst(isRaw ? 2 : 1).prefix { $0 != (isRaw ? "#" : "\"") }
    }
}

@Suite("Test sentences")
struct SentenceTests {
    @Test("Every test function has a sentence")
    func sentences() {
        #expect(Checkout.current.sources.contains { $0.isTest && $0.path.contains("TidyTests") })
        expectNone(Checkout.current.sources.flatMap(SentenceRules.findings(in:)))
    }

    @Test(
        "A test without a sentence is found",
        arguments: ["@Test func a() {}", "@Test(arguments: [1, 2])\nfunc a() {}", "@Test(\"works\") func a() {}"])
    func findsSample(_ text: String) {
        #expect(SentenceRules.findings(in: SwiftSource(path: "Tests/TillHTTPTests/A.swift", text: text)).count == 1)
    }

    @Test(
        "A test with a sentence is accepted",
        arguments: [
            "@Test(\"Nothing is granted twice\") func a() {}",
            "@Test(\n    \"Nothing is granted twice\", arguments: [1])",
            "@Test(#\"A \"quoted\" word\"#) func a() {}", "// @Test func a() {}", "@TestSomething func a() {}",
        ])
    func leavesOthers(_ text: String) {
        #expect(SentenceRules.findings(in: SwiftSource(path: "Tests/TillHTTPTests/A.swift", text: text)).isEmpty)
    }
}
