import TillBilling
import TillSQL

/// One customer's download of one app, the content of an AppTransaction (facts/jws §6).
public struct AppDownload: Sendable, Hashable {
    public var account: String
    public var bundleID: String
    /// `appTransactionId`: unique for every pair of account and app, family members included (facts/limits §1).
    public var appTransaction: Int64
    public var downloaded: Instant
    /// CFBundleVersion at the first download; nil: the configured app's.
    public var originalVersion: String?
    public var preordered: Instant?
    /// `iOS`, `macOS`, `tvOS` or `visionOS`.
    public var platform = "iOS"
}

/// The apps that each account has downloaded.
enum DownloadTable {
    static let columns: Columns = "account, bundle_id, app_transaction, downloaded_at"
    /// The circumstances of the download.
    static let details: Columns = "original_version, preordered_at, platform"

    /// The account's download of this app; the first call records the download.
    static func download(
        account: String, bundleID: String, at now: Instant, _ connection: any Connection
    ) throws -> AppDownload {
        if let known = try find(account: account, bundleID: bundleID, connection) { return known }
        let number = try Counter.appTransaction.take(connection)
        try connection.execute(
            "INSERT INTO downloads (\(columns)) VALUES (\(marks: 4))",
            [.text(account), .text(bundleID), .integer(number), .integer(now.milliseconds)])
        return AppDownload(account: account, bundleID: bundleID, appTransaction: number, downloaded: now)
    }

    /// Updates the circumstances of the download. Its account, app and number never change.
    static func update(_ download: AppDownload, _ connection: any Connection) throws {
        try connection.execute(
            "UPDATE downloads SET original_version = ?, preordered_at = ?, platform = ? WHERE app_transaction = ?",
            [
                .optional(download.originalVersion), .optional(download.preordered?.milliseconds),
                .text(download.platform), .integer(download.appTransaction),
            ])
    }

    /// Nil if the account never downloaded the app.
    static func find(account: String, bundleID: String, _ connection: any Connection) throws -> AppDownload? {
        try connection.first(
            """
            SELECT \(columns), \(details) FROM downloads WHERE account = ? AND bundle_id = ?
            """, [.text(account), .text(bundleID)], read)
    }

    static func find(appTransaction: Int64, _ connection: any Connection) throws -> AppDownload? {
        try connection.first(
            """
            SELECT \(columns), \(details) FROM downloads WHERE app_transaction = ?
            """, [.integer(appTransaction)], read)
    }

    private static func read(_ row: any Row) -> AppDownload {
        AppDownload(
            account: row.text("account"), bundleID: row.text("bundle_id"),
            appTransaction: row.integer("app_transaction"),
            downloaded: Instant(milliseconds: row.integer("downloaded_at")),
            originalVersion: row.optionalText("original_version"),
            preordered: row.optionalInteger("preordered_at").map(Instant.init(milliseconds:)),
            platform: row.text("platform"))
    }
}
