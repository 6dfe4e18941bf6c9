import Foundation
import Testing
import TillHTTP

/// docs/emulator.md, tried out: its commands as they are, on other ports.
@Suite("The emulator's page, tried out (issue 20)")
struct EmulatorPageTests {
    private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private struct Page {
        let text: String

        init(_ path: String) throws {
            text = try String(contentsOf: repository.appendingPathComponent(path), encoding: .utf8)
        }

        /// The shell blocks of the section with this number.
        func blocks(of section: Int) -> [String] {
            let sections = text.components(separatedBy: "\n## ")
            guard sections.indices.contains(section) else { return [] }
            return sections[section].components(separatedBy: "```sh\n").dropFirst().compactMap { part in
                part.range(of: "```").map { String(part[..<$0.lowerBound]) }
            }
        }

        /// The table of support cases: the commands, and what the answer contains.
        var cases: [(name: String, commands: String, answer: String)] {
            text.split(separator: "\n").compactMap { line in
                line.wholeMatch(of: #/\| (.+?) \| `(.+)` \| `(".+?)` \|/#)
                    .map { (String($0.1), String($0.2), String($0.3)) }
            }
        }
    }

    @Test("Both languages show the same commands, and every case of support has a row")
    func languages() throws {
        let (english, chinese) = (try Page("docs/emulator.md"), try Page("docs/emulator.zh-CN.md"))
        for section in 1...2 {
            #expect(english.blocks(of: section).count >= 4)
            #expect(english.blocks(of: section) == chinese.blocks(of: section))
        }
        #expect(english.cases.map(\.commands) == chinese.cases.map(\.commands))
        #expect(english.cases.map(\.answer) == chinese.cases.map(\.answer))
        let names = english.cases.map(\.name).joined(separator: "\n")
        for name in [
            "a refund", "reverses", "refund request", "order number", "transfer", "its reversal", "owner restores",
            "another customer restores", "Ask to Buy: approved", "Ask to Buy: declined", "price increase", "consent",
            "offer code", "billing retry", "recovery", "grace period", "a lapse", "winning the customer back",
        ] {
            #expect(names.contains(name), "\(name)")
        }
    }

    @Test("A year in five minutes", .slow)
    func year() async throws {
        let output = try await Self.run(try Page("docs/emulator.md").blocks(of: 1), [])
        #expect(output.contains(#""state":"billingRetry""#) || output.contains("illing"), "\(output.suffix(2_000))")
        #expect(output.contains(#""seed":7"#), "\(output.suffix(2_000))")
    }

    @Test("A month beside a server: renewal and expiry are seen, and each support case ends as its row says", .slow)
    func monthAndCases() async throws {
        let page = try Page("docs/emulator.md")
        let output = try await Self.run(page.blocks(of: 2), page.cases.map(\.commands))
        let parts = output.components(separatedBy: Self.mark)
        try #require(parts.count == page.cases.count + 1, "\(output.suffix(4_000))")
        let month = parts[0].split(separator: "\n").filter { $0.hasPrefix(#"{"allowed""#) }
        try #require(month.count == 3, "\(parts[0].suffix(4_000))")
        #expect(month[0].hasPrefix(#"{"allowed":true"#) && month[1].hasPrefix(#"{"allowed":true"#))
        #expect(Self.until(month[0]) < Self.until(month[1]), "renewed")
        #expect(month[2].hasPrefix(#"{"allowed":false"#) && month[2].contains(#""why":"cancelled""#), "\(month[2])")
        for (row, output) in zip(page.cases, parts.dropFirst()) {
            #expect(output.contains(row.answer), "\(row.name): \(output.suffix(1_500))")
        }
    }

    private static func until(_ line: Substring) -> String {
        line.firstMatch(of: #/"until":"([^"]+)"/#).map { String($0.1) } ?? ""
    }

    private static let mark = "--- the next row ---\n"

    /// Runs blocks, and then rows, in one shell.
    private static func run(_ blocks: [String], _ rows: [String]) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("page-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("scratch"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let script =
            """
            cd '\(folder.path)'
            export PATH='\(TillProcess.programs.path)':$PATH no_proxy='*'
            trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT

            """ + (blocks + rows.map { "printf '%s' '\(mark)'\n\($0)\n" }).joined(separator: "\n")
        let (store, server) = (try await freePort(), try await freePort())
        let moved = script.replacingOccurrences(of: "8789", with: "\(store)")
            .replacingOccurrences(of: "127.0.0.1:8787", with: "127.0.0.1:\(server)")
        let shell = try TillProcess.start(["-c", moved], executable: "/bin/bash")
        defer { shell.abandon() }
        return await shell.finish().output
    }

    private static func freePort() async throws -> UInt16 {
        let listener = try Listener(bodyLimit: { _, _ in 0 }, handler: { _ in HTTPResponse(status: 200) })
        let port = listener.port
        await listener.stop(grace: 0)
        return port
    }
}
