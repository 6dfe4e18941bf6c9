import Testing

/// Words that the project once used for terms of its own, and that docs/vocabulary.md replaces. A newcomer cannot guess
/// their meaning, so neither a name nor a sentence uses them.
enum WordRules {
    /// Forbidden in names of Swift code, as a whole word of the name.
    static let inNames = inProse.union([
        "believed", "believes", "desk", "dial", "dials", "heir", "heirs", "holder", "holders", "judge", "judged",
        "judges", "settle", "settled", "settles", "weather",
    ])

    /// Forbidden in comments and in Markdown files.
    static let inProse: Set<String> = [
        "dice", "errand", "errands", "ladder", "ladders", "mailroom", "mourner", "mourners", "nobody", "rung", "rungs",
        "shelf", "shelves", "sighting", "sightings", "strand", "strands", "untold", "upkeep", "whoever", "witness",
        "witnesses",
    ]

    /// A library's names.
    static let accepted: Set<String> = ["CURLOPT_NOBODY"]

    static func findings(in source: SwiftSource) -> [Finding] {
        let names = source.tokens.compactMap { token -> Finding? in
            guard !accepted.contains(token.text) else { return nil }
            let word = NameRules.words(of: token.text).first { inNames.contains($0.lowercased()) }
            return word.map { Finding(source.path, token.line, "\(token.text): “\($0)” is not in docs/vocabulary.md") }
        }
        return names + findings(in: Array(source.comments), path: source.path)
    }

    static func findings(in lines: [String], path: String) -> [Finding] {
        lines.enumerated().flatMap { index, line in
            line.split { !$0.isLetter }.filter { inProse.contains($0.lowercased()) }.map {
                Finding(path, index + 1, "“\($0)” is not in docs/vocabulary.md; name the subject")
            }
        }
    }
}

@Suite("Words")
struct WordTests {
    @Test("No name and no comment uses a word that the vocabulary replaces")
    func sources() {
        let ours = Checkout.current.sources.filter { !$0.path.hasSuffix("/WordRules.swift") }
        expectNone(ours.flatMap { WordRules.findings(in: $0) })
    }

    @Test("No Markdown file uses a word that the vocabulary replaces, except where the vocabulary names it")
    func documents() {
        let checkout = Checkout.current
        let documents = checkout.paths.filter { $0.hasSuffix(".md") && !$0.hasPrefix("docs/vocabulary") }
        #expect(documents.contains("README.md"))
        for path in documents {
            let lines = (checkout.text(path) ?? "").split(separator: "\n", omittingEmptySubsequences: false)
            expectNone(WordRules.findings(in: lines.map(String.init), path: path))
        }
    }

    @Test(
        "A replaced word is found, whether it is a whole name or a part of one",
        arguments: [
            "struct OwnerLadder {}", "let settledOrders = 1", "func judge() {}", "case paidByNobody",
            "// Nobody reads it.", "/// The rungs of the ladder.",
        ])
    func findsSample(_ text: String) {
        #expect(!WordRules.findings(in: SwiftSource(path: "Sources/TillLedger/A.swift", text: text)).isEmpty)
    }

    @Test(
        "Other words are accepted, and so are words inside literals",
        arguments: [
            "struct SettlementReport {}", "let message = \"nobody\"", "let bookshelf = 1", "curl(CURLOPT_NOBODY)",
            "// The holder of a receipt.",
        ])
    func leavesOthers(_ text: String) {
        #expect(WordRules.findings(in: SwiftSource(path: "Sources/TillLedger/A.swift", text: text)).isEmpty)
    }
}
