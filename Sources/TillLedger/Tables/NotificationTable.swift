import TillBilling
import TillSQL

/// `notifications`: Apple's notifications, stored raw, also before they can be processed.
public struct NotificationTable {
    private static let columns: Columns = "uuid, type, subtype, received_at, state, detail, payload"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public enum State: Int64, Sendable, Hashable {
        case pending = 0
        case processed = 1
        /// Could not be processed, and trying again will not help; `detail` says why.
        case stuck = 2
    }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let uuid: String
        public let type: String
        public let subtype: String?
        public let receivedAt: Instant
        public let state: State
        public let detail: String
        public let payload: String
    }

    /// Stores a notification; nil if one with this UUID is already stored.
    public func insert(
        uuid: String, environment: StoreEnvironment, type: String, subtype: String?, signedAt: Instant?, at: Instant,
        payload: String, state: State = .pending, detail: String = ""
    ) throws -> Int64? {
        try connection.insertIfNew(
            """
            INSERT INTO notifications (\(Self.columns), environment, signed_at) \
            VALUES (\(marks: 9)) ON CONFLICT (uuid) DO NOTHING
            """,
            [
                .text(uuid), .text(type), .optional(subtype), .instant(at), .integer(state.rawValue), .text(detail),
                .text(payload), environment.column, .optional(signedAt?.milliseconds),
            ])
    }

    static func finding(_ uuid: String) -> Statement {
        Statement("SELECT 1 AS found FROM notifications WHERE uuid = ?1", [.text(uuid)])
    }

    public func mark(_ rowID: Int64, _ state: State, detail: String) throws {
        try connection.write(
            "UPDATE notifications SET state = ?1, detail = ?2 WHERE row_id = ?3",
            [.integer(state.rawValue), .text(detail), .integer(rowID)])
    }

    public func find(uuid: String) throws -> Stored? {
        try connection.first(
            "SELECT row_id, \(Self.columns) FROM notifications WHERE uuid = ?1", [.text(uuid)], Self.read)
    }

    /// Stored but not processed yet: oldest first, after a row id.
    public func pending(after rowID: Int64, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns) FROM notifications WHERE state = 0 AND row_id > ?1 ORDER BY row_id \
            LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))], Self.read)
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let state = State(rawValue: row.integer("state")) else { throw row.unreadable("a notification's state") }
        return Stored(
            rowID: row.integer("row_id"), uuid: row.text("uuid"), type: row.text("type"),
            subtype: row.optionalText("subtype"),
            receivedAt: row.instant("received_at"), state: state, detail: row.text("detail"),
            payload: row.text("payload"))
    }
}
