/// The backfills of a database: which rows are filled already, and the next batch. The position is committed with each
/// batch, so a backfill that was interrupted at any moment continues where it was.
public struct Backfills: Sendable {
    /// How far one backfill is.
    public struct Progress: Sendable, Hashable {
        /// The number of the migration.
        public let number: Int
        /// Rows that were filled.
        public let rows: Int64
        public let isFinished: Bool
    }

    /// The table of positions. A driver creates it before it registers the first backfill.
    package static let table: StaticString = """
        CREATE TABLE IF NOT EXISTS schema_backfills (
            number INTEGER PRIMARY KEY,
            position INTEGER NOT NULL,
            rows_done INTEGER NOT NULL,
            finished_at INTEGER
        ) STRICT;
        """

    private let database: any Database
    private let schema: DatabaseSchema

    public init(_ database: any Database, _ schema: DatabaseSchema) {
        self.database = database
        self.schema = schema
    }

    private struct Position: Sendable {
        let number: Int
        let position: Int64
        let rows: Int64
    }

    /// Fills the next rows of the first unfinished backfill.
    ///
    /// - Parameters:
    ///   - size: how many rows; a small number, because other writes wait meanwhile.
    ///   - now: milliseconds since 1970.
    /// - Returns: nil if every backfill is finished.
    public func fillBatch(of size: Int, at now: Int64) async throws -> Progress? {
        guard schema.hasBackfills else { return nil }
        return try await database.write(locking: [LockKey("ledger", "backfill")]) { [self] connection in
            guard let next = try first(connection) else { return nil }
            let backfill = try self.backfill(next.number)
            let last = try lastRow(of: backfill, after: next.position, size, connection)
            guard let last else {
                try connection.execute(
                    "UPDATE schema_backfills SET finished_at = ?2 WHERE number = ?1",
                    [.integer(Int64(next.number)), .integer(now)])
                return Progress(number: next.number, rows: next.rows, isFinished: true)
            }
            let filled = try connection.execute(backfill.statement, [.integer(next.position), .integer(last)])
            try connection.execute(
                "UPDATE schema_backfills SET position = ?2, rows_done = ?3 WHERE number = ?1",
                [.integer(Int64(next.number)), .integer(last), .integer(next.rows + Int64(filled))])
            return Progress(number: next.number, rows: next.rows + Int64(filled), isFinished: false)
        }
    }

    /// How many rows of each unfinished backfill are to be read. Counting reads the table's keys.
    public func remaining() async throws -> [(number: Int, rows: Int64)] {
        guard schema.hasBackfills else { return [] }
        return try await database.read { [self] connection in
            try unfinished(connection).map { position in
                let backfill = try self.backfill(position.number)
                let rows = try connection.first(
                    "SELECT count(*) AS count FROM \(table: backfill.table) WHERE row_id > ?1",
                    [.integer(position.position)]
                ) { $0.integer("count") }
                return (position.number, rows ?? 0)
            }
        }
    }

    private func first(_ connection: any Connection) throws -> Position? { try unfinished(connection).first }

    private func unfinished(_ connection: any Connection) throws -> [Position] {
        try connection.query(
            "SELECT number, position, rows_done FROM schema_backfills WHERE finished_at IS NULL ORDER BY number", []
        ) {
            Position(number: Int($0.integer("number")), position: $0.integer("position"), rows: $0.integer("rows_done"))
        }
    }

    private func lastRow(
        of backfill: Backfill, after position: Int64, _ size: Int, _ connection: any Connection
    ) throws -> Int64? {
        try connection.query(
            "SELECT row_id FROM \(table: backfill.table) WHERE row_id > ?1 ORDER BY row_id LIMIT ?2",
            [.integer(position), .integer(Int64(size))]
        ) { $0.integer("row_id") }.last
    }

    private func backfill(_ number: Int) throws -> Backfill {
        guard let backfill = schema.numbered.first(where: { $0.number == number })?.migration.backfill else {
            throw DatabaseError(.other, "the backfill \(number) of this file is unknown to this program")
        }
        return backfill
    }
}
