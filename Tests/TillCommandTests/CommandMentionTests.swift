import Foundation
import Testing

@testable import till

/// A message that recommends a command is worse than none if the command is not there.
@Suite("Commands named in messages, help and documents")
struct CommandMentionTests {
    private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Changes that are history, and requirements for later, may name what is not there.
    private static let left = ["docs/decisions/", "docs/scenarios.md"]
    /// Bytes that are hashed, and a flag of the simulation's own build.
    private static let known = ["till order 1", "till simulate --plant"]

    /// `till serve --config F` in backticks or Chinese quotation marks, and lines of shell blocks.
    private static func mentions(in text: String) -> [String] {
        var found: [String] = []
        for span in text.matches(of: #/[`“](till [a-z][^`”\n]*)[`”]/#) { found.append(String(span.1)) }
        for block in text.matches(of: #/```(?:sh|bash|console)\n((?:.|\n)*?)```/#) {
            for line in block.1.split(separator: "\n") {
                if let match = line.firstMatch(of: #/^(?:\$ )?(?:[A-Z_]+=\S+ )*(till [a-z].*)$/#) {
                    found.append(String(match.1))
                }
            }
        }
        return found
    }

    /// Why a mention names nothing that exists; nil if it exists.
    private static func fault(of mention: String) -> String? {
        let words = mention.split(separator: " ")
        let name = words.dropFirst().first.map { $0.prefix { $0.isLetter || $0 == "-" } } ?? ""
        if name == "help" { return nil }
        guard let command = Command.all.first(where: { $0.name == name }) else { return "there is no command \(name)" }
        let flags = (command.flags + Flag.common).map { "--" + $0.name }
        for match in mention.matches(of: #/(?:^|[\s\[(])(--[a-z][a-z-]*)/#) where !flags.contains(String(match.1)) {
            return "\(name) has no flag \(match.1)"
        }
        return nil
    }

    @Test("Every command and flag that a message, a help text or a document names exists (issue 20)")
    func mentionsExist() throws {
        var count = 0
        for folder in ["Sources", "docs", "Examples", "README.md", "README.zh-CN.md"] {
            for path in try Self.files(under: folder) where !Self.left.contains(where: path.hasPrefix) {
                let text = try String(contentsOf: Self.repository.appendingPathComponent(path), encoding: .utf8)
                for mention in Self.mentions(in: text) where !Self.known.contains(where: mention.hasPrefix) {
                    count += 1
                    if let fault = Self.fault(of: mention) { Issue.record("\(path): “\(mention)”: \(fault)") }
                }
            }
        }
        #expect(count > 100)
    }

    @Test("The check finds a command and a flag that do not exist")
    func check() {
        #expect(
            Self.mentions(in: "run `till doctr`, “till serve --confg F”\n```sh\ntill emulate --port 1\n```").count == 3)
        #expect(Self.fault(of: "till doctr") != nil)
        #expect(Self.fault(of: "till serve --confg F") != nil)
        #expect(Self.fault(of: "till serve --config F [--listen A]") == nil)
    }

    private static func files(under path: String) throws -> [String] {
        let url = repository.appendingPathComponent(path)
        guard let walker = FileManager.default.enumerator(atPath: url.path), !path.hasSuffix(".md") else {
            return [path]
        }
        return walker.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".md") }
            .filter { !$0.contains(".build/") }.map { "\(path)/\($0)" }
    }
}
