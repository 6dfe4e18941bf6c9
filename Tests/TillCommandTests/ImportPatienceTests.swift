import Foundation
import Testing
import TillAPI
import TillBilling
import TillCrypto
import TillLedger
import TillThreads

@testable import till

/// A ledger for which Apple answers only after some questions.
private final class SlowApple: ImportDestination {
    private let state: Locked<(silent: Int, asked: [[Int64]])>
    private let code: String
    let batch = 250

    init(silent: Int, code: String = "outage") {
        state = Locked((silent, []))
        self.code = code
    }

    /// The lines of each request.
    var asked: [[Int64]] { state.withLock { $0.asked } }

    private func answer(_ lines: [Int64]) -> [ImportOutcomeReply] {
        let isSilent = state.withLock { state in
            state.asked.append(lines)
            state.silent -= 1
            return state.silent >= 0
        }
        // The second row has a signature.
        return lines.map { line in
            guard isSilent, line != 2 else { return ImportOutcomeReply(line: line, outcome: "imported") }
            let sentence = LocalizedText(en: "Apple is away.", zh: "Apple 没有回答。")
            return ImportOutcomeReply(line: line, outcome: "waiting", code: code, sentence: sentence)
        }
    }

    func begin(_ file: ImportedFile) async throws -> LedgerImportReply { reply }

    private var reply: LedgerImportReply {
        LedgerImportReply(
            id: "i", format: "till", file: ("orders", ""), environment: .sandbox, caller: "till",
            beganAt: Instant(seconds: 1), endedAt: nil, counts: [0, 0, 0, 0], undone: 0, undoneAt: nil, undoneBy: nil)
    }

    func prepare(_ rows: [ImportFileReader.Row], as format: ImportFormat) async throws -> PreparedImportRows {
        PreparedImportRows(rows: rows)
    }

    func record(_ rows: PreparedImportRows, into run: LedgerImportReply) async throws -> [ImportOutcomeReply] {
        answer(rows.rows.map(\.entry.line))
    }

    func check(_ rows: [ImportFileReader.Row], as format: ImportFormat) async throws -> [ImportOutcomeReply] {
        answer(rows.map(\.entry.line))
    }

    func end(_ run: LedgerImportReply, _ counts: ImportCounts) async throws -> LedgerImportReply { reply }

    func undo(_ run: String, _ body: UndoImportBody) async throws -> UndoImportReply {
        UndoImportReply(undone: 0, kept: [], next: nil)
    }

    func list() async throws -> [LedgerImportReply] { [] }
}

@Suite("An import that waits for Apple") struct ImportPatienceTests {
    private static let file = (1...3).map { "{\"userId\":\"u\($0)\",\"kind\":\"purchase\"}\n" }.joined()

    private func run(
        _ apple: SlowApple, isDry: Bool = false, limit: Int64 = 1_000_000
    ) async throws -> (report: ImportRun.Report, said: String) {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/orders.jsonl"
        try Data(Self.file.utf8).write(to: URL(fileURLWithPath: path))
        let (recorder, time) = (Recorder(), Locked(Int64(1_790_000_000)))
        let process = ProcessEffects(
            console: recorder.console(), environment: [:],
            clock: {
                Instant(
                    seconds: time.withLock { time in
                        time += 1
                        return time
                    })
            }, entropy: RandomBytes.make, waitForStop: { {} })
        let call = Invocation(language: .english, wantsJSON: false, process: process)
        var run = ImportRun(destination: apple, format: .till, path: path, isDry: isDry, call: call)
        run.questions = ImportPatience(first: 1, longest: 4, limit: limit)
        return (try await run.run(), recorder.error)
    }

    @Test("Rows without an answer are sent again until Apple answers, and only those (R7)", arguments: [false, true])
    func waits(_ isDry: Bool) async throws {
        let apple = SlowApple(silent: 3)
        let (report, said) = try await run(apple, isDry: isDry)
        #expect(apple.asked == [[1, 2, 3], [1, 3], [1, 3], [1, 3]])
        #expect(report.counts.rows == 3 && report.counts.imported == 3)
        #expect(said.contains("Apple has not answered about 2 rows") && said.contains("Apple is away."))
    }

    @Test("A silence of half an hour, or a key that Apple refuses, ends the import with what to do (R7)")
    func ends() async throws {
        let silences = [(SlowApple(silent: 1_000), 2...10), (SlowApple(silent: 1_000, code: "unauthorized"), 1...1)]
        for (apple, requests) in silences {
            let error = await #expect(throws: CommandError.self) { _ = try await run(apple, limit: 5_000) }
            let said = error?.reasons.first?.en ?? ""
            #expect(said.contains("Import the file again to go on. Apple is away."), "\(said)")
            #expect(requests.contains(apple.asked.count), "\(apple.asked)")
        }
    }
}
