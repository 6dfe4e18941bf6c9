import TillBilling
import TillSQL

/// `notifications`: Apple's, stored raw before anything is made of them.
public struct NotificationTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public enum State: Int64, Sendable, Hashable {
        case pending = 0
        case settled = 1
        /// Could not be settled, and trying again won't help; `detail` says why.
        case stuck = 2
    }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let uuid: String
        public let type: String
        public let subtype: String?
        public let receivedAt: Instant
        public let state: State
        public let detail: String
        public let payload: String
    }

    /// Stores a notification; nil if one of this UUID is there already (U4).
    public func insert(
        uuid: String, environment: Environment, type: String, subtype: String?, signedAt: Instant?, at: Instant,
        payload: String
    ) throws -> Int64? {
        try session.insertIfNew(
            """
            INSERT INTO notifications (uuid, environment, type, subtype, signed_at, received_at, state, detail, \
            payload) \
            VALUES (?, ?, ?, ?, ?, ?, 0, '', ?) ON CONFLICT (uuid) DO NOTHING
            """,
            [
                .text(uuid), environment.column, .text(type), .optional(subtype), .optional(signedAt?.milliseconds),
                .instant(at), .text(payload),
            ])
    }

    public func mark(_ sequence: Int64, _ state: State, detail: String) throws {
        try session.execute(
            "UPDATE notifications SET state = ?, detail = ? WHERE sequence = ?",
            [.integer(state.rawValue), .text(detail), .integer(sequence)])
    }

    public func find(uuid: String) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, uuid, type, subtype, received_at, state, detail, payload FROM notifications WHERE uuid = ?
            """, [.text(uuid)], Self.read)
    }

    /// Stored, but not settled yet: oldest first, after a sequence.
    public func pending(after sequence: Int64, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, uuid, type, subtype, received_at, state, detail, payload FROM notifications \
            WHERE state = 0 AND sequence > ? ORDER BY sequence LIMIT ?
            """, [.integer(sequence), .integer(Int64(limit))], Self.read)
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let state = State(rawValue: row.integer(5)) else { throw row.unreadable("a notification's state") }
        return Stored(
            sequence: row.integer(0), uuid: row.text(1), type: row.text(2), subtype: row.optionalText(3),
            receivedAt: row.instant(4), state: state, detail: row.text(6), payload: row.text(7))
    }
}
