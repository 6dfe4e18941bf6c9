import Foundation
import Testing

@testable import till

@Suite("The page about plans")
struct PlanDocumentTests {
    /// The command of a `console` block after `$ `, with continued lines joined; and the output below it.
    private func example(_ page: String) throws -> (arguments: [String], output: String) {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/\(page)"), encoding: .utf8)
        let block = try #require(text.components(separatedBy: "```console\n$ till ").dropFirst().first)
        let lines = block.components(separatedBy: "\n```")[0].components(separatedBy: "\n")
        let end = try #require(lines.firstIndex { !$0.hasSuffix("\\") })
        let command = lines[...end].map { $0.hasSuffix("\\") ? String($0.dropLast()) : $0 }.joined()
        return (command.split(separator: " ").map(String.init), lines[(end + 1)...].joined(separator: "\n") + "\n")
    }

    @Test(
        "Its example is the command's output, in both languages: more days, never a negative price (C5, C6)",
        arguments: ["plans.md", "plans.zh-CN.md"])
    func example(of page: String) async throws {
        let (arguments, output) = try example(page)
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        #expect(await program.run(arguments) == .done, "\(recorder.error)")
        #expect(recorder.out == output)
        #expect(arguments.first == "convert" && output.contains("7.475 USD"))
    }
}
