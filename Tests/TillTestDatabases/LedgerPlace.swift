import Foundation
import TillLedger
import TillPostgres
import TillSQL
import TillSQLite

/// The place of a ledger: a file, or a database in a throw-away cluster. The only type that knows which.
package struct LedgerPlace: Sendable {
    private enum Kind: Sendable {
        case file(String)
        case database(PostgresCluster, String)
    }

    private let kind: Kind
    package let schema: DatabaseSchema

    /// Makes an empty place: opening it makes the tables.
    ///
    /// - Parameter folder: where the file is, on SQLite. It belongs to the caller.
    package init(_ database: LedgerDatabase = .chosen, in folder: URL, schema: DatabaseSchema = .ledger) throws {
        self.schema = schema
        switch database {
        case .sqlite: kind = .file(folder.appendingPathComponent("till.db").path)
        case .postgres:
            let cluster = try PostgresCluster.running()
            let name = try cluster.makeDatabase(of: schema) { address in
                try PostgresDatabase.migrate(address: address, options: .init(schema), grantingTo: nil)
            }
            kind = .database(cluster, name)
        }
    }

    /// An empty database in a cluster of the caller's; the first server makes the tables.
    package init(in cluster: PostgresCluster, schema: DatabaseSchema = .ledger) throws {
        self.schema = schema
        kind = .database(cluster, try cluster.makeDatabase())
    }

    private init(_ kind: Kind, _ schema: DatabaseSchema) { (self.kind, self.schema) = (kind, schema) }

    /// As a configuration names it.
    package var address: String {
        switch kind {
        case .file(let path): "sqlite:\(path)"
        case .database(let cluster, let name): cluster.address(of: name)
        }
    }

    /// - Parameter commitWatch: is told about every commit.
    package func open(_ role: DatabaseRole = .server, commitWatch: CommitWatch? = nil) throws -> any Database {
        switch kind {
        case .file(let path):
            var options = SQLiteDatabase.Options(schema)
            options.commitWatch = commitWatch
            return try SQLiteDatabase.open(path: path, role: role, options: options)
        case .database:
            var options = PostgresDatabase.Options(schema)
            // Two connections that write show what happens between them, and are made quickly.
            (options.connections, options.readers) = (2, 1)
            options.commitWatch = commitWatch
            return try PostgresDatabase.open(address: address, role: role, options: options)
        }
    }

    /// Opens the ledger for the body, and closes it afterwards.
    package func opened<Value>(
        _ role: DatabaseRole = .server, _ body: (any Database) async throws -> Value
    ) async throws -> Value {
        let ledger = try open(role)
        do {
            let value = try await body(ledger)
            await ledger.close()
            return value
        } catch {
            await ledger.close()
            throw error
        }
    }

    /// A connection beside the driver; nil on SQLite.
    package func session() throws -> PostgresSession? {
        guard case .database(let cluster, let name) = kind else { return nil }
        return try cluster.session(name)
    }

    /// Deletes the database. A file is deleted with its folder.
    package func remove() throws {
        if case .database(let cluster, let name) = kind { try cluster.drop(name) }
    }

    /// Copies the ledger to a place beside it. Every program that used it must have ended.
    package func copy(named name: String) throws -> LedgerPlace {
        switch kind {
        case .file(let path):
            let copy = URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent("\(name).db").path
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            return LedgerPlace(.file(copy), schema)
        case .database(let cluster, let database):
            try cluster.copy(database, to: name)
            return LedgerPlace(.database(cluster, name), schema)
        }
    }

    // MARK: Damage

    /// What the database finds wrong in its own pages and indices.
    package func damages() async throws -> [String] {
        if let session = try session() { return try Self.damages(session) }
        return try await opened(.operator) { try await Self.damages(of: $0) }
    }

    private static func damages(of ledger: any Database) async throws -> [String] {
        guard let file = ledger as? SQLiteDatabase else { return [] }
        return try await file.damages(isComplete: true) + file.brokenReferences(limit: 20)
    }

    private static func damages(_ session: PostgresSession) throws -> [String] {
        // A copy may have it; PostgreSQL would say so on stderr.
        try session.run("SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS amcheck")
        let rows = try session.run(
            """
            SELECT c.relname || ', block ' || v.blkno || ': ' || v.msg FROM pg_class c CROSS JOIN LATERAL \
            verify_heapam(c.oid) v WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
            """)
        let indices = try session.run(
            """
            SELECT i.indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a \
            ON a.oid = c.relam WHERE a.amname = 'btree' AND c.relnamespace = 'public'::regnamespace
            """)
        let damaged = indices.compactMap(\.first).compactMap { $0 }.compactMap { index -> String? in
            do {
                try session.run("SELECT bt_index_check('\(index)', true)")
                return nil
            } catch {
                return "\(index): \(error)"
            }
        }
        return rows.compactMap(\.first).compactMap { $0 } + damaged
    }

    /// Takes away the triggers that keep grants and postings as they are, so that a copy can be damaged.
    package func removeGuards() async throws {
        if let session = try session() {
            try session.run("ALTER TABLE grants DISABLE TRIGGER USER; ALTER TABLE postings DISABLE TRIGGER USER")
            return
        }
        try await opened { ledger in
            try await ledger.write { connection in
                for trigger: SQL in [
                    "DROP TRIGGER grants_are_never_edited", "DROP TRIGGER grants_are_never_deleted",
                    "DROP TRIGGER postings_are_never_edited", "DROP TRIGGER postings_are_never_deleted",
                ] { try connection.execute(trigger, []) }
            }
        }
    }
}
