import TillBilling
import TillSQL

/// `notifications`: Apple's notifications as Apple signed them (`ShortToken`), also before they can be processed.
public struct NotificationTable {
    private static let columns: Columns = "uuid, type, subtype, received_at, state, detail, payload"

    private let connection: any Connection
    private let tokens: ShortToken
    public init(_ connection: any Connection) { self.init(connection, knowing: nil) }

    init(_ connection: any Connection, knowing known: KnownProofHeaders?) {
        self.connection = connection
        tokens = ShortToken(connection, knowing: known)
    }

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
        public fileprivate(set) var payload: String
        /// Why the payload can't be read; it is then empty.
        public fileprivate(set) var damage: DatabaseError?
    }

    /// Stores a notification; nil if one with this UUID is already stored.
    public func insert(
        uuid: String, environment: StoreEnvironment, type: String, subtype: String?, signedAt: Instant?, at: Instant,
        payload: [UInt8], state: State = .pending, detail: String = ""
    ) throws -> Int64? {
        try connection.insertIfNew(
            """
            INSERT INTO notifications (\(Self.columns), environment, signed_at) \
            VALUES (\(marks: 9)) ON CONFLICT (uuid) DO NOTHING
            """,
            [
                .text(uuid), .text(type), .optional(subtype), .instant(at), .integer(state.rawValue), .text(detail),
                .text(try tokens.storedText(payload)), environment.column, .optional(signedAt?.milliseconds),
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

    public func contains(_ uuid: String) throws -> Bool {
        try connection.first(Self.finding(uuid)) { _ in true } ?? false
    }

    public func find(uuid: String) throws -> Stored? {
        try connection.first(
            "SELECT row_id, \(Self.columns) FROM notifications WHERE uuid = ?1", [.text(uuid)], Self.read
        ).map(whole)
    }

    /// Stored but not processed yet: oldest first, after a row id. A damaged one does not hold up the others.
    public func pending(after rowID: Int64, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns) FROM notifications WHERE state = 0 AND row_id > ?1 ORDER BY row_id \
            LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))], Self.read
        ).map { stored in
            do {
                return try whole(stored)
            } catch let error as DatabaseError where error.kind == .corrupt {
                var damaged = stored
                (damaged.payload, damaged.damage) = ("", error)
                return damaged
            }
        }
    }

    private func whole(_ stored: Stored) throws -> Stored {
        var stored = stored
        stored.payload = try tokens.whole(stored.payload)
        return stored
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
