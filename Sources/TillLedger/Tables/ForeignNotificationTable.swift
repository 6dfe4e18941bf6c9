import TillBilling
import TillSQL

/// `foreign_notifications`: notifications signed by Apple that are not for this app as configured. Kept raw in case the
/// configuration is wrong; they are not processed.
///
/// Any app in the App Store can direct Apple's notifications to this server, so the table keeps a limited number. When
/// it is full, the oldest notification of the app with the most rows is deleted, so one app cannot displace another
/// app's notifications.
public struct ForeignNotificationTable {
    /// How many are kept.
    public static let capacity: Int64 = 1_000
    /// The longest that is kept, in bytes. Apple's have five to twenty kilobytes.
    public static let payloadLimit = 64 << 10
    /// How long one is kept. Apple's own notification history reaches back as far.
    public static let lifetimeMilliseconds: Int64 = 180 * 86_400_000

    private static let columns: Columns = """
        uuid, bundle, app_apple_id, environment, type, subtype, received_at, code, detail, payload
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Entry: Sendable, Hashable {
        public let uuid: String
        /// The app that the notification states, if any.
        public let bundleID: String?
        public let appAppleID: Int64?
        /// The environment as stated; it may be neither of Apple's two.
        public let environment: String?
        public let type: String
        public let subtype: String?
        public let receivedAt: Instant
        /// Why it is not for this app: a `Refusal`'s code.
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

    /// Whether a notification with this UUID is stored.
    public func contains(_ uuid: String) throws -> Bool {
        try connection.first("SELECT 1 FROM foreign_notifications WHERE uuid = ?1", [.text(uuid)]) { _ in true }
            ?? false
    }

    /// Stores a notification, unless one with this UUID is already stored.
    public func insert(_ entry: Entry) throws {
        let inserted = try connection.insertIfNew(
            "INSERT INTO foreign_notifications (\(Self.columns)) VALUES (\(marks: 10)) ON CONFLICT (uuid) DO NOTHING",
            [
                .text(entry.uuid), .optional(entry.bundleID), .optional(entry.appAppleID),
                .optional(entry.environment), .text(entry.type), .optional(entry.subtype), .instant(entry.receivedAt),
                .text(entry.code), .text(entry.detail), .text(entry.payload),
            ])
        guard inserted != nil else { return }
        let apps = try connection.query(
            "SELECT count(*) AS count, min(row_id) AS oldest FROM foreign_notifications GROUP BY bundle", []
        ) { (count: $0.integer("count"), oldest: $0.integer("oldest")) }
        guard apps.reduce(0, { $0 + $1.count }) > Self.capacity,
            let fullest = apps.max(by: { ($0.count, $1.oldest) < ($1.count, $0.oldest) })
        else { return }
        try connection.write("DELETE FROM foreign_notifications WHERE row_id = ?1", [.integer(fullest.oldest)])
    }

    /// The notifications that state this app and were refused with `code`, oldest first, after a row id.
    ///
    /// - Parameter code: the code of a refusal that a different configuration may have caused.
    public func stating(
        bundleID: String, appAppleID: Int64?, refusedAs code: String, after rowID: Int64, limit: Int
    ) throws -> [(rowID: Int64, entry: Entry)] {
        try connection.query(
            """
            SELECT \(Self.columns), row_id FROM foreign_notifications WHERE row_id > ?1 AND code = ?2 \
            AND bundle = ?3 AND (app_apple_id = ?4 OR environment = 'Sandbox' OR ?4 IS NULL) ORDER BY row_id \
            LIMIT ?5
            """,
            [
                .integer(rowID), .text(code), .text(bundleID), .optional(appAppleID), .integer(Int64(limit)),
            ]
        ) { row in (row.integer("row_id"), try Self.read(row)) }
    }

    /// Newest first.
    public func list(limit: Int) throws -> [Entry] {
        try connection.query(
            """
            SELECT \(Self.columns) FROM foreign_notifications ORDER BY row_id DESC LIMIT ?1
            """, [.integer(Int64(limit))], Self.read)
    }

    struct Age: Sendable {
        let rowID: Int64
        let receivedAt: Instant
        let bytes: Int64
    }

    /// Oldest first, after a row id.
    func ages(after rowID: Int64, limit: Int) throws -> [Age] {
        try connection.query(
            """
            SELECT row_id, received_at, length(payload) + length(detail) AS bytes FROM foreign_notifications \
            WHERE row_id > ?1 ORDER BY row_id LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))]
        ) { row in
            Age(
                rowID: row.integer("row_id"), receivedAt: row.instant("received_at"),
                bytes: row.integer("bytes"))
        }
    }

    public func remove(_ rowID: Int64) throws {
        try connection.write("DELETE FROM foreign_notifications WHERE row_id = ?1", [.integer(rowID)])
    }

    /// Replaces the reason why a notification is not for this app.
    public func mark(_ rowID: Int64, code: String, detail: String) throws {
        try connection.write(
            "UPDATE foreign_notifications SET code = ?1, detail = ?2 WHERE row_id = ?3",
            [.text(code), .text(detail), .integer(rowID)])
    }

    private static func read(_ row: any Row) throws -> Entry {
        Entry(
            uuid: row.text("uuid"), app: (row.optionalText("bundle"), row.optionalInteger("app_apple_id")),
            environment: row.optionalText("environment"), type: row.text("type"), subtype: row.optionalText("subtype"),
            receivedAt: row.instant("received_at"), reason: (row.text("code"), row.text("detail")),
            payload: row.text("payload"))
    }
}
