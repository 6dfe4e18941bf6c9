import TillBilling
import TillSQL

/// `webhook_replays`: periods whose events are sent to an endpoint again, and the progress of each replay.
public struct WebhookReplayTable {
    private static let columns: Columns = """
        endpoint_row_id, from_at, to_at, position, last_row_id, count, created_at, ended_at
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let endpoint: Int64
        public let from: Instant
        /// Not included.
        public let to: Instant
        /// The events up to here have been examined.
        public let position: Int64
        /// The endpoint's position when the replay was requested; later events are not part of it.
        public let lastRowID: Int64
        /// How many events were queued.
        public let count: Int64
        public let createdAt: Instant
        public let endedAt: Instant?
    }

    @discardableResult
    public func insert(
        _ endpoint: Int64, from: Instant, to: Instant, lastRowID: Int64, at now: Instant
    ) throws -> Int64 {
        try connection.insert(
            "INSERT INTO webhook_replays (\(Self.columns)) VALUES (?1, ?2, ?3, 0, ?4, 0, ?5, NULL)",
            [.integer(endpoint), .instant(from), .instant(to), .integer(lastRowID), .instant(now)])
    }

    /// The oldest unfinished replay of an endpoint.
    public func open(_ endpoint: Int64) throws -> Stored? {
        try connection.first(
            """
            SELECT row_id, \(Self.columns) FROM webhook_replays WHERE endpoint_row_id = ?1 AND ended_at IS NULL \
            ORDER BY row_id LIMIT 1
            """, [.integer(endpoint)], Self.read)
    }

    public func find(_ rowID: Int64) throws -> Stored? {
        try connection.first(
            """
            SELECT row_id, \(Self.columns) FROM webhook_replays WHERE row_id = ?1
            """, [.integer(rowID)], Self.read)
    }

    /// Newest first, from before a row id, with the names of their endpoints.
    public func list(before rowID: Int64, limit: Int) throws -> [(replay: Stored, endpoint: String)] {
        try connection.query(
            """
            SELECT r.row_id, \(Self.columns, of: "r"), e.id FROM webhook_replays r JOIN webhook_endpoints e \
            ON e.row_id = r.endpoint_row_id WHERE r.row_id < ?1 ORDER BY r.row_id DESC LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))]
        ) { (Self.read($0), $0.text("id")) }
    }

    /// The next events of the period among the next `limit` positions, and the last position examined.
    public func next(_ replay: Stored, limit: Int) throws -> (events: [Int64], position: Int64) {
        let position = min(replay.lastRowID, replay.position + Int64(limit))
        let events = try connection.query(
            """
            SELECT p.position FROM event_positions p JOIN outbox o ON o.row_id = p.event_row_id \
            WHERE p.position > ?1 AND p.position <= ?2 AND o.at >= ?3 AND o.at < ?4 ORDER BY p.position
            """,
            [.integer(replay.position), .integer(position), .instant(replay.from), .instant(replay.to)]
        ) { $0.integer("position") }
        return (events, position)
    }

    public func advance(_ replay: Stored, to position: Int64, adding count: Int64, at now: Instant) throws {
        let isThrough = position >= replay.lastRowID
        try connection.write(
            """
            UPDATE webhook_replays SET position = ?1, count = webhook_replays.count + ?2, ended_at = ?3 \
            WHERE row_id = ?4
            """,
            [
                .integer(position), .integer(count), .optional(isThrough ? now.milliseconds : nil),
                .integer(replay.rowID),
            ])
    }

    private static func read(_ row: any Row) -> Stored {
        Stored(
            rowID: row.integer("row_id"), endpoint: row.integer("endpoint_row_id"), from: row.instant("from_at"),
            to: row.instant("to_at"),
            position: row.integer("position"), lastRowID: row.integer("last_row_id"), count: row.integer("count"),
            createdAt: row.instant("created_at"),
            endedAt: row.optionalInstant("ended_at"))
    }
}
