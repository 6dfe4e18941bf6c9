import Foundation
import Testing

/// docs/scaling.md shows the files of Examples/Scaling, which scripts/failover-cluster uses as they stand.
enum ScalingPageRules {
    static let folder = "Examples/Scaling/"
    static let pages = ["docs/scaling.md", "docs/scaling.zh-CN.md"]

    /// Files whose text is no code block of the page.
    static func missing(_ files: [(path: String, text: String)], in page: String, path: String) -> [Finding] {
        let blocks = Set(codeBlocks(of: page))
        return files.compactMap { file in
            blocks.contains(file.text) ? nil : Finding(path, 0, "no code block is the text of \(file.path)")
        }
    }

    static func codeBlocks(of page: String) -> [String] {
        var blocks: [String] = []
        var block: [String]?
        for line in page.components(separatedBy: "\n") {
            guard line.hasPrefix("```") else {
                block?.append(line)
                continue
            }
            if let lines = block { blocks.append(lines.map { $0 + "\n" }.joined()) }
            block = block == nil ? [] : nil
        }
        return blocks
    }
}

@Suite("The page about several servers")
struct ScalingPageTests {
    private let checkout = Checkout.current
    private var files: [(path: String, text: String)] {
        checkout.paths.filter { $0.hasPrefix(ScalingPageRules.folder) }.compactMap { path in
            checkout.text(path).map { (path, $0) }
        }
    }

    @Test("The page shows each file that the failover test uses, letter by letter, in both languages")
    func shownFiles() throws {
        #expect(files.count >= 9)
        for path in ScalingPageRules.pages {
            let page = try #require(checkout.text(path))
            expectNone(ScalingPageRules.missing(files, in: page, path: path))
        }
    }

    @Test("Both languages show the same commands, apart from comments")
    func commands() throws {
        let blocks = try ScalingPageRules.pages.map { path in
            ScalingPageRules.codeBlocks(of: try #require(checkout.text(path))).map { block in
                block.split(separator: "\n").map { line in
                    line.components(separatedBy: " # ").first.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
                }
            }
        }
        #expect(blocks.first?.isEmpty == false)
        #expect(blocks.first == blocks.last)
    }

    /// Rules for Prometheus, and a unit for systemd: the cluster of the test has neither.
    private static let unused = ["alerts.yml", "till.service"]

    @Test("The failover test names every file of the folder that a machine of the cluster reads")
    func used() throws {
        let scripts = try ["scripts/failover-cluster", "scripts/failover-test"].map {
            try #require(checkout.text($0))
        }
        let load = try #require(checkout.text("Benchmarks/TillLoad/TillLoad.swift"))
        for file in files where !Self.unused.contains(where: file.path.hasSuffix) {
            let name = file.path.dropFirst(ScalingPageRules.folder.count)
            #expect((scripts + [load]).contains { $0.contains("/\(name)") }, "\(file.path)")
        }
    }

    @Test("A file that differs from its block is found")
    func findsSample() {
        let page = "text\n\n```yaml\na: 1\n```\n"
        #expect(ScalingPageRules.missing([("a.yml", "a: 1\n")], in: page, path: "p.md").isEmpty)
        #expect(ScalingPageRules.missing([("a.yml", "a: 2\n")], in: page, path: "p.md").count == 1)
    }
}
