import Foundation
import Testing
import TillSQL

@testable import TillSQLite

@Suite("The file, its lock and its versions")
struct FileTests {
    let directory = TemporaryDirectory()

    private func serve(
        _ path: String? = nil, _ change: (inout SQLiteDatabase.Options) -> Void = { _ in }
    ) throws(DatabaseError) -> SQLiteDatabase {
        try SQLiteDatabase.open(
            path: path ?? directory.database, role: .server, options: Ledger.options(change))
    }

    private func operate() throws(DatabaseError) -> SQLiteDatabase {
        try SQLiteDatabase.open(path: directory.database, role: .operator, options: Ledger.options())
    }

    @Test("A second server on the same file is refused with the process that has it, under any name of the file")
    func secondServer() async throws {
        let first = try serve()
        let alias = directory.path + "/alias.db"
        try FileManager.default.createSymbolicLink(atPath: alias, withDestinationPath: directory.database)
        for path in [directory.database, directory.path + "/../" + directory.name + "/ledger.db", alias] {
            let refusal = await thrownError { try serve(path) }
            #expect(refusal?.kind == .inUse)
            #expect(refusal?.detail.contains("process \(getpid())") == true, "\(refusal?.detail ?? "")")
            #expect(refusal?.detail.contains("stop it first") == true)
        }
        await first.close()
        let second = try serve()
        await second.close()
    }

    @Test("A server in another process locks the file while it lives, and a killed one leaves no stale lock")
    func otherProcess() async throws {
        let lockOwner = Process()
        lockOwner.executableURL = URL(fileURLWithPath: "/bin/sh")
        let script = "exec 9<>\"$0\"; flock -n 9 && echo $$ >&9 && echo ready; exec sleep 60"
        #expect(FileManager.default.createFile(atPath: directory.database + "-lock", contents: nil))
        lockOwner.arguments = ["-c", script, directory.database + "-lock"]
        let output = Pipe()
        lockOwner.standardOutput = output
        try lockOwner.run()
        #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "ready\n")
        let refusal = await thrownError { try serve() }
        #expect(refusal?.kind == .inUse)
        #expect(refusal?.detail.contains("process \(lockOwner.processIdentifier)") == true, "\(refusal?.detail ?? "")")
        kill(lockOwner.processIdentifier, SIGKILL)
        lockOwner.waitUntilExit()
        let database = try serve()
        // The reverse: this process's server keeps another process out.
        let other = Process()
        other.executableURL = URL(fileURLWithPath: "/bin/sh")
        other.arguments = ["-c", "exec 9<>\"$0\"; flock -n 9", directory.database + "-lock"]
        try other.run()
        other.waitUntilExit()
        #expect(other.terminationStatus == 1)
        await database.close()
    }

    @Test("A database object that is released without close releases the file too")
    func dropped() async throws {
        do { _ = try serve() }
        var reopened: SQLiteDatabase?
        for _ in 0..<200 where reopened == nil {
            reopened = try? serve()
            if reopened == nil { usleep(10_000) }
        }
        #expect(reopened != nil)
        await reopened?.close()
    }

    @Test("Beside the server an operator reads commits that are still in the log, and can't write")
    func operatorBesideServer() async throws {
        let server = try serve()
        for id in Int64(1)...20 { _ = try await server.write { try Ledger.grant(id, in: $0) } }
        let client = try operate()
        #expect(try await client.read(Ledger.granted).count == 20)
        _ = try await server.write { try Ledger.grant(21, in: $0) }
        #expect(try await client.read(Ledger.granted).count == 21)
        let refusal = await thrownError { try await client.write { try Ledger.grant(22, in: $0) } }
        #expect(refusal?.kind == .readOnly)
        await client.close()
        _ = try await server.write { try Ledger.grant(23, in: $0) }
        await server.close()
    }

    @Test("An operator opens a database without a running server; a missing one is a clear fault")
    func operatorAlone() async throws {
        let missing = await thrownError { try operate() }
        #expect(missing?.detail.contains("no database") == true)
        let server = try serve()
        _ = try await server.write { try Ledger.grant(1, in: $0) }
        await server.close()
        let client = try operate()
        #expect(try await client.read(Ledger.granted) == [1])
        let otherClient = try serve()
        _ = try await otherClient.write { try Ledger.grant(2, in: $0) }
        #expect(try await client.read(Ledger.granted) == [1, 2])
        await otherClient.close()
        await client.close()
    }

    @Test("Only the current user can read the files")
    func rights() async throws {
        let database = try serve()
        _ = try await database.write { try Ledger.grant(1, in: $0) }
        for suffix in ["", "-wal", "-shm", "-lock"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.database + suffix)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(suffix)")
        }
        await database.close()
    }

    @Test("A clean close leaves one file without a log")
    func cleanClose() async throws {
        let database = try serve()
        for id in Int64(1)...20 { _ = try await database.write { try Ledger.grant(id, in: $0) } }
        await database.close()
        #expect(!FileManager.default.fileExists(atPath: directory.database + "-wal"))
    }

    @Test("An impossible path is refused with a remedy")
    func badPaths() async {
        let missing = await thrownError { try serve(directory.path + "/no/such/ledger.db") }
        #expect(missing?.detail.contains("does not exist; create it first") == true)
        for path in ["", ":memory:", directory.path, directory.path + "/"] {
            #expect(await thrownError { try serve(path) } != nil, "\(path)")
        }
    }

    @Test("Another program's database and files that are no database are refused and left unchanged")
    func foreignFiles() async throws {
        let foreign = directory.path + "/foreign.db"
        let other = try serve(foreign) { $0.schema.applicationID = 42 }
        await other.close()
        let before = FileManager.default.contents(atPath: foreign)
        #expect(await thrownError { try serve(foreign) }?.kind == .corrupt)
        #expect(FileManager.default.contents(atPath: foreign) == before)
        let text = directory.path + "/text.db"
        try Data("this is no database, whatever its name says. ".utf8 + Data(count: 5_000))
            .write(to: URL(fileURLWithPath: text))
        #expect(await thrownError { try serve(text) }?.kind == .corrupt)
    }

    @Test("An older file is migrated with its rows; a newer one is refused")
    func migrations() async throws {
        let first = try serve()
        _ = try await first.write { try Ledger.grant(1, in: $0) }
        await first.close()
        let later: [Migration] =
            Ledger.migrations + [
                ["ALTER TABLE grants ADD COLUMN product TEXT", "UPDATE grants SET product = 'points.60';"],
                ["CREATE TABLE outbox (id INTEGER PRIMARY KEY) STRICT"],
            ]
        let second = try serve { $0.schema.migrations = later }
        #expect(
            try await second.read { try $0.query("SELECT product FROM grants", []) { $0.text("product") } } == [
                "points.60"
            ])
        #expect(try await second.read { try $0.first("PRAGMA user_version", []) { $0.integer("user_version") } } == 3)
        await second.close()
        for role in [DatabaseRole.server, .operator] {
            let refusal = await thrownError {
                try SQLiteDatabase.open(path: directory.database, role: role, options: Ledger.options())
            }
            #expect(refusal?.kind == .newerSchema)
            #expect(refusal?.detail.contains("upgrade the program") == true)
        }
    }

    @Test("A file older than the first numbered version is refused and left unchanged")
    func unreleased() async throws {
        let first = try serve()
        _ = try await first.write { try Ledger.grant(1, in: $0) }
        await first.close()
        for role in [DatabaseRole.server, .operator] {
            let refusal = await thrownError {
                try SQLiteDatabase.open(
                    path: directory.database, role: role, options: Ledger.options { $0.schema.firstVersion = 101 })
            }
            #expect(refusal?.kind == .unreleasedSchema && refusal?.isRetryable == false)
            #expect(refusal?.detail.contains("schema version 1, which is from before the first release") == true)
        }
        let again = try serve()
        #expect(try await again.read { try Ledger.granted(in: $0) } == [1])
        await again.close()
    }

    @Test("A file records its migrations and their times, and is refused if the text of one has changed")
    func history() async throws {
        let migration = Migration(["CREATE TABLE notes (id INTEGER PRIMARY KEY) STRICT"], sha256: [1, 254])
        let filling = Migration(["INSERT INTO notes (id) VALUES (7)"], phase: .contract, sha256: [3])
        let first = try serve { $0.schema.migrations = [migration, filling] }
        let lines = try await first.read { connection in
            try connection.query(
                "SELECT number, hex(sha256) AS digest, phase, applied_at FROM schema_migrations ORDER BY number", []
            ) { row in
                let isRecent = row.integer("applied_at") > 1_700_000_000_000
                return "\(row.integer("number")) \(row.text("digest")) \(row.text("phase")) \(isRecent)"
            }
        }
        #expect(lines == ["1 01FE expand true", "2 03 contract true"])
        await first.close()
        let again = try serve { $0.schema.migrations = [migration, filling] }
        await again.close()
        let edited = Migration(migration.scripts, sha256: [1, 255])
        for role in [DatabaseRole.server, .operator] {
            let refusal = await thrownError {
                try SQLiteDatabase.open(
                    path: directory.database, role: role,
                    options: Ledger.options { $0.schema.migrations = [edited, filling] })
            }
            #expect(refusal?.kind == .unreleasedSchema)
            #expect(refusal?.detail.contains("migration 1 of this file") == true)
        }
    }

    @Test("Versions are numbered upward from the first one")
    func firstVersion() async throws {
        let later = Ledger.migrations + [["CREATE TABLE outbox (id INTEGER PRIMARY KEY) STRICT"]]
        let first = try serve { $0.schema.firstVersion = 101 }
        await first.close()
        let second = try serve {
            $0.schema.firstVersion = 101
            $0.schema.migrations = later
        }
        let version = try await second.read { try $0.first("PRAGMA user_version", []) { $0.integer("user_version") } }
        #expect(version == 102)
        await second.close()
        #expect(await thrownError { try serve { $0.schema.firstVersion = 101 } }?.kind == .newerSchema)
    }

    @Test("A failed migration leaves the previous version intact")
    func failedMigration() async throws {
        let first = try serve()
        await first.close()
        let broken = Ledger.migrations + [["CREATE TABLE half (id INTEGER) STRICT; CREATE NONSENSE;"]]
        let refusal = await thrownError { try serve { $0.schema.migrations = broken } }
        #expect(refusal?.detail.contains("migration 2") == true)
        let again = try serve()
        #expect(
            try await again.read { try $0.first("SELECT 1 FROM sqlite_schema WHERE name = 'half'", []) { _ in 1 } }
                == nil)
        await again.close()
        let older = await thrownError {
            try SQLiteDatabase.open(
                path: directory.database, role: .operator,
                options: Ledger.options {
                    $0.schema.migrations = Ledger.migrations + [["CREATE TABLE more (id INTEGER)"]]
                })
        }
        #expect(older?.detail.contains("start the server once") == true)
    }
}
