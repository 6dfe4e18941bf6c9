import Foundation
import Testing
import TillSQL
import TillTestDatabases

@testable import TillPostgres

@Suite("Schemas on PostgreSQL", .enabled(if: PostgresCluster.isInstalled, "PostgreSQL 15 is not installed"))
struct SchemaTests {
    private static func schema(_ migrations: [Migration]) -> DatabaseSchema {
        DatabaseSchema(
            migrations: migrations, applicationID: 0x5465_7374, firstVersion: 1, appendOnlyTables: ["entries"])
    }

    private static let first = Migration([], postgres: ["CREATE TABLE entries (row_id BIGINT PRIMARY KEY, a BIGINT)"])
    private static let second = Migration(
        [], postgres: ["ALTER TABLE entries ADD COLUMN b BIGINT"], sha256: [], postgresSHA256: [7])
    private static let backfill = Migration(
        Backfill(
            table: "entries", statement: "UPDATE entries SET b = a WHERE row_id > ?1 AND row_id <= ?2 AND b IS NULL"))
    private static let contract = Migration([], postgres: ["ALTER TABLE entries DROP COLUMN a"], phase: .contract)

    private static func options(_ migrations: [Migration]) -> PostgresDatabase.Options { .init(schema(migrations)) }

    @Test("Servers that start together make the tables once; a newer schema and another program's tables are refused")
    func versions() async throws {
        try await Store.with { store in
            let options = Self.options([Self.first])
            let opened = try await withThrowingTaskGroup(of: PostgresDatabase.self) { group in
                for _ in 0..<4 {
                    group.addTask { try PostgresDatabase.open(address: store.address, role: .server, options: options) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for database in opened { await database.close() }
            #expect(try PostgresDatabase.version(of: store.address, options: options) == 1)
            let newer = Self.options([Self.first, Self.second])
            try PostgresDatabase.check(address: store.address, options: newer)
            try PostgresDatabase.migrate(address: store.address, options: newer, grantingTo: nil)
            #expect(try PostgresDatabase.version(of: store.address, options: newer) == 2)
            let old = #expect(throws: DatabaseError.self) {
                try PostgresDatabase.open(address: store.address, role: .server, options: options)
            }
            #expect(old?.kind == .newerSchema)
            var other = newer
            other.schema.applicationID = 1
            let foreign = #expect(throws: DatabaseError.self) {
                try PostgresDatabase.check(address: store.address, options: other)
            }
            #expect(foreign?.kind == .corrupt)
            let changed = Migration([], postgres: ["SELECT 1"], sha256: [], postgresSHA256: [8])
            let edited = #expect(throws: DatabaseError.self) {
                try PostgresDatabase.check(address: store.address, options: Self.options([Self.first, changed]))
            }
            #expect(edited?.kind == .unreleasedSchema)
        }
        try await Store.with { store in
            try store.session().run("CREATE TABLE theirs (a INT)")
            let error = #expect(throws: DatabaseError.self) {
                try PostgresDatabase.open(address: store.address, role: .server, options: Self.options([Self.first]))
            }
            #expect(error?.kind == .corrupt && error?.detail.contains("1 tables of another program") == true)
        }
    }

    @Test("A failed migration leaves the version before it, and the servers that run")
    func failure() async throws {
        try await Store.with { store in
            try PostgresDatabase.migrate(address: store.address, options: Self.options([Self.first]), grantingTo: nil)
            let broken = Migration([], postgres: ["CREATE TABLE more (a BIGINT); SELECT no_function()"])
            let error = #expect(throws: DatabaseError.self) {
                try PostgresDatabase.migrate(
                    address: store.address, options: Self.options([Self.first, broken]), grantingTo: nil)
            }
            #expect(error?.detail.hasPrefix("migration 2: ") == true)
            #expect(try PostgresDatabase.version(of: store.address, options: Self.options([Self.first])) == 1)
            #expect(try store.session().run("SELECT to_regclass('more')") == [[nil]])
        }
    }

    @Test("A migration waits for the rows of a running server without making it wait, and succeeds when they are free")
    func waiting() async throws {
        try await Store.with { store in
            try PostgresDatabase.migrate(address: store.address, options: Self.options([Self.first]), grantingTo: nil)
            let server = try store.session()
            try server.run("BEGIN; SELECT * FROM entries")
            let migration = Task.detached {
                try PostgresDatabase.migrate(
                    address: store.address, options: Self.options([Self.first, Self.second]), grantingTo: nil)
            }
            try await Task.sleep(for: .milliseconds(1_500))
            try store.session().run("SET statement_timeout = 4000; SELECT * FROM entries")
            try server.run("COMMIT")
            try await migration.value
            #expect(try store.session().run("SELECT count(b) FROM entries") == [["0"]])
        }
    }

    @Test("A backfill continues in batches; the release that contracts is refused until it is finished")
    func phases() async throws {
        try await Store.with { store in
            try PostgresDatabase.migrate(address: store.address, options: Self.options([Self.first]), grantingTo: nil)
            try store.session().run("INSERT INTO entries SELECT n, n FROM generate_series(1, 25) AS n")
            let expanded = Self.options([Self.first, Self.second, Self.backfill])
            let all = Self.options([Self.first, Self.second, Self.backfill, Self.contract])
            let database = try PostgresDatabase.open(address: store.address, role: .server, options: expanded)
            let early = #expect(throws: DatabaseError.self) {
                try PostgresDatabase.check(address: store.address, options: all)
            }
            #expect(early?.kind == .unfinishedBackfill)
            let backfills = Backfills(database, expanded.schema)
            #expect(try await backfills.remaining().map(\.rows) == [25])
            var rows: Int64 = 0
            while let progress = try await backfills.fillBatch(of: 10, at: 5) { rows = progress.rows }
            #expect(rows == 25)
            await database.close()
            try PostgresDatabase.migrate(address: store.address, options: all, grantingTo: nil)
            #expect(try store.session().run("SELECT sum(b) FROM entries") == [["325"]])
        }
    }

    @Test("The servers' role reads and writes, and can neither edit append-only rows nor change tables")
    func rights() async throws {
        try await Store.with { store in
            let role = "server_\(store.name)"
            try store.session().run("CREATE ROLE \(role) LOGIN")
            let migrations = [Self.first]
            try PostgresDatabase.migrate(address: store.address, options: Self.options(migrations), grantingTo: role)
            let address = store.address.replacing("postgres://till@", with: "postgres://\(role)@")
            let database = try PostgresDatabase.open(address: address, role: .server, options: Self.options(migrations))
            try await database.write { try $0.write("INSERT INTO entries (row_id) VALUES (1)", []) }
            for sql: SQL in ["UPDATE entries SET a = 1", "DELETE FROM entries"] {
                let error = await #expect(throws: DatabaseError.self) {
                    try await database.write { try $0.execute(sql, []) }
                }
                #expect(error?.detail.contains("permission denied") == true)
            }
            await database.close()
            let behind = #expect(throws: DatabaseError.self) {
                try PostgresDatabase.open(
                    address: address, role: .server, options: Self.options(migrations + [Self.second]))
            }
            #expect(behind?.detail.contains("till migrate") == true)
            let state = try PostgresDatabase.state(address: address, options: Self.options(migrations))
            #expect(!state.ownsTables && !state.isSuperuser && state.editableTables.isEmpty && state.role == role)
            let owner = try PostgresDatabase.state(address: store.address, options: Self.options(migrations))
            #expect(owner.ownsTables && owner.isSuperuser && owner.editableTables == ["entries"] && owner.version >= 15)
            try store.session().run("DROP OWNED BY \(role); DROP ROLE \(role)")
        }
    }
}
