import TillBilling
import TillSQL

/// Deletes what has passed its age from the tables to which a caller without a purchase adds rows, and measures these
/// tables. Evidence, grants, postings, orders and proofs are in none of them (docs/limits.md).
///
/// A commit deletes at most ``batch`` rows, so that a purchase waits for one short commit at most. Whatever a fault
/// leaves is due at the next pass.
public struct Pruning: Sendable {
    /// One table as it was found, and how many of its rows were deleted.
    public struct Table: Sendable, Hashable {
        public let name: String
        public var rows: Int64 = 0
        /// The bytes of its long columns, without indices; nil if they are not measured.
        public var bytes: Int64?
        public var pruned: Int64 = 0

        public init(_ name: String) { self.name = name }
    }

    /// Rows deleted in one commit.
    static let batch = 200
    /// Commits for one table in one pass: a wrong clock deletes so much at most before somebody notices.
    static let commits = 50
    /// Answers to repeatable requests that are kept for one backend, however many it requests in 48 hours.
    public static let answersPerBackend: Int64 = 1_000_000

    private let ledger: Ledger
    private let backends: [String]

    /// - Parameter backends: the callers' names of the secret keys: `key:shop`.
    public init(_ ledger: Ledger, backends: [String]) {
        self.ledger = ledger
        self.backends = backends
    }

    /// Prunes and measures every table once.
    public func run() async throws -> [Table] {
        let now = ledger.clock()
        return [
            try await pruneRefusedProofs(at: now), try await pruneForeignNotifications(at: now),
            try await pruneAnswers(at: now),
        ] + (try await ledger.database.read { try UnpaidTables($0).measure() })
    }

    private func pruneRefusedProofs(at now: Instant) async throws -> Table {
        var table = Table("refused_proofs")
        try await walk(&table, locking: .ledger("refusals")) { connection, rowID in
            try RefusedProofTable(connection).ages(after: rowID, limit: Self.batch).map { row in
                AgedRow(rowID: row.rowID, bytes: row.bytes, isDue: row.lastAt < row.keeping.start(at: now))
            }
        } delete: { connection, rowIDs in
            try RefusedProofTable(connection).remove(rowIDs)
        }
        return table
    }

    private func pruneForeignNotifications(at now: Instant) async throws -> Table {
        let oldest = now.adding(milliseconds: -ForeignNotificationTable.lifetimeMilliseconds)
        var table = Table("foreign_notifications")
        try await walk(&table, locking: .notification("foreign")) { connection, rowID in
            try ForeignNotificationTable(connection).ages(after: rowID, limit: Self.batch).map { row in
                AgedRow(rowID: row.rowID, bytes: row.bytes, isDue: row.receivedAt < oldest)
            }
        } delete: { connection, rowIDs in
            for rowID in rowIDs { try ForeignNotificationTable(connection).remove(rowID) }
        }
        return table
    }

    private struct AgedRow: Sendable {
        let rowID: Int64
        let bytes: Int64
        let isDue: Bool
    }

    /// Reads a bounded table from its first row to its last, in pages, and deletes what is due.
    private func walk(
        _ table: inout Table, locking key: LockKey,
        page: @escaping @Sendable (any Connection, _ after: Int64) throws -> [AgedRow],
        delete: @escaping @Sendable (any Connection, [Int64]) throws -> Void
    ) async throws {
        var (last, commits, bytes) = (Int64(0), 0, Int64(0))
        while true {
            let after = last
            let rows = try await ledger.database.read { try page($0, after) }
            guard let end = rows.last else { break }
            last = end.rowID
            let due = rows.filter(\.isDue).map(\.rowID)
            let isPruned = !due.isEmpty && commits < Self.commits
            if isPruned {
                try await ledger.database.write(locking: [key]) { try delete($0, due) }
                commits += 1
                table.pruned += Int64(due.count)
            }
            for row in rows where !(isPruned && row.isDue) {
                table.rows += 1
                bytes += row.bytes
            }
        }
        table.bytes = bytes
    }

    /// Deletes the expired answers, and the oldest of a backend that has too many.
    private func pruneAnswers(at now: Instant) async throws -> Table {
        var table = Table("idempotency_keys")
        let expired = now.adding(milliseconds: -IdempotencyTable.lifetimeMilliseconds)
        table.pruned += try await repeatedly { try IdempotencyTable($0).removeExpired(before: expired, limit: $1) }
        for backend in backends {
            let surplus = try await ledger.database.read {
                try IdempotencyTable($0).time(of: backend, afterNewest: Self.answersPerBackend)
            }
            guard let surplus else { continue }
            table.pruned += try await repeatedly {
                try IdempotencyTable($0).removeOldest(of: backend, until: surplus, limit: $1)
            }
        }
        (table.rows, table.bytes) = try await ledger.database.read { try IdempotencyTable($0).size() }
        return table
    }

    /// Repeats a deletion until it finds less than one batch.
    private func repeatedly(
        _ delete: @escaping @Sendable (any Connection, _ limit: Int) throws -> Int
    ) async throws -> Int64 {
        var deleted: Int64 = 0
        for _ in 0..<Self.commits {
            let count = try await ledger.database.write(locking: [.idempotency("pruning")]) {
                try delete($0, Self.batch)
            }
            deleted += Int64(count)
            if count < Self.batch { break }
        }
        return deleted
    }
}

/// The tables to which a caller without a purchase adds rows, and that are not pruned: their rows are named by later
/// payments, or are support evidence.
struct UnpaidTables {
    private let connection: any Connection
    init(_ connection: any Connection) { self.connection = connection }

    func measure() throws -> [Pruning.Table] {
        var receipts = Pruning.Table("waiting_receipts")
        (receipts.rows, receipts.bytes) =
            try connection.first(
                "SELECT count(*) AS count, coalesce(sum(length(body)), 0) AS bytes FROM waiting_receipts", []
            ) { ($0.integer("count"), $0.integer("bytes")) } ?? (0, 0)
        return [
            receipts, try count("orders", "SELECT count(*) AS count FROM orders WHERE status <> 1"),
            try count("customers", "SELECT count(*) AS count FROM customers"),
            try count("claims", "SELECT count(*) AS count FROM claims"),
            try count("consents", "SELECT count(*) AS count FROM consents"),
        ]
    }

    private func count(_ name: String, _ sql: SQL) throws -> Pruning.Table {
        var table = Pruning.Table(name)
        table.rows = try connection.first(sql, []) { $0.integer("count") } ?? 0
        return table
    }
}
