import TillBilling
import TillSQL

/// `foreign_notifications`: signed by Apple, and not for this app as it is configured. Kept raw for the case that the
/// configuration is what's wrong; nothing is settled by them.
///
/// Anybody with an app in the App Store can have Apple send its notifications here, so only so many are kept, and the
/// oldest of the app with the most of them goes: a stranger's app does not push out what another app's are needed for.
public struct ForeignNotificationTable {
    /// How many are kept. A notification has five to fifteen kilobytes, and never more than 512.
    public static let capacity: Int64 = 1_000

    private static let columns: Columns = """
        uuid, bundle, app_apple_id, environment, type, subtype, received_at, code, detail, payload
        """

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Entry: Sendable, Hashable {
        public let uuid: String
        /// For which app, as far as it says.
        public let bundleID: String?
        public let appAppleID: Int64?
        /// As it is written, which may be neither of Apple's two.
        public let environment: String?
        public let type: String
        public let subtype: String?
        public let receivedAt: Instant
        /// Why it isn't ours: a `Refusal`'s code.
        public let code: String
        /// For operators, in English.
        public let detail: String
        public let payload: String

        public init(
            uuid: String, app: (bundleID: String?, appleID: Int64?), environment: String?, type: String,
            subtype: String?, receivedAt: Instant, reason: (code: String, detail: String), payload: String
        ) {
            self.uuid = uuid
            bundleID = app.bundleID
            appAppleID = app.appleID
            self.environment = environment
            self.type = type
            self.subtype = subtype
            self.receivedAt = receivedAt
            (code, detail) = reason
            self.payload = payload
        }
    }

    /// Whether one of this UUID is kept.
    public func contains(_ uuid: String) throws -> Bool {
        try session.first("SELECT 1 FROM foreign_notifications WHERE uuid = ?1", [.text(uuid)]) { _ in true } ?? false
    }

    /// Stores one; nothing happens if one of this UUID is there already (U4).
    public func insert(_ entry: Entry) throws {
        let inserted = try session.insertIfNew(
            "INSERT INTO foreign_notifications (\(Self.columns)) VALUES (\(marks: 10)) ON CONFLICT (uuid) DO NOTHING",
            [
                .text(entry.uuid), .optional(entry.bundleID), .optional(entry.appAppleID),
                .optional(entry.environment), .text(entry.type), .optional(entry.subtype), .instant(entry.receivedAt),
                .text(entry.code), .text(entry.detail), .text(entry.payload),
            ])
        guard inserted != nil else { return }
        let apps = try session.query(
            "SELECT count(*) AS count, min(sequence) AS oldest FROM foreign_notifications GROUP BY bundle", []
        ) { (count: $0.integer("count"), oldest: $0.integer("oldest")) }
        guard apps.reduce(0, { $0 + $1.count }) > Self.capacity,
            let fullest = apps.max(by: { ($0.count, $1.oldest) < ($1.count, $0.oldest) })
        else { return }
        try session.execute("DELETE FROM foreign_notifications WHERE sequence = ?1", [.integer(fullest.oldest)])
    }

    /// Those that another configuration refused and that state this app, oldest first, after a sequence.
    ///
    /// - Parameter code: of the refusal that another configuration may have been the reason of.
    public func stating(
        bundleID: String, appAppleID: Int64?, refusedAs code: String, after sequence: Int64, limit: Int
    ) throws -> [(sequence: Int64, entry: Entry)] {
        try session.query(
            """
            SELECT \(Self.columns), sequence FROM foreign_notifications WHERE sequence > ?1 AND code = ?2 \
            AND bundle = ?3 AND (app_apple_id = ?4 OR environment = 'Sandbox' OR ?4 IS NULL) ORDER BY sequence \
            LIMIT ?5
            """,
            [
                .integer(sequence), .text(code), .text(bundleID), .optional(appAppleID), .integer(Int64(limit)),
            ]
        ) { row in (row.integer("sequence"), try Self.read(row)) }
    }

    /// The newest first.
    public func list(limit: Int) throws -> [Entry] {
        try session.query(
            """
            SELECT \(Self.columns) FROM foreign_notifications ORDER BY sequence DESC LIMIT ?1
            """, [.integer(Int64(limit))], Self.read)
    }

    public func remove(_ sequence: Int64) throws {
        try session.execute("DELETE FROM foreign_notifications WHERE sequence = ?1", [.integer(sequence)])
    }

    /// Says anew why one isn't ours.
    public func mark(_ sequence: Int64, code: String, detail: String) throws {
        try session.execute(
            "UPDATE foreign_notifications SET code = ?1, detail = ?2 WHERE sequence = ?3",
            [.text(code), .text(detail), .integer(sequence)])
    }

    private static func read(_ row: any Row) throws -> Entry {
        Entry(
            uuid: row.text("uuid"), app: (row.optionalText("bundle"), row.optionalInteger("app_apple_id")),
            environment: row.optionalText("environment"), type: row.text("type"), subtype: row.optionalText("subtype"),
            receivedAt: row.instant("received_at"), reason: (row.text("code"), row.text("detail")),
            payload: row.text("payload"))
    }
}
