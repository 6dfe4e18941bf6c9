import Testing

enum LeftOverRules {
    private static let notes = ["TODO", "FIXME", "XXX", "HACK"].map(Needle.init)
    private static let traps = ["fatalError()", "preconditionFailure()", "assertionFailure()"].map(Needle.init)
    private static let emptyTests = ["#expect(true)", "#expect(Bool(true))"].map(Needle.init)
    private static let prints = ["print(", "debugPrint(", "dump("].map(Needle.init)
    private static let forcedTry = Needle("try!")

    static func findings(in source: SwiftSource) -> [Finding] {
        var findings: [Finding] = []
        func check(_ needles: [Needle], in tokens: [Token], _ message: String) {
            findings += Needle.places(of: needles, in: tokens).map { needle, index in
                Finding(source.path, tokens[index].line, "\(needle.text): \(message)")
            }
        }
        check(notes, in: source.comments.tokens, "do it, or write it down where work is planned")
        check(traps, in: source.tokens, "say what was expected and did not hold")
        check(emptyTests, in: source.tokens, "asserts nothing")
        if source.isSource {
            check([forcedTry], in: source.tokens, "a fault is thrown, not trapped")
            if source.target != "till" {
                check(prints, in: source.tokens, "only the command line writes to the terminal")
            }
        }
        if source.path.hasSuffix("/Placeholder.swift"), source.lines.count > 1 {
            findings.append(Finding(source.path, 0, "a placeholder with code in it: name it after its topic"))
        }
        return findings
    }

    /// A placeholder lets a module without code compile; beside real code it is a left-over.
    static func placeholders(in paths: [String]) -> [Finding] {
        paths.filter { $0.hasSuffix("/Placeholder.swift") }.compactMap { path in
            let directory = path.dropLast("Placeholder.swift".count)
            let isAlone = !paths.contains { $0 != path && $0.hasPrefix(directory) && $0.hasSuffix(".swift") }
            return isAlone ? nil : Finding(path, 0, "there is real code beside it: delete it")
        }
    }
}

@Suite("Left-overs")
struct LeftOverTests {
    @Test("There are no left-over notes, silent traps, forced tries, stray prints or empty tests")
    func leftOvers() {
        expectNone(Checkout.current.sources.flatMap(LeftOverRules.findings(in:)))
        expectNone(LeftOverRules.placeholders(in: Checkout.current.paths))
    }

    @Test(
        "A left-over is found",
        arguments: [
            "// TODO: later", "let a = 1  // FIXME", "/* XXX */", "func a() { fatalError() }", "let a = try! b()",
            "func a() { print(1) }", "func a() { preconditionFailure() }", "#expect(true)",
        ])
    func findsSample(_ text: String) {
        #expect(LeftOverRules.findings(in: SwiftSource(path: "Sources/TillHTTP/A.swift", text: text)).count == 1)
    }

    @Test("A trap with a reason, a print of the command line and a forced try in a test are accepted")
    func leavesOthers() {
        func findings(_ path: String, _ text: String) -> [Finding] {
            LeftOverRules.findings(in: SwiftSource(path: path, text: text))
        }
        #expect(
            findings("Sources/TillHTTP/A.swift", "fatalError(\"no clock\"); fingerprint(1); let a = \"TODO\"").isEmpty)
        #expect(findings("Sources/till/A.swift", "print(1)").isEmpty)
        #expect(findings("Sources/TillHTTP/A.swift", "while try !isAtEnd() {}").isEmpty)
        #expect(findings("Tests/TillHTTPTests/A.swift", "let a = try! b()").isEmpty)
    }

    @Test("A placeholder beside real code is found")
    func findsPlaceholders() {
        let alone = ["Sources/A/Placeholder.swift", "Sources/AB/C.swift"]
        #expect(LeftOverRules.placeholders(in: alone).isEmpty)
        #expect(LeftOverRules.placeholders(in: alone + ["Sources/A/B/D.swift"]).count == 1)
    }
}
