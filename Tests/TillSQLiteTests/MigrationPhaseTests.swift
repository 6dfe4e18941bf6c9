import Foundation
import Testing
import TillSQL

@testable import TillSQLite

/// A schema that grew in three releases: the second adds a column and fills it, the third relies on it.
private enum Growing {
    static let first: Migration = ["CREATE TABLE notes (row_id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT"]
    static let expand: Migration = ["ALTER TABLE notes ADD COLUMN size INTEGER"]
    static let backfill = Migration(
        Backfill(
            table: "notes",
            statement: "UPDATE notes SET size = length(text) WHERE row_id > ?1 AND row_id <= ?2 AND size IS NULL"))
    static let contract = Migration(
        [
            """
            CREATE TRIGGER notes_have_a_size BEFORE INSERT ON notes WHEN NEW.size IS NULL
            BEGIN SELECT RAISE(ABORT, 'a note without a size'); END
            """
        ], phase: .contract)

    static func schema(_ migrations: Migration...) -> DatabaseSchema {
        DatabaseSchema(migrations: migrations, applicationID: 0x5469_6C6C)
    }

    static let release1 = schema(first)
    static let release2 = schema(first, expand, backfill)
    static let release3 = schema(first, expand, backfill, contract)
}

@Suite("Migrations in three phases") struct MigrationPhaseTests {
    private let directory = TemporaryDirectory()

    private func open(_ schema: DatabaseSchema, _ path: String? = nil) throws(DatabaseError) -> SQLiteDatabase {
        try SQLiteDatabase.open(path: path ?? directory.database, role: .server, options: .init(schema))
    }

    /// A file of the first release with notes whose row ids have gaps.
    private func writeFirstRelease(notes: Int64) async throws {
        let ledger = try open(Growing.release1)
        try await ledger.write { connection in
            for number in 1...notes {
                try connection.execute(
                    "INSERT INTO notes (row_id, text) VALUES (?1, ?2)",
                    [.integer(number * 7), .text(String(repeating: "x", count: Int(number % 9)))])
            }
        }
        await ledger.close()
    }

    private func unfilled(_ ledger: any Database) async throws -> Int64? {
        try await ledger.read { connection in
            try connection.first(
                "SELECT count(*) AS count FROM notes WHERE size IS NOT length(text)", []
            ) { $0.integer("count") }
        }
    }

    @Test(
        "The start expands and registers the backfill; batches fill every old row once, and the third release follows")
    func threeReleases() async throws {
        try await writeFirstRelease(notes: 100)
        let second = try open(Growing.release2)
        let backfills = Backfills(second, Growing.release2)
        #expect(try await backfills.remaining().map(\.rows) == [100])
        #expect(try await unfilled(second) == 100, "the start fills nothing")
        // The program of the second release writes the new column itself.
        _ = try await second.write { connection in
            try connection.execute("INSERT INTO notes (row_id, text, size) VALUES (9000, 'new', 3)", [])
        }
        var steps: [Backfills.Progress] = []
        while let step = try await backfills.fillBatch(of: 30, at: 5) { steps.append(step) }
        #expect(steps.map(\.rows) == [30, 60, 90, 100, 100])
        #expect(steps.map(\.isFinished) == [false, false, false, false, true])
        #expect(try await unfilled(second) == 0)
        #expect(try await backfills.remaining().isEmpty)
        await second.close()

        let third = try open(Growing.release3)
        #expect(try await Backfills(third, Growing.release3).fillBatch(of: 30, at: 6) == nil)
        let refusal = await thrownError {
            try await third.write { try $0.execute("INSERT INTO notes (row_id, text) VALUES (9001, 'old')", []) }
        }
        #expect(refusal?.kind == .constraint)
        await third.close()
    }

    @Test("A backfill continues where it was after a crash between any two batches", arguments: 0..<5)
    func crash(_ batches: Int) async throws {
        try await writeFirstRelease(notes: 100)
        let running = try open(Growing.release2)
        for _ in 0..<batches {
            _ = try await Backfills(running, Growing.release2).fillBatch(of: 25, at: 5)
        }
        // What the files contain now is what a killed process leaves.
        let copy = directory.path + "/killed.db"
        for ending in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: directory.database + ending, toPath: copy + ending)
        }
        let again = try open(Growing.release2, copy)
        let backfills = Backfills(again, Growing.release2)
        #expect(try await backfills.remaining().map(\.rows) == [100 - Int64(batches) * 25])
        while let step = try await backfills.fillBatch(of: 25, at: 6) { #expect(step.rows <= 100) }
        #expect(try await unfilled(again) == 0)
        await again.close()
        await running.close()
    }

    @Test("The third release is refused until the backfill is finished, before it changes anything")
    func contractWaits() async throws {
        try await writeFirstRelease(notes: 10)
        // A release was skipped: the backfill has not even begun.
        var refusal = await thrownError { try open(Growing.release3) }
        #expect(refusal?.kind == .unfinishedBackfill)
        #expect(refusal?.detail.contains("migration 4 removes what the backfill 3 reads") == true)
        #expect(try SQLiteDatabase.version(of: directory.database, options: .init(Growing.release3)) == 1)
        let second = try open(Growing.release2)
        _ = try await Backfills(second, Growing.release2).fillBatch(of: 5, at: 5)
        // The same answer beside the server, which a hand-over asks for.
        refusal = await thrownError {
            try SQLiteDatabase.check(path: directory.database, options: .init(Growing.release3))
        }
        #expect(refusal?.kind == .unfinishedBackfill)
        await second.close()
        refusal = await thrownError { try open(Growing.release3) }
        #expect(refusal?.kind == .unfinishedBackfill)
        let still = try open(Growing.release2)
        while try await Backfills(still, Growing.release2).fillBatch(of: 5, at: 5) != nil {}
        await still.close()
        let third = try open(Growing.release3)
        await third.close()
    }

    @Test("An older program is refused, with and without a server; a new file has nothing to fill")
    func olderAndNew() async throws {
        let new = try open(Growing.release3)
        #expect(try await Backfills(new, Growing.release3).fillBatch(of: 5, at: 5) == nil)
        for role in [DatabaseRole.server, .operator] {
            let refusal = await thrownError {
                if role == .server {
                    try SQLiteDatabase.check(path: directory.database, options: .init(Growing.release2))
                } else {
                    _ = try SQLiteDatabase.open(
                        path: directory.database, role: role, options: .init(Growing.release2))
                }
            }
            #expect(refusal?.kind == .newerSchema)
        }
        await new.close()
        #expect(try SQLiteDatabase.version(of: directory.path + "/none.db", options: .init(Growing.release3)) == 0)
    }
}
