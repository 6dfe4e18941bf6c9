import Foundation
import Testing

enum DocumentRules {
    /// Relative links of a Markdown file whose target does not exist.
    static func brokenLinks(in text: String, path: String, exists: (String) -> Bool) -> [Finding] {
        let directory = path.split(separator: "/").dropLast().map(String.init)
        return links(in: text).compactMap { line, link in
            let target = link.prefix { $0 != "#" && $0 != "?" }
            guard !target.isEmpty, !isAbsolute(link) else { return nil }
            guard let resolved = resolve(target.removingPercentEncoding ?? String(target), from: directory) else {
                return Finding(path, line, "\(link) leads out of the repository")
            }
            return exists(resolved) ? nil : Finding(path, line, "\(link) leads nowhere")
        }
    }

    private static func isAbsolute(_ link: String) -> Bool {
        ["http://", "https://", "mailto:"].contains { link.hasPrefix($0) }
    }

    private static func resolve(_ link: String, from directory: [String]) -> String? {
        var parts = link.hasPrefix("/") ? [] : directory
        for part in link.split(separator: "/") where part != "." {
            if part == ".." {
                if parts.popLast() == nil { return nil }
            } else {
                parts.append(String(part))
            }
        }
        return parts.joined(separator: "/")
    }

    /// `[text](target "title")`, `![image](target)` and `[name]: target`, outside code.
    private static func links(in text: String) -> [(line: Int, link: String)] {
        var links: [(line: Int, link: String)] = []
        for (number, line) in prose(of: text) {
            let withoutCode = line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 0 }.map { String($0.element) }.joined(separator: "x")
            for part in withoutCode.components(separatedBy: "](").dropFirst() {
                let target = part.prefix { $0 != ")" && $0 != " " }
                links.append((number, String(target)))
            }
            if line.hasPrefix("["), let colon = line.firstRange(of: "]: ") {
                links.append((number, String(line[colon.upperBound...].prefix { $0 != " " })))
            }
        }
        return links
    }

    /// Lines outside fenced code, numbered from 1.
    private static func prose(of text: String) -> [(Int, String)] {
        var isCode = false
        return text.components(separatedBy: "\n").enumerated().compactMap { index, line in
            if line.drop(while: { $0 == " " }).hasPrefix("```") {
                isCode.toggle()
                return nil
            }
            return isCode ? nil : (index + 1, line)
        }
    }

    /// The number of headings of each level, and of code blocks.
    struct Shape: Hashable {
        let headings: [String]
        let codeBlocks: Int

        init(_ text: String) {
            headings = prose(of: text).map(\.1).filter { $0.hasPrefix("#") }.map { String($0.prefix { $0 == "#" }) }
            codeBlocks =
                text.components(separatedBy: "\n").count { $0.drop { $0 == " " }.hasPrefix("```") } / 2
        }
    }

    /// Decisions are numbered from 0001 without a gap, so that “0004” always means the same file.
    static func decisions(_ names: [String]) -> [Finding] {
        names.sorted().enumerated().compactMap { index, name in
            let expected = String(format: "%04d-", index + 1)
            let isNamed = name.hasPrefix(expected) && name.hasSuffix(".md") && name.count > expected.count + 3
            return isNamed ? nil : Finding("docs/decisions/\(name)", 0, "the next decision is called \(expected)….md")
        }
    }
}

@Suite("Documents")
struct DocumentTests {
    @Test("Every relative link in the READMEs and in docs has a target")
    func links() {
        let checkout = Checkout.current
        let documents = checkout.paths.filter { $0.hasSuffix(".md") }
        for path in documents {
            expectNone(DocumentRules.brokenLinks(in: checkout.text(path) ?? "", path: path, exists: checkout.exists))
        }
    }

    @Test("A broken link is found, and code is not read as a link")
    func findsLinks() {
        let text = """
            [a](b.md#part) ![c](../d.png "title") [e](https://example.org/f) [g](#here) `[h](i.md)`
            ```
            [j](k.md)
            ```
            [l]: ../../m.md
            """
        let findings = DocumentRules.brokenLinks(in: text, path: "docs/a.md") { $0 == "docs/b.md" }
        #expect(findings.map(\.line) == [1, 5])
        #expect(DocumentRules.brokenLinks(in: text, path: "docs/a.md") { $0 != "docs/b.md" }.count == 2)
    }

    @Test("Decisions are numbered without gaps")
    func decisions() {
        let prefix = "docs/decisions/"
        let names = Checkout.current.paths.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        #expect(!names.isEmpty)
        expectNone(DocumentRules.decisions(names))
    }

    @Test("A gap, a number used twice and a decision without a name are found")
    func findsDecisions() {
        #expect(DocumentRules.decisions(["0001-a.md", "0002-b.md"]).isEmpty)
        #expect(DocumentRules.decisions(["0001-a.md", "0003-b.md"]).count == 1)
        #expect(DocumentRules.decisions(["0001-a.md", "0001-b.md"]).count == 1)
        #expect(DocumentRules.decisions(["0001-.md"]).count == 1)
    }

    @Test(
        "The two READMEs have the same headings and blocks of code",
        .enabled(if: Checkout.current.paths.contains { $0.hasPrefix("README") }, "there is no README yet"))
    func readmes() throws {
        let english = try #require(Checkout.current.text("README.md"))
        let chinese = try #require(Checkout.current.text("README.zh-CN.md"))
        #expect(DocumentRules.Shape(english).headings.count > 1)
        #expect(DocumentRules.Shape(english) == DocumentRules.Shape(chinese))
    }

    @Test("A heading or a code block that only one README has is found")
    func findsShapes() {
        let text = "# Till\n\n## Try\n\n```sh\n# no heading\nmake demo\n```\n"
        #expect(DocumentRules.Shape(text) == DocumentRules.Shape("# 收银台\n## 试一试\n```\n#\n```"))
        #expect(DocumentRules.Shape(text) != DocumentRules.Shape(text + "\n## More\n"))
        #expect(DocumentRules.Shape(text) != DocumentRules.Shape(text + "\n```\nmake test\n```\n"))
    }

    @Test("The change log has a section for unreleased changes")
    func changelog() throws {
        let text = try #require(Checkout.current.text("CHANGELOG.md"))
        #expect(text.contains("\n## [Unreleased]\n"))
    }
}
