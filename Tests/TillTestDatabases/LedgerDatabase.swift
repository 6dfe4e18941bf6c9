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

/// Runs the body with a new ledger, which is deleted afterwards.
package func withLedger(
    on database: LedgerDatabase = .chosen, _ body: (any Database) async throws -> Void
) async throws {
    try await withLedgerPlace(on: database) { place in
        try await place.opened { try await body($0) }
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
