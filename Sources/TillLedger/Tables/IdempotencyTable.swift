import TillBilling
import TillSQL

/// `idempotency_keys`: the answers to POST requests, so that a repeated request gets the same answer (CONTRACT §2).
public struct IdempotencyTable {
    /// How long an answer is kept.
    public static let lifetimeMilliseconds: Int64 = 48 * 3_600_000

    private static let key: Columns = "credential, method, path, query_digest, environment, key"
    private static let answer: Columns = "digest, status, body"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// The credential of the key and the request it was used for. The same key with another credential or on another
    /// route is a different key.
    public struct Scope: Sendable, Hashable {
        public let credential: Identifier<IdentifierKind.Caller>
        public let method: String
        public let path: Identifier<IdentifierKind.Route>
        /// SHA-256 of the query's items, sorted; empty without a query.
        public let queryDigest: [UInt8]
        /// The environment of orders and wallets, if the request does not state it.
        public let environment: StoreEnvironment
        public let key: Identifier<IdentifierKind.IdempotencyKey>

        public init(
            credential: String, method: String, path: String, queryDigest: [UInt8], environment: StoreEnvironment,
            key: String
        ) {
            self.credential = Identifier(credential)
            self.method = method
            self.path = Identifier(path)
            self.queryDigest = queryDigest
            self.environment = environment
            self.key = Identifier(key)
        }

        /// In the order of `IdempotencyTable.key`.
        fileprivate var values: [SQLValue] {
            [
                .text(credential.text), .text(method), .text(path.text), .blob(queryDigest), environment.column,
                .text(key.text),
            ]
        }
    }

    public struct Answer: Sendable, Hashable {
        /// SHA-256 of the request's body.
        public let digest: [UInt8]
        public let status: Int
        public let body: [UInt8]

        public init(digest: [UInt8], status: Int, body: [UInt8]) {
            self.digest = digest
            self.status = status
            self.body = body
        }
    }

    public func find(_ scope: Scope) throws -> Answer? {
        try connection.first(
            """
            SELECT \(Self.answer) FROM idempotency_keys WHERE credential = ?1 AND method = ?2 AND path = ?3 \
            AND query_digest = ?4 AND environment = ?5 AND key = ?6 AND status IS NOT NULL
            """, scope.values
        ) { row in Answer(digest: row.blob("digest"), status: Int(row.integer("status")), body: row.blob("body")) }
    }

    // MARK: Requests in flight

    /// Marks a request as in flight, where other servers may get the same one.
    ///
    /// - Parameter until: when the mark of a server that died ends.
    /// - Returns: false if another one is in flight or answered.
    package func claim(_ scope: Scope, digest: [UInt8], until: Instant, at now: Instant) throws -> Bool {
        try connection.execute(
            """
            INSERT INTO idempotency_keys (\(Self.key), digest, lease_until, at) VALUES (\(marks: 9)) \
            ON CONFLICT (\(Self.key), app_id) DO UPDATE SET digest = excluded.digest, \
            lease_until = excluded.lease_until, at = excluded.at \
            WHERE idempotency_keys.status IS NULL AND idempotency_keys.lease_until < ?9
            """, scope.values + [.blob(digest), .instant(until), .instant(now)]) == 1
    }

    /// Removes the mark of a request whose answer is not kept.
    package func giveUp(_ scope: Scope, until: Instant) throws {
        try connection.write(
            """
            DELETE FROM idempotency_keys WHERE credential = ?1 AND method = ?2 AND path = ?3 \
            AND query_digest = ?4 AND environment = ?5 AND key = ?6 AND status IS NULL AND lease_until = ?7
            """, scope.values + [.instant(until)])
    }

    // MARK: Answers

    /// Stores an answer, and deletes up to eight expired ones.
    public func insert(_ scope: Scope, _ answer: Answer, at: Instant) throws {
        try connection.write(
            """
            INSERT INTO idempotency_keys (\(Self.key), \(Self.answer), at) VALUES (\(marks: 10)) \
            ON CONFLICT (\(Self.key), app_id) DO UPDATE SET digest = excluded.digest, status = excluded.status, \
            body = excluded.body, lease_until = NULL, at = excluded.at WHERE idempotency_keys.status IS NULL
            """,
            scope.values + [
                .blob(answer.digest), .integer(Int64(answer.status)), .blob(answer.body), .instant(at),
            ])
        try removeExpired(before: at.adding(milliseconds: -Self.lifetimeMilliseconds), limit: 8)
    }

    // MARK: Pruning

    /// Deletes the oldest answers from before an instant; returns how many.
    @discardableResult
    func removeExpired(before instant: Instant, limit: Int) throws -> Int {
        try connection.execute(
            """
            DELETE FROM idempotency_keys WHERE (\(Self.key)) IN (SELECT \(Self.key) FROM idempotency_keys \
            WHERE at < ?1 ORDER BY at LIMIT ?2)
            """, [.instant(instant), .integer(Int64(limit))])
    }

    /// The time of a caller's newest answer beyond the `count` newest; nil if there are no more than that.
    func time(of credential: String, afterNewest count: Int64) throws -> Instant? {
        try connection.first(
            "SELECT at FROM idempotency_keys WHERE credential = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2",
            [.text(credential), .integer(count)]
        ) { $0.instant("at") }
    }

    /// Deletes a caller's oldest answers up to an instant; returns how many.
    func removeOldest(of credential: String, until instant: Instant, limit: Int) throws -> Int {
        try connection.execute(
            """
            DELETE FROM idempotency_keys WHERE (\(Self.key)) IN (SELECT \(Self.key) FROM idempotency_keys \
            WHERE credential = ?1 AND at <= ?2 ORDER BY at LIMIT ?3)
            """, [.text(credential), .instant(instant), .integer(Int64(limit))])
    }

    /// The number of rows, and their bytes as the newest thousand suggest them.
    func size() throws -> (rows: Int64, bytes: Int64) {
        let rows = try connection.first("SELECT count(*) AS count FROM idempotency_keys", []) { $0.integer("count") }
        let sample = try connection.query(
            """
            SELECT length(credential) + length(path) + length(key) + coalesce(length(body), 0) AS bytes \
            FROM idempotency_keys ORDER BY at DESC LIMIT 1000
            """, []
        ) { $0.integer("bytes") }
        guard let rows, !sample.isEmpty else { return (0, 0) }
        return (rows, sample.reduce(0, +) * rows / Int64(sample.count))
    }
}
