import Foundation
import Testing

enum RepositoryRules {
    static let sizeLimit = 1 << 20

    /// Texts that belong to a machine or to a way of working and not to the project. A class of one letter keeps this
    /// file from containing what it searches for.
    private static let patterns: [(pattern: String, message: String)] = [
        (#"(?<![\w.])/wor[k]/"#, "a path of one machine"),
        (#"(?<![\w.])/roo[t]/"#, "a path of one machine"),
        (#"(?<![\w.])/far[m]/"#, "a path of one machine"),
        (#"(?<![\w.])/hom[e]/[a-z]"#, "a path of one machine"),
        (#"(?<![\w.])/User[s]/[A-Za-z]"#, "a path of one machine"),
        (#"\bin this sessio[n]\b"#, "speaks of how it was made"),
        (#"\bissu[e] #?2\b"#, "speaks of how it was made"),
        (#"\bCE[O]\b"#, "speaks of how it was made"),
        (#"\b(?:AI|coding|sub-?) ?agent[s]?\b"#, "speaks of how it was made"),
        (#"\b(?:AI|coding) assistan[t]"#, "speaks of how it was made"),
        (#"\b(?:Claud[e]|Anthropi[c]|ChatGP[T]|Copilo[t]|OpenA[I])\b"#, "speaks of how it was made"),
        (#"\blanguage mode[l]s?\b"#, "speaks of how it was made"),
    ]

    private static let expressions = patterns.map { pattern, message in
        (expression: try? NSRegularExpression(pattern: pattern, options: [.caseInsensitive]), message: message)
    }

    static func findings(in text: String, path: String) -> [Finding] {
        let whole = NSRange(text.startIndex..., in: text)
        return expressions.flatMap { expression, message -> [Finding] in
            (expression?.matches(in: text, range: whole) ?? []).map { match in
                let found = Range(match.range, in: text)
                let line = found.map { text[..<$0.lowerBound].count { $0 == "\n" } + 1 } ?? 0
                return Finding(path, line, "“\(found.map { text[$0] } ?? "")” \(message)")
            }
        }
    }

    static var patternsCompile: Bool { expressions.allSatisfy { $0.expression != nil } }

    static func isText(_ data: Data) -> Bool { !data.prefix(8_000).contains(0) }
}

@Suite("The repository")
struct RepositoryTests {
    @Test("No file mentions the machine or the way it was made on")
    func words() {
        let checkout = Checkout.current
        for path in checkout.paths {
            guard let data = checkout.data(path), RepositoryRules.isText(data) else { continue }
            expectNone(RepositoryRules.findings(in: path + "\n" + String(decoding: data, as: UTF8.self), path: path))
        }
    }

    @Test(
        "A path of a machine and a word about the making are found",
        arguments: [
            "see /wor" + "k/main", "HOME=/roo" + "t/x", "/hom" + "e/till/a", "as asked in issu" + "e 2",
            "in this sessio" + "n",
            "the AI agen" + "t", "Claud" + "e wrote it", "a language mode" + "l",
        ])
    func findsSample(_ text: String) {
        #expect(RepositoryRules.patternsCompile)
        #expect(RepositoryRules.findings(in: text, path: "a.md").count == 1)
    }

    @Test(
        "Similar words of the field are accepted",
        arguments: [
            "User-Agent: till", "any Connection of the database", "GET /emulator/root.cer", "/network/a", "issue 21",
            "/homepage",
            "a Swift 6 language mode",
        ])
    func leavesOthers(_ text: String) {
        #expect(RepositoryRules.findings(in: text, path: "a.md").isEmpty)
    }

    @Test("No file is larger than 1 MiB")
    func fileSizes() {
        for path in Checkout.current.paths {
            let size = Checkout.current.data(path)?.count ?? 0
            #expect(
                size <= RepositoryRules.sizeLimit, "\(path) has \(size) bytes: generate it, or fetch it when needed")
        }
    }

    @Test(
        "The files that newcomers look for exist",
        arguments: [
            "LICENSE", "CHANGELOG.md", "Makefile", ".ci/run", ".swift-format", ".editorconfig", "docs/STYLE.md",
        ])
    func basics(_ path: String) {
        #expect(Checkout.current.exists(path))
    }

    @Test("Scripts are executable")
    func scripts() {
        let scripts = Checkout.current.paths.filter { path in
            Checkout.current.data(path).map { $0.starts(with: Data("#!".utf8)) } ?? false
        }
        #expect(scripts.contains(".ci/run"))
        for path in scripts {
            let file = Checkout.current.root.appendingPathComponent(path).path
            #expect(FileManager.default.isExecutableFile(atPath: file), "\(path) is not executable")
        }
    }
}
