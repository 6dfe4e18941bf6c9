import Foundation
import TillLedger
import TillPostgres
import TillSQL
import TillSQLite

/// The database under a test's ledger. Tests of an invariant run on each; other tests run on the one that
/// `TILL_TEST_DATABASE` names.
package enum LedgerDatabase: String, CaseIterable, Sendable, CustomStringConvertible {
    case sqlite
    case postgres

    package var description: String { self == .sqlite ? "on SQLite" : "on PostgreSQL" }

    /// `make test DATABASE=postgres` sets it. SQLite without it.
    package static let chosen: LedgerDatabase = {
        let text = ProcessInfo.processInfo.environment["TILL_TEST_DATABASE"] ?? ""
        guard !text.isEmpty else { return .sqlite }
        guard let known = LedgerDatabase(rawValue: text) else {
            preconditionFailure("TILL_TEST_DATABASE is sqlite or postgres, not \(text)")
        }
        return known
    }()

    /// Both, for tests of what must hold on each. Without PostgreSQL on this machine, SQLite alone.
    package static let each: [LedgerDatabase] = PostgresCluster.isInstalled ? [.sqlite, .postgres] : [.sqlite]

    /// Whether tests of SQLite's own file run: its plans, its schema table, its locks.
    package static var isSQLite: Bool { chosen == .sqlite }

    package static let sqliteOnly = "is about SQLite's file; this run is on PostgreSQL"
}

/// The place of a test's ledger: a file in a folder of its own, or a database of its own in the process's cluster.
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

    /// A connection beside the driver; nil on SQLite.
    package func session() throws -> PostgresSession? {
        guard case .database(let cluster, let name) = kind else { return nil }
        return try cluster.session(name)
    }

    /// Deletes the database. A file is deleted with its folder.
    package func remove() throws {
        if case .database(let cluster, let name) = kind { try cluster.drop(name) }
    }
}

/// Runs the body with a new ledger, which is deleted afterwards.
package func withLedger(
    on database: LedgerDatabase = .chosen, _ body: (any Database) async throws -> Void
) async throws {
    try await withLedgerPlace(on: database) { place in
        let ledger = try place.open()
        do {
            try await body(ledger)
        } catch {
            await ledger.close()
            throw error
        }
        await ledger.close()
    }
}

/// Runs the body with the place of a new ledger, which is deleted afterwards. The body closes what it opens.
package func withLedgerPlace(
    on database: LedgerDatabase = .chosen, schema: DatabaseSchema = .ledger,
    _ body: (LedgerPlace) async throws -> Void
) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let place = try LedgerPlace(database, in: folder, schema: schema)
    do {
        try await body(place)
    } catch {
        try place.remove()
        throw error
    }
    try place.remove()
}
