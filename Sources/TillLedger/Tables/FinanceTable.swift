import TillBilling
import TillSQL

extension Schema {
    /// Apple's financial reports as imported, complete: figures are always read from this text, so there is only one
    /// source of truth. Days count from 1970-01-01.
    static let finance: StaticString = """
        CREATE TABLE apple_reports (
            row_id INTEGER PRIMARY KEY,
            digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
            name TEXT NOT NULL,
            imported_at INTEGER NOT NULL,
            actor TEXT NOT NULL,
            starts_on INTEGER NOT NULL,
            ends_on INTEGER NOT NULL CHECK (ends_on >= starts_on),
            lines INTEGER NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
        CREATE INDEX apple_reports_by_start ON apple_reports (starts_on);
        """
}

/// `apple_reports`: Apple's financial reports, each once.
public struct AppleReportTable {
    private static let columns: Columns = "digest, name, imported_at, actor, starts_on, ends_on, lines"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// A report without its text.
    public struct Entry: Sendable, Hashable {
        public var rowID: Int64 = 0
        /// SHA-256 of the text.
        public let digest: [UInt8]
        /// The file name that the importer gave.
        public let name: String
        public let importedAt: Instant
        /// The importer.
        public let actor: String
        /// The first and the last day that its lines cover.
        public let start: CivilDate
        public let end: CivilDate
        public let lines: Int

        public init(
            digest: [UInt8], name: String, importedAt: Instant, actor: String, start: CivilDate, end: CivilDate,
            lines: Int
        ) {
            self.digest = digest
            self.name = name
            self.importedAt = importedAt
            self.actor = actor
            self.start = start
            self.end = end
            self.lines = lines
        }
    }

    /// - Returns: false if the same text is already stored; then nothing changes.
    public func insertIfNew(_ entry: Entry, text: [UInt8]) throws -> Bool {
        try connection.insertIfNew(
            "INSERT INTO apple_reports (\(Self.columns), body) VALUES (\(marks: 8)) ON CONFLICT (digest) DO NOTHING",
            [
                .blob(entry.digest), .text(entry.name), .instant(entry.importedAt), .text(entry.actor),
                .integer(Int64(entry.start.daysSinceEpoch)), .integer(Int64(entry.end.daysSinceEpoch)),
                .integer(Int64(entry.lines)), .blob(text),
            ]) != nil
    }

    public func find(digest: [UInt8]) throws -> Entry? {
        try connection.first(
            "SELECT row_id, \(Self.columns) FROM apple_reports WHERE digest = ?1", [.blob(digest)], Self.read)
    }

    /// Newest first, from before a row id.
    public func list(before rowID: Int64, limit: Int) throws -> [Entry] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns) FROM apple_reports WHERE row_id < ?1 ORDER BY row_id DESC LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))], Self.read)
    }

    /// The reports that cover days from `start` to `end`, newest first.
    public func list(from start: CivilDate, through end: CivilDate, limit: Int) throws -> [Entry] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns) FROM apple_reports WHERE starts_on <= ?1 AND ends_on >= ?2 \
            ORDER BY row_id DESC LIMIT ?3
            """,
            [
                .integer(Int64(end.daysSinceEpoch)), .integer(Int64(start.daysSinceEpoch)), .integer(Int64(limit)),
            ], Self.read)
    }

    public func text(_ rowID: Int64) throws -> [UInt8]? {
        try connection.first("SELECT body FROM apple_reports WHERE row_id = ?1", [.integer(rowID)]) {
            $0.blob("body")
        }
    }

    private static func read(_ row: any Row) throws -> Entry {
        var entry = Entry(
            digest: row.blob("digest"), name: row.text("name"), importedAt: row.instant("imported_at"),
            actor: row.text("actor"),
            start: CivilDate(daysSinceEpoch: Int(row.integer("starts_on"))),
            end: CivilDate(daysSinceEpoch: Int(row.integer("ends_on"))),
            lines: Int(row.integer("lines")))
        entry.rowID = row.integer("row_id")
        return entry
    }
}
