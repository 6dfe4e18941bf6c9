import Foundation
import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillLedger
import TillSQLite

@testable import till

@Suite("till backup and till restore") struct BackupTests {
    /// - Parameter seconds: after the tests' usual time.
    private func run(_ arguments: [String], after seconds: Int64 = 0) async -> (
        code: Int32, document: JSONValue, said: String
    ) {
        let recorder = Recorder()
        let process = ProcessEffects(
            console: recorder.console(), environment: [:], clock: { Instant(seconds: 1_790_000_000 + seconds) },
            entropy: RandomBytes.make, waitForStop: { {} })
        let code = await Program(commands: Command.all, process: process).run(
            arguments + ["--json", "--lang", "en"])
        return (code.rawValue, (try? JSONValue(decoding: recorder.out)) ?? .null, recorder.error)
    }

    private func emptyLedger(at path: String) async throws {
        await (try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))).close()
    }

    @Test("A directory keeps the newest backups, and nothing else is deleted")
    func directory() async throws {
        let folder = try TemporaryDirectory()
        let ledger = folder.path + "/till.db"
        try await emptyLedger(at: ledger)
        let copies = folder.path + "/copies"
        try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
        for name in ["till-20260101T000000Z.db", "till-20260102T000000Z.db", "till-notes.db", "other"] {
            try Data().write(to: URL(fileURLWithPath: copies + "/" + name))
        }
        let made = await run(["backup", copies, "--keep", "2", "--database", "sqlite:\(ledger)"])
        #expect(made.code == 0, "\(made.said)")
        let new = try #require(made.document["file"]?.string).split(separator: "/").last.map(String.init)
        let left = Set(try FileManager.default.contentsOfDirectory(atPath: copies))
        #expect(left == ["till-20260102T000000Z.db", try #require(new), "till-notes.db", "other"])
    }

    @Test("A half copy, a changed byte, a log of another file and what is no backup are refused, and nothing is left")
    func refused() async throws {
        let folder = try TemporaryDirectory()
        let ledger = folder.path + "/till.db"
        try await emptyLedger(at: ledger)
        let copy = folder.path + "/copy.db"
        #expect(await run(["backup", copy, "--database", "sqlite:\(ledger)"]).code == 0)
        let whole = try Data(contentsOf: URL(fileURLWithPath: copy))
        var changed = whole
        changed[whole.count / 2] ^= 1
        let sources: [(name: String, bytes: Data, reason: String)] = [
            ("without its label", whole.dropLast(4_096), "its end is missing"),
            ("half", whole.prefix(whole.count / 2), "its end is missing"),
            ("with a page and a label", whole.prefix(4_096) + whole.suffix(4_096), "its end is missing"),
            ("changed", changed, "is damaged"),
            ("a text", Data("points".utf8), "is not an SQLite file"),
            ("empty", Data(), "is not an SQLite file"),
        ]
        let target = folder.path + "/new.db"
        for source in sources {
            let path = folder.path + "/source.db"
            try source.bytes.write(to: URL(fileURLWithPath: path))
            let done = await run(["restore", path, "--to", target])
            #expect(done.code == 1 && done.said.contains(source.reason), "\(source.name): \(done.said)")
        }
        #expect(await run(["restore", folder.path + "/none.db", "--to", target]).said.contains("no such file"))
        let over = await run(["restore", copy, "--to", ledger])
        #expect(over.code == 1 && over.said.contains("exists"), "\(over.said)")
        try Data("log".utf8).write(to: URL(fileURLWithPath: target + "-wal"))
        let beside = await run(["restore", copy, "--to", target])
        #expect(beside.code == 1 && beside.said.contains("new.db-wal exists"), "\(beside.said)")
        let left = Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
        #expect(left.filter { !$0.hasPrefix("till.db") } == Set(["copy.db", "source.db", "new.db-wal"]))
    }

    @Test("What Litestream gives back, a ledger's own file, is restored too")
    func plainFile() async throws {
        let folder = try TemporaryDirectory()
        let (ledger, target) = (folder.path + "/till.db", folder.path + "/new.db")
        try await emptyLedger(at: ledger)
        let done = await run(["restore", ledger, "--to", "sqlite:\(target)"])
        #expect(done.code == 0 && done.document["epoch"] == 2, "\(done.said)")
        let again = await run(["restore", target, "--to", folder.path + "/third.db"])
        #expect(again.document["epoch"] == 3, "\(again.said)")
        // Which people were erased after the backup, only a configuration can say.
        #expect(again.said.contains("till erase --replay"), "\(again.said)")
    }

    @Test("Two restores of one backup announce themselves with different event ids (R4)")
    func twice() async throws {
        let folder = try TemporaryDirectory()
        let (ledger, source) = (folder.path + "/till.db", folder.path + "/source.db")
        try await emptyLedger(at: ledger)
        // The first restore also gives the ledger its id, which both have then.
        #expect(await run(["restore", ledger, "--to", source]).code == 0)
        var ids: [[UInt8]] = []
        for (name, seconds) in [("/one.db", Int64(60)), ("/two.db", 120)] {
            let done = await run(["restore", source, "--to", folder.path + name], after: seconds)
            #expect(done.document["epoch"] == 3, "\(done.said)")
            let restored = try SQLiteDatabase.open(path: folder.path + name, role: .operator, options: .init(.ledger))
            ids += try await restored.read { connection in
                try connection.query("SELECT event_id FROM outbox ORDER BY row_id DESC LIMIT 1", []) {
                    $0.blob("event_id")
                }
            }
            await restored.close()
        }
        #expect(ids.count == 2 && ids[0] != ids[1])
    }
}
