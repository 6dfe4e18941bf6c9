import TillBilling
import TillHTTP
import TillSQL

extension StoreSchema {
    /// The result of the last attempt, and indexes for the queries on notifications.
    static let notificationResults: StaticString =
        """
        ALTER TABLE notifications ADD COLUMN result TEXT;
        CREATE INDEX notifications_created ON notifications (created_at, number);
        CREATE INDEX notifications_pending ON notifications (number) WHERE due_at IS NOT NULL;
        CREATE INDEX notifications_failed ON notifications (number) WHERE due_at IS NULL AND result <> 'SUCCESS';
        """
}

/// One notification to the developer's server.
struct StoredNotification: Sendable {
    var number: Int64
    var uuid: UniqueID
    var type: String
    var subtype: String?
    var bundleID: String
    /// The original transaction of the notification's subject.
    var original: Int64?
    var created: Instant
    /// JSON: the members of the payload, with their signed parts unsigned.
    var content: String
    /// The payload of the first attempt; a retry sends the same text (facts/notifications §6).
    var signedPayload: String?
    var attempts: Int64
    /// When the next attempt is due; nil: there is none.
    var due: Instant?
    /// The result of the last attempt: a raw value of `SendAttemptResult`.
    var result: String?
}

/// Sent and waiting notifications, in order.
enum NotificationTable {
    static let columns: Columns = "uuid, type, subtype, bundle_id, original, created_at, content, due_at"
    /// The row number, and the columns that attempts fill in.
    static let outcome: Columns = "number, signed_payload, attempts, result"
    static let attemptColumns: Columns = "attempted_at, result"

    static func insert(
        _ notification: StoredNotification, due: Instant?, _ connection: any Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO notifications (\(columns)) VALUES (\(marks: 8))
            """,
            [
                .text(notification.uuid.description), .text(notification.type), .optional(notification.subtype),
                .text(notification.bundleID), .optional(notification.original),
                .integer(notification.created.milliseconds), .text(notification.content),
                .optional(due?.milliseconds),
            ])
        if due != nil { try Counter.pendingNotifications.add(1, connection) }
    }

    /// The notifications that are due, the earliest first.
    static func due(at now: Instant, limit: Int, _ connection: any Connection) throws -> [StoredNotification] {
        try connection.query(
            """
            SELECT \(columns), \(outcome) FROM notifications
            WHERE due_at IS NOT NULL AND due_at <= ? ORDER BY due_at, number LIMIT ?
            """, [.integer(now.milliseconds), .integer(Int64(limit))], read
        ).compactMap { $0 }
    }

    static func find(_ uuid: UniqueID, _ connection: any Connection) throws -> StoredNotification? {
        try connection.first(
            """
            SELECT \(columns), \(outcome) FROM notifications WHERE uuid = ?
            """, [.text(uuid.description)], read) ?? nil
    }

    /// Records an attempt. `next` is nil if there is no further attempt.
    static func record(
        _ notification: StoredNotification, _ attempt: SendAttempt, next: Instant?, keeping payload: String?,
        _ connection: any Connection
    ) throws {
        try connection.execute(
            "INSERT INTO send_attempts (notification, attempt, \(attemptColumns)) VALUES (\(marks: 4))",
            [
                .integer(notification.number), .integer(notification.attempts + 1),
                .integer(attempt.at.milliseconds), .text(attempt.result),
            ])
        try connection.execute(
            """
            UPDATE notifications SET attempts = attempts + 1, due_at = ?, signed_payload = ?, result = ?
            WHERE number = ?
            """,
            [
                .optional(next?.milliseconds), .optional(payload), .text(attempt.result),
                .integer(notification.number),
            ])
        if next == nil { try Counter.pendingNotifications.add(-1, connection) }
    }

    /// Schedules the next attempt, and counts the notification as pending if it was not.
    static func setDue(_ notification: StoredNotification, at due: Instant, _ connection: any Connection) throws {
        try connection.execute(
            "UPDATE notifications SET due_at = ? WHERE number = ?",
            [.integer(due.milliseconds), .integer(notification.number)])
        if notification.due == nil { try Counter.pendingNotifications.add(1, connection) }
    }

    static func attempts(of number: Int64, _ connection: any Connection) throws -> [SendAttempt] {
        try connection.query(
            "SELECT \(attemptColumns) FROM send_attempts WHERE notification = ? ORDER BY attempt",
            [.integer(number)]
        ) { SendAttempt(at: Instant(milliseconds: $0.integer("attempted_at")), result: $0.text("result")) }
    }

    /// When the first pending notification is due.
    static func nextDue(_ connection: any Connection) throws -> Instant? {
        let found = try connection.first(
            "SELECT min(due_at) AS due_at FROM notifications WHERE due_at IS NOT NULL", []
        ) { row in
            row.optionalInteger("due_at").map(Instant.init(milliseconds:))
        }
        return found ?? nil
    }

    static func count(_ connection: any Connection) throws -> Int64 {
        try connection.first("SELECT count(*) AS count FROM notifications", []) { $0.integer("count") } ?? 0
    }

    /// The number of notifications that failed with no further attempt.
    static func failed(_ connection: any Connection) throws -> Int64 {
        try connection.first(
            "SELECT count(*) AS count FROM notifications WHERE due_at IS NULL AND result <> 'SUCCESS'", []
        ) { $0.integer("count") } ?? 0
    }

    static func read(_ row: any Row) -> StoredNotification? {
        guard let uuid = UniqueID(row.text("uuid")) else { return nil }
        return StoredNotification(
            number: row.integer("number"), uuid: uuid, type: row.text("type"), subtype: row.optionalText("subtype"),
            bundleID: row.text("bundle_id"), original: row.optionalInteger("original"),
            created: Instant(milliseconds: row.integer("created_at")), content: row.text("content"),
            signedPayload: row.optionalText("signed_payload"), attempts: row.integer("attempts"),
            due: row.optionalInteger("due_at").map(Instant.init(milliseconds:)), result: row.optionalText("result"))
    }
}

/// The result of a delivery attempt, in Apple's terms (facts/server-api §4.3).
enum SendAttemptResult: String, Sendable, Hashable, CaseIterable {
    case success = "SUCCESS"
    case timedOut = "TIMED_OUT"
    case tlsIssue = "TLS_ISSUE"
    /// Never occurs: redirects are not followed, so no loop is possible.
    case circularRedirect = "CIRCULAR_REDIRECT"
    case noResponse = "NO_RESPONSE"
    case socketIssue = "SOCKET_ISSUE"
    case unsupportedCharset = "UNSUPPORTED_CHARSET"
    case invalidResponse = "INVALID_RESPONSE"
    case prematureClose = "PREMATURE_CLOSE"
    case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    case other = "OTHER"

    /// 200 to 206 are a success, whatever the body (facts/notifications §2).
    init(_ response: HTTPResponse) {
        switch response.status {
        case 200...206: self = Self.canRead(response.headers["Content-Type"] ?? "") ? .success : .unsupportedCharset
        case 100...599: self = .unsuccessfulStatus
        default: self = .invalidResponse
        }
    }

    /// Nil if the attempt has no result because the sender itself is stopping.
    init?(_ error: HTTPError) {
        switch error.kind {
        case .stopped: return nil
        case .timedOut: self = .timedOut
        case .tls: self = .tlsIssue
        case .cannotConnect: self = .socketIssue
        case .connectionLost: self = .prematureClose
        case .cannotResolve: self = .noResponse
        case .responseTooLarge: self = .invalidResponse
        case .badURL, .addressRefused, .other: self = .other
        }
    }

    /// Apple does not publish which character sets it reads; these are in common use.
    private static let charsets: Set<String> = [
        "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252", "utf-16", "utf-16le", "utf-16be",
        "gbk", "gb2312", "gb18030", "big5", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr",
    ]

    private static func canRead(_ contentType: String) -> Bool {
        for parameter in contentType.lowercased().split(separator: ";").dropFirst() {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].filter({ $0 != " " }) == "charset" else { continue }
            return charsets.contains(parts[1].filter { $0 != " " && $0 != "\"" })
        }
        return true
    }
}

/// One attempt to deliver a notification.
struct SendAttempt: Sendable, Hashable {
    var at: Instant
    var result: String
}
