import Testing

enum SizeRules {
    /// Files that may be longer than 400 lines (but never longer than 600), each with its reason.
    static let longFiles: [String: String] = [
        "Tests/TillClientTests/StoreSentences.swift": "one table: the sentences of every error"
    ]

    static let softFileLimit = 400
    static let hardFileLimit = 600
    static let bodyLimit = 70
    /// In characters: a Chinese one counts as one.
    static let lineLimit = 120

    static func findings(in source: SwiftSource, longFiles: [String: String] = longFiles) -> [Finding] {
        var findings: [Finding] = []
        let count = source.lines.count
        if count > hardFileLimit {
            findings.append(Finding(source.path, 0, "\(count) lines: more than \(hardFileLimit) is two topics"))
        } else if count > softFileLimit, longFiles[source.path] == nil {
            findings.append(
                Finding(source.path, 0, "\(count) lines: more than \(softFileLimit) needs a reason on the list"))
        } else if count <= softFileLimit, longFiles[source.path] != nil {
            findings.append(Finding(source.path, 0, "no longer long: take it off the list of long files"))
        }
        for body in Body.all(in: source) where body.lineCount > bodyLimit {
            findings.append(
                Finding(source.path, body.line, "\(body.name) has \(body.lineCount) lines, more than \(bodyLimit)"))
        }
        for (index, line) in source.lines.enumerated() where line.utf8.count > lineLimit && line.count > lineLimit {
            findings.append(Finding(source.path, index + 1, "\(line.count) columns, more than \(lineLimit)"))
        }
        return findings
    }
}

@Suite("Sizes")
struct SizeTests {
    private func source(_ text: String) -> SwiftSource {
        SwiftSource(path: "Sources/TillHTTP/Sample.swift", text: text)
    }

    @Test("Files, functions and lines stay within their sizes")
    func sizes() {
        expectNone(Checkout.current.sources.flatMap { SizeRules.findings(in: $0) })
    }

    @Test("A long file without a reason, a very long one with any reason, and an obsolete reason are found")
    func findsFiles() {
        let reasons = ["Sources/TillHTTP/Sample.swift": "one table"]
        let lines = { (count: Int) in source(String(repeating: "let a = 1\n", count: count)) }
        #expect(SizeRules.findings(in: lines(400)).isEmpty)
        #expect(SizeRules.findings(in: lines(401)).count == 1)
        #expect(SizeRules.findings(in: lines(401), longFiles: reasons).isEmpty)
        #expect(SizeRules.findings(in: lines(601), longFiles: reasons).count == 1)
        #expect(SizeRules.findings(in: lines(400), longFiles: reasons).count == 1)
    }

    @Test("A function of 71 lines is found, one of 70 is not")
    func findsBodies() {
        let text = { (lines: Int) in "func a() {\n" + String(repeating: "    b()\n", count: lines - 2) + "}\n" }
        #expect(SizeRules.findings(in: source(text(70))).isEmpty)
        #expect(SizeRules.findings(in: source(text(71))).map(\.line) == [1])
    }

    @Test("A line of 121 characters is found; 120 Chinese ones pass")
    func findsLines() {
        #expect(SizeRules.findings(in: source("// " + String(repeating: "学", count: 117))).isEmpty)
        #expect(
            SizeRules.findings(in: source("let a = 1\n// " + String(repeating: "x", count: 118))).map(\.line) == [2])
    }

    @Test(
        "The reader of braces finds each body and its length",
        arguments: [
            ("func a(_ b: () -> Int = { 1 }) async throws(Fault) -> [Int] where T: P {\n}\n", ["a 2"]),
            ("struct S {\n    init?(a: Int) {\n    }\n    deinit {\n}\n}", ["init 2", "deinit 2"]),
            ("protocol P {\n    func a()\n    init(b: Int)\n    var c: Int { get }\n}\nfunc d() {\n}", ["c 1", "d 2"]),
            ("func a() {\n    self.init()\n    S.init {\n    }\n}", ["a 5"]),
            ("var a: Int {\n    1\n}\nvar b = 2\nif b > 1 {\n}", ["a 3"]),
            ("var a: Int\nif b {\n}", []),
            ("func a() {\n    let b = \"{\"\n    // {\n}\nfunc c() {\n}", ["a 4", "c 2"]),
            ("subscript(name: String) -> String? {\n    a\n}", ["subscript 3"]),
            ("static func < (left: A, right: A) -> Bool {\n}", ["< 2"]),
            ("func a() {\n    func b() {\n    }\n}", ["a 4", "b 2"]),
            ("func a() -> @Sendable () -> Void {\n    { }\n}", ["a 3"]),
            ("func `case`() {\n}", ["` 2"]),
        ] as [(String, [String])])
    func readsBodies(_ text: String, _ expected: [String]) {
        #expect(Body.all(in: source(text)).map { "\($0.name) \($0.lineCount)" } == expected)
    }
}
