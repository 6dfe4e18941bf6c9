import TillBilling
import TillSQL

extension Schema {
    /// Every catalogue that a server has used, in order, so that past prices stay known. An order names the
    /// version that its buyer saw.
    static let catalogVersions: StaticString = """
        CREATE TABLE catalog_versions (
            version INTEGER PRIMARY KEY,
            app_id INTEGER NOT NULL DEFAULT 1 REFERENCES apps (app_id),
            sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
            body BLOB NOT NULL,
            since INTEGER NOT NULL
        ) STRICT;
        CREATE TRIGGER catalog_versions_are_never_edited BEFORE UPDATE ON catalog_versions
            BEGIN SELECT RAISE(ABORT, 'catalogue versions are never edited'); END;
        CREATE TRIGGER catalog_versions_are_never_deleted BEFORE DELETE ON catalog_versions
            BEGIN SELECT RAISE(ABORT, 'catalogue versions are never deleted'); END;
        """
}

/// `catalog_versions`.
public struct CatalogVersionTable {
    private static let columns: Columns = "sha256, body, since"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let version: Int64
        public let sha256: [UInt8]
        /// JSON with sorted members.
        public let body: [UInt8]
        public let since: Instant
    }

    /// The newest version; nil before the first.
    public func newest() throws -> (version: Int64, sha256: [UInt8], since: Instant)? {
        try connection.first(
            "SELECT version, sha256, since FROM catalog_versions ORDER BY version DESC LIMIT 1", []
        ) { ($0.integer("version"), $0.blob("sha256"), $0.instant("since")) }
    }

    /// Oldest first.
    public func list() throws -> [Stored] {
        try connection.query("SELECT version, \(Self.columns) FROM catalog_versions ORDER BY version", []) { row in
            Stored(
                version: row.integer("version"), sha256: row.blob("sha256"), body: row.blob("body"),
                since: row.instant("since"))
        }
    }

    /// When the catalogue of a server start takes effect: at the clock's time, but after everything that was paid under
    /// the previous catalogue. So a clock that is behind changes no past price, and one that was ahead at an earlier
    /// start delays no new price.
    public func start(byClock clock: Instant) throws -> Instant {
        let last = try connection.first("SELECT received_at FROM transactions ORDER BY row_id DESC LIMIT 1", []) {
            $0.instant("received_at")
        }
        guard let last, last > clock else { return clock }
        return last.adding(milliseconds: 1)
    }

    /// Stores a catalogue, unless it already is the newest version.
    ///
    /// - Returns: its version.
    public func store(sha256: [UInt8], body: [UInt8], since: Instant) throws -> Int64 {
        if let newest = try newest(), newest.sha256 == sha256 { return newest.version }
        return try connection.insert(
            "INSERT INTO catalog_versions (\(Self.columns)) VALUES (?1, ?2, ?3)",
            [.blob(sha256), .blob(body), .instant(try start(byClock: since))])
    }
}
