import TillBilling
import TillSQL

extension Schema {
    /// The customers whose personal data was erased, without their names. `user_hash` is the user id's hash under a key
    /// that is not in the database. Orders up to the row id `position` are cleared; `finished_at` is null while rows
    /// are left to clear.
    static let erasures: StaticString = """
        CREATE TABLE erasures (
            row_id INTEGER PRIMARY KEY,
            app_id INTEGER NOT NULL DEFAULT 1 REFERENCES apps (app_id),
            customer_id INTEGER NOT NULL UNIQUE REFERENCES customers (customer_id),
            user_hash BLOB NOT NULL CHECK (length(user_hash) = 32),
            caller TEXT NOT NULL,
            at INTEGER NOT NULL,
            position INTEGER NOT NULL,
            finished_at INTEGER
        ) STRICT;
        CREATE INDEX erasures_by_hash ON erasures (user_hash, row_id);
        CREATE INDEX erasures_unfinished ON erasures (row_id) WHERE finished_at IS NULL;
        """
}

/// `erasures`: one row for each erased customer; a guest that was merged into an erased account has its own.
public struct ErasureTable {
    private static let columns: Columns = "customer_id, user_hash, caller, at, position, finished_at"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let customerID: Int64
        /// `ErasureKey.hash` of the user id.
        public let userHash: [UInt8]
        /// `key:backend`, `operator:mei`, `till`; `replay` after a restore.
        public let caller: String
        public let at: Instant
        /// The last order that was cleared.
        let position: Int64
        /// Nil while rows are left to clear.
        public let finishedAt: Instant?
        /// The user id that the customer's rows show now.
        public let pseudonym: UserID
        let firstSeen: Instant
    }

    /// - Parameter sealedName: what stands for the user id in the customer's seal; nil without seals.
    func insert(_ customerID: Int64, hash: [UInt8], caller: String, at: Instant, sealedName: [UInt8]?) throws {
        try connection.write(
            "INSERT INTO erasures (\(Self.columns), sealed_name) VALUES (?1, ?2, ?3, ?4, 0, NULL, ?5)",
            [
                .integer(customerID), .blob(hash), .text(caller), .instant(at),
                sealedName.map { .blob($0) } ?? .null,
            ])
    }

    public func find(customer: Int64) throws -> Stored? {
        try connection.first(
            """
            SELECT e.row_id, \(Self.columns, of: "e"), c.user_id, c.first_seen FROM erasures e JOIN customers c \
            ON c.customer_id = e.customer_id WHERE e.customer_id = ?1
            """, [.integer(customer)], Self.read)
    }

    /// The newest erasure of a user id.
    public func newest(_ hash: [UInt8]) throws -> Stored? {
        try connection.first(
            """
            SELECT e.row_id, \(Self.columns, of: "e"), c.user_id, c.first_seen FROM erasures e JOIN customers c \
            ON c.customer_id = e.customer_id WHERE e.user_hash = ?1 ORDER BY e.row_id DESC LIMIT 1
            """, [.blob(hash)], Self.read)
    }

    /// Oldest first.
    public func list(after rowID: Int64, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT e.row_id, \(Self.columns, of: "e"), c.user_id, c.first_seen FROM erasures e JOIN customers c \
            ON c.customer_id = e.customer_id WHERE e.row_id > ?1 ORDER BY e.row_id LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))], Self.read)
    }

    /// Erasures that still have rows to clear, oldest first.
    public func unfinished(limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT e.row_id, \(Self.columns, of: "e"), c.user_id, c.first_seen FROM erasures e JOIN customers c \
            ON c.customer_id = e.customer_id WHERE e.finished_at IS NULL ORDER BY e.row_id LIMIT ?1
            """, [.integer(Int64(limit))], Self.read)
    }

    public func count() throws -> Int64 {
        try connection.first("SELECT count(*) AS count FROM erasures", []) { $0.integer("count") } ?? 0
    }

    func advance(_ rowID: Int64, to position: Int64) throws {
        try connection.write(
            "UPDATE erasures SET position = ?1 WHERE row_id = ?2", [.integer(position), .integer(rowID)])
    }

    func finish(_ rowID: Int64, at now: Instant) throws {
        try connection.write(
            "UPDATE erasures SET finished_at = ?1 WHERE row_id = ?2 AND finished_at IS NULL",
            [.instant(now), .integer(rowID)])
    }

    private static func read(_ row: any Row) throws -> Stored {
        Stored(
            rowID: row.integer("row_id"), customerID: row.integer("customer_id"), userHash: row.blob("user_hash"),
            caller: row.text("caller"), at: row.instant("at"), position: row.integer("position"),
            finishedAt: row.optionalInstant("finished_at"), pseudonym: UserID(row.text("user_id")),
            firstSeen: row.instant("first_seen"))
    }
}
