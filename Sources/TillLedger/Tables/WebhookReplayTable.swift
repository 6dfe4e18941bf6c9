import TillBilling
import TillSQL

/// `webhook_replays`: spans of time whose events an endpoint is sent once more, and how far that has come.
public struct WebhookReplayTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let endpoint: Int64
        public let from: Instant
        /// Not included.
        public let to: Instant
        /// Events up to here were looked at.
        public let position: Int64
        /// How far the endpoint had come when it was asked for; what came later is none of its business.
        public let lastSequence: Int64
        /// How many were put in line.
        public let count: Int64
        public let createdAt: Instant
        public let endedAt: Instant?
    }

    @discardableResult
    public func insert(
        _ endpoint: Int64, from: Instant, to: Instant, lastSequence: Int64, at now: Instant
    ) throws -> Int64 {
        try session.insert(
            """
            INSERT INTO webhook_replays \
            (endpoint_sequence, from_at, to_at, position, last_sequence, count, created_at) \
            VALUES (?, ?, ?, 0, ?, 0, ?)
            """,
            [.integer(endpoint), .instant(from), .instant(to), .integer(lastSequence), .instant(now)])
    }

    /// The oldest one of an endpoint that is not through.
    public func open(_ endpoint: Int64) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, endpoint_sequence, from_at, to_at, position, last_sequence, count, created_at, ended_at \
            FROM webhook_replays WHERE endpoint_sequence = ? AND ended_at IS NULL ORDER BY sequence LIMIT 1
            """, [.integer(endpoint)], Self.read)
    }

    public func find(_ sequence: Int64) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, endpoint_sequence, from_at, to_at, position, last_sequence, count, created_at, ended_at \
            FROM webhook_replays WHERE sequence = ?
            """, [.integer(sequence)], Self.read)
    }

    /// Newest first, from before a sequence, with the names of their endpoints.
    public func list(before sequence: Int64, limit: Int) throws -> [(replay: Stored, endpoint: String)] {
        try session.query(
            """
            SELECT r.sequence, r.endpoint_sequence, r.from_at, r.to_at, r.position, r.last_sequence, r.count, \
            r.created_at, r.ended_at, e.id FROM webhook_replays r \
            JOIN webhook_endpoints e ON e.sequence = r.endpoint_sequence \
            WHERE r.sequence < ? ORDER BY r.sequence DESC LIMIT ?
            """, [.integer(sequence), .integer(Int64(limit))]
        ) { (Self.read($0), $0.text(9)) }
    }

    /// The next events of its span, and how far that looked: at most `limit` events, whatever their time.
    public func next(_ replay: Stored, limit: Int) throws -> (events: [Int64], position: Int64) {
        let position = min(replay.lastSequence, replay.position + Int64(limit))
        let events = try session.query(
            "SELECT sequence FROM outbox WHERE sequence > ? AND sequence <= ? AND at >= ? AND at < ? ORDER BY sequence",
            [.integer(replay.position), .integer(position), .instant(replay.from), .instant(replay.to)]
        ) { $0.integer(0) }
        return (events, position)
    }

    public func advance(_ replay: Stored, to position: Int64, adding count: Int64, at now: Instant) throws {
        let isThrough = position >= replay.lastSequence
        try session.execute(
            "UPDATE webhook_replays SET position = ?, count = count + ?, ended_at = ? WHERE sequence = ?",
            [
                .integer(position), .integer(count), .optional(isThrough ? now.milliseconds : nil),
                .integer(replay.sequence),
            ])
    }

    private static func read(_ row: any Row) -> Stored {
        Stored(
            sequence: row.integer(0), endpoint: row.integer(1), from: row.instant(2), to: row.instant(3),
            position: row.integer(4), lastSequence: row.integer(5), count: row.integer(6), createdAt: row.instant(7),
            endedAt: row.optionalInstant(8))
    }
}
