import TillBilling
import TillSQL

extension Schema {
    /// Which table a seal is of, and what the chain skipped. `seals` and `event_positions.seal_row_id` are older; the
    /// positions of an event's seal say the same, so the column stays empty.
    ///
    /// `seal_summary` authenticates the ends of all chains together, so that none can be cut off by itself.
    ///
    /// A seal with `last_position` before `first_position` holds late rows: those whose `seal_row_id` in `seal_gaps` is
    /// its own.
    static let sealStreams: StaticString = """
        ALTER TABLE seals ADD COLUMN stream INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX seals_by_stream ON seals (stream, row_id);

        CREATE TABLE seal_gaps (
            stream INTEGER NOT NULL,
            position INTEGER NOT NULL,
            at INTEGER NOT NULL,
            seal_row_id INTEGER REFERENCES seals (row_id),
            PRIMARY KEY (stream, position)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX seal_gaps_recent ON seal_gaps (at) WHERE seal_row_id IS NULL;
        CREATE INDEX seal_gaps_late ON seal_gaps (seal_row_id) WHERE seal_row_id IS NOT NULL;

        CREATE TABLE seal_summary (
            single_row INTEGER PRIMARY KEY CHECK (single_row = 1),
            at INTEGER NOT NULL,
            mac BLOB NOT NULL CHECK (length(mac) = 32)
        ) STRICT;

        ALTER TABLE erasures ADD COLUMN sealed_name BLOB;
        """
}

extension PostgresTables {
    static let sealStreams: StaticString = """
        ALTER TABLE seals ADD COLUMN stream BIGINT NOT NULL DEFAULT 0;
        CREATE INDEX seals_by_stream ON seals (stream, row_id);

        CREATE TABLE seal_gaps (
            stream BIGINT NOT NULL,
            position BIGINT NOT NULL,
            at BIGINT NOT NULL,
            seal_row_id BIGINT REFERENCES seals (row_id),
            PRIMARY KEY (stream, position)
        );
        CREATE INDEX seal_gaps_recent ON seal_gaps (at) WHERE seal_row_id IS NULL;
        CREATE INDEX seal_gaps_late ON seal_gaps (seal_row_id) WHERE seal_row_id IS NOT NULL;

        CREATE TABLE seal_summary (
            single_row BIGINT PRIMARY KEY CHECK (single_row = 1),
            at BIGINT NOT NULL,
            mac BYTEA NOT NULL CHECK (length(mac) = 32)
        );

        ALTER TABLE erasures ADD COLUMN sealed_name BYTEA;
        """
}

/// A digest over consecutive rows of one table, chained to the one before.
public struct Seal: Sendable, Hashable {
    /// The greatest number of rows under one seal. A changed row is named with the others of its seal.
    static let most: Int64 = 128

    var rowID: Int64
    let stream: SealedStream
    let first: Int64
    /// Before `first` for a seal of late rows.
    let last: Int64
    let digest: [UInt8]
    /// `SealKey.code` of all the rest.
    var code: [UInt8] = []
    /// When its last row was sealed.
    let at: Instant

    var isLate: Bool { last < first }
    var rows: Int64 { last &- first &+ 1 }
    /// Whether the next rows may join it.
    var isOpen: Bool { !isLate && rows < Self.most }
}

/// `seals`, `seal_gaps` and `seal_summary`.
struct SealTable {
    private static let columns: Columns = "stream, first_position, last_position, digest, mac, at"

    private let connection: any Connection
    init(_ connection: any Connection) { self.connection = connection }

    /// The newest seal of a table.
    func newest(of stream: SealedStream) throws -> Seal? {
        try connection.first(
            """
            SELECT row_id, \(Self.columns) FROM seals WHERE stream = ?1 ORDER BY row_id DESC LIMIT 1
            """, [stream.column], Self.read)
    }

    /// The seals of a table, oldest first.
    func list(of stream: SealedStream, after rowID: Int64, limit: Int) throws -> [Seal] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns) FROM seals WHERE stream = ?1 AND row_id > ?2 ORDER BY row_id LIMIT ?3
            """, [stream.column, .integer(rowID), .integer(Int64(limit))], Self.read)
    }

    /// Seals of a table that no program of this version has.
    func countUnknown() throws -> Int64 {
        let known = SealedStream.allCases.map(\.rawValue)
        return try connection.first(
            "SELECT count(*) AS count FROM seals WHERE stream < ?1 OR stream > ?2",
            [.integer(known.min() ?? 0), .integer(known.max() ?? 0)]
        ) { $0.integer("count") } ?? 0
    }

    func insert(_ seal: Seal) throws {
        try connection.write(
            "INSERT INTO seals (\(Self.columns), row_id) VALUES (\(marks: 7))",
            [
                seal.stream.column, .integer(seal.first), .integer(seal.last), .blob(seal.digest), .blob(seal.code),
                .instant(seal.at), .integer(seal.rowID),
            ])
    }

    /// Adds rows to a seal that has room.
    func extend(_ seal: Seal) throws {
        try connection.write(
            "UPDATE seals SET last_position = ?1, digest = ?2, mac = ?3, at = ?4 WHERE row_id = ?5",
            [.integer(seal.last), .blob(seal.digest), .blob(seal.code), .instant(seal.at), .integer(seal.rowID)])
    }

    private static func read(_ row: any Row) throws -> Seal {
        guard let stream = SealedStream(rawValue: row.integer("stream")) else { throw row.unreadable("a seal") }
        return Seal(
            rowID: row.integer("row_id"), stream: stream, first: row.integer("first_position"),
            last: row.integer("last_position"), digest: row.blob("digest"), code: row.blob("mac"),
            at: row.instant("at"))
    }

    // MARK: All chains

    /// The newest seal of every table that has one.
    func heads() throws -> [Seal] { try SealedStream.allCases.compactMap { try newest(of: $0) } }

    func summary() throws -> (at: Instant, code: [UInt8])? {
        try connection.first("SELECT at, mac FROM seal_summary WHERE single_row = 1", []) {
            ($0.instant("at"), $0.blob("mac"))
        }
    }

    func setSummary(_ code: [UInt8], at: Instant) throws {
        try connection.write(
            """
            INSERT INTO seal_summary (single_row, at, mac) VALUES (1, ?1, ?2) ON CONFLICT (single_row) DO UPDATE SET \
            at = excluded.at, mac = excluded.mac
            """, [.instant(at), .blob(code)])
    }

    // MARK: Gaps

    /// An id that no row had when its neighbours were sealed.
    struct Gap: Sendable, Hashable {
        let position: Int64
        /// The seal of the row that appeared later.
        let sealRowID: Int64?
    }

    func insertGap(_ position: Int64, of stream: SealedStream, at: Instant) throws {
        try connection.write(
            "INSERT INTO seal_gaps (stream, position, at) VALUES (?1, ?2, ?3)",
            [stream.column, .integer(position), .instant(at)])
    }

    func fillGap(_ position: Int64, of stream: SealedStream, in seal: Int64) throws {
        try connection.write(
            "UPDATE seal_gaps SET seal_row_id = ?1 WHERE stream = ?2 AND position = ?3",
            [.integer(seal), stream.column, .integer(position)])
    }

    /// Gaps found since a moment that no row has filled.
    func recentGaps(since: Instant) throws -> [(stream: SealedStream, position: Int64)] {
        try connection.query(
            """
            SELECT stream, position FROM seal_gaps WHERE at >= ?1 AND seal_row_id IS NULL ORDER BY stream, position
            """, [.instant(since)]
        ) { row in
            (SealedStream(rawValue: row.integer("stream")), row.integer("position"))
        }.compactMap { stream, position in stream.map { ($0, position) } }
    }

    func gaps(of stream: SealedStream, from first: Int64, to last: Int64) throws -> [Gap] {
        try connection.query(
            """
            SELECT position, seal_row_id FROM seal_gaps WHERE stream = ?1 AND position >= ?2 AND position <= ?3 \
            ORDER BY position
            """, [stream.column, .integer(first), .integer(last)]
        ) { Gap(position: $0.integer("position"), sealRowID: $0.optionalInteger("seal_row_id")) }
    }

    /// The rows of a seal of late rows.
    func lateRows(of seal: Seal) throws -> [Int64] {
        try connection.query(
            "SELECT position FROM seal_gaps WHERE seal_row_id = ?1 AND stream = ?2 ORDER BY position",
            [.integer(seal.rowID), seal.stream.column]
        ) { $0.integer("position") }
    }

    /// Whether rows fill gaps of another table's seal, or of one that does not exist.
    func hasMisplacedGaps() throws -> Bool {
        try connection.first(
            """
            SELECT 1 FROM seal_gaps g LEFT JOIN seals s ON s.row_id = g.seal_row_id WHERE g.seal_row_id IS NOT NULL \
            AND (s.row_id IS NULL OR s.stream <> g.stream OR s.last_position >= s.first_position) LIMIT 1
            """, []
        ) { _ in true } ?? false
    }
}
