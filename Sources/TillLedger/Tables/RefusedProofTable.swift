import TillBilling
import TillSQL

/// `refused_proofs`: why a proof was refused. Many forged proofs must neither fill the disk nor displace other callers'
/// rows: each user, each backend key, and all unauthenticated callers together have separate budgets, in which the
/// oldest row is deleted. The same proof refused again raises a count.
public struct RefusedProofTable {
    /// How many rows a caller may have, and for how many of them the record of the checks is kept. A record takes some
    /// kilobytes, the rest of a row some dozen bytes.
    public struct Quota: Sendable, Hashable {
        public let rows: Int64
        public let records: Int64

        /// Unauthenticated callers: notifications in Apple's name.
        public static let anonymous = Quota(rows: 1_000, records: 200)
        /// Each user.
        public static let user = Quota(rows: 50, records: 20)
        /// All users together, so that one person's many accounts cannot fill the disk.
        public static let users = Quota(rows: 20_000, records: 1_000)
        /// Each backend key, each operator, and Apple's responses to the server.
        public static let trusted = Quota(rows: 2_000, records: 500)
    }

    /// How long a row is kept after the proof was last refused. A user who reports a paid order needs the refusals
    /// beside that order; chargebacks and Apple's refunds reach back less than two years.
    public enum Keeping: Int64, Sendable, Hashable {
        /// Unauthenticated callers.
        case anonymous = 30
        /// Users, backends, operators, and Apple's answers.
        case signedIn = 180
        /// Beside an order.
        case ofOrder = 730

        /// The days.
        public var days: Int64 { rawValue }

        func start(at now: Instant) -> Instant { now.adding(seconds: -days * 86_400) }
    }

    /// The longest record that is kept, in bytes.
    public static let recordLimit = 64 << 10
    /// The budget of unauthenticated callers.
    private static let anonymousBudget = "anonymous"
    /// The users' total is trimmed once in this many rows.
    private static let sweepInterval: Int64 = 256

    private static let columns: Columns = """
        at, source, claimed_order, code, detail, digest, record, count, last_at
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Entry: Sendable, Hashable {
        public let at: Instant
        public let source: String
        public let caller: String
        public let claimedOrder: OrderID?
        /// A `Refusal`'s code.
        public let code: String
        /// For operators, in English.
        public let detail: String
        /// SHA-256 of the proof as submitted.
        public let digest: [UInt8]
        /// Every check that was made, as JSON; nil if the proof itself was valid, or if its record is no longer kept.
        public let record: String?
        /// How often it was submitted.
        public internal(set) var count: Int64 = 1
        /// When it was last submitted; nil if only once.
        public internal(set) var lastAt: Instant?

        public init(
            at: Instant, source: String, caller: String, claimedOrder: OrderID?, code: String, detail: String,
            digest: [UInt8], record: String? = nil
        ) {
            self.at = at
            self.source = source
            self.caller = caller
            self.claimedOrder = claimedOrder
            self.code = code
            self.detail = detail
            self.digest = digest
            self.record = record
        }
    }

    public func insert(_ entry: Entry) throws {
        let caller = try CallerColumns(entry.caller, at: entry.at, connection)
        let (budget, quota) = Self.budget(of: entry, caller)
        guard try !isRepeated(entry, budget) else { return }
        let newest = try connection.insert(
            "INSERT INTO refused_proofs (\(Self.columns), budget, \(CallerColumns.names)) VALUES (\(marks: 13))",
            [
                .instant(entry.at), .text(entry.source), .optional(entry.claimedOrder),
                .text(entry.code), .text(entry.detail), .blob(entry.digest),
                .optional(entry.record.flatMap { $0.utf8.count <= Self.recordLimit ? $0 : nil }), .integer(1), .null,
                .text(budget),
            ] + caller.values)
        try trim(budget, to: quota, hasRecord: entry.record != nil)
        if budget.hasPrefix("user:"), newest % Self.sweepInterval == 0 { try trimUsers() }
    }

    private static func budget(of entry: Entry, _ caller: CallerColumns) -> (name: String, quota: Quota) {
        if case .integer(let customer) = caller.customerID { return ("user:\(customer)", .user) }
        if entry.caller.hasPrefix("key:") || entry.caller.hasPrefix("operator:") { return (entry.caller, .trusted) }
        return entry.source == "reconciliation" ? (entry.source, .trusted) : (anonymousBudget, .anonymous)
    }

    /// Counts a proof that the same caller submitted before for the same order, refused with the same code.
    private func isRepeated(_ entry: Entry, _ budget: String) throws -> Bool {
        let known = try connection.query(
            """
            SELECT row_id, claimed_order FROM refused_proofs WHERE digest = ?1 AND budget = ?2 AND code = ?3 \
            AND source = ?4 LIMIT 50
            """, [.blob(entry.digest), .text(budget), .text(entry.code), .text(entry.source)]
        ) { row in
            (
                rowID: row.integer("row_id"),
                order: row.isNull("claimed_order") ? nil : try row.uniqueID("claimed_order")
            )
        }
        guard let same = known.first(where: { $0.order == entry.claimedOrder }) else { return false }
        try connection.write(
            "UPDATE refused_proofs SET count = count + 1, last_at = ?1 WHERE row_id = ?2",
            [.instant(entry.at), .integer(same.rowID)])
        return true
    }

    /// Deletes rows without a record first, so that they do not displace the few rows with one.
    private func trim(_ budget: String, to quota: Quota, hasRecord: Bool) throws {
        try connection.write(
            """
            DELETE FROM refused_proofs WHERE row_id = coalesce( \
            (SELECT row_id FROM refused_proofs WHERE budget = ?1 AND record IS NULL ORDER BY row_id LIMIT 1), \
            (SELECT min(row_id) FROM refused_proofs WHERE budget = ?1)) \
            AND EXISTS (SELECT 1 FROM refused_proofs WHERE budget = ?1 ORDER BY row_id DESC LIMIT 1 OFFSET ?2)
            """, [.text(budget), .integer(quota.rows)])
        guard hasRecord else { return }
        try connection.write(
            """
            UPDATE refused_proofs SET record = NULL WHERE row_id = (SELECT row_id FROM refused_proofs \
            WHERE budget = ?1 AND record IS NOT NULL ORDER BY row_id DESC LIMIT 1 OFFSET ?2)
            """, [.text(budget), .integer(quota.records)])
    }

    private func trimUsers() throws {
        try connection.write(
            """
            DELETE FROM refused_proofs WHERE budget >= 'user:' AND budget < 'user;' AND row_id <= (SELECT row_id \
            FROM refused_proofs WHERE budget >= 'user:' AND budget < 'user;' ORDER BY row_id DESC LIMIT 1 OFFSET ?1)
            """, [.integer(Quota.users.rows)])
        try connection.write(
            """
            UPDATE refused_proofs SET record = NULL WHERE record IS NOT NULL AND budget >= 'user:' \
            AND budget < 'user;' AND row_id <= (SELECT row_id FROM refused_proofs WHERE budget >= 'user:' \
            AND budget < 'user;' ORDER BY row_id DESC LIMIT 1 OFFSET ?1)
            """, [.integer(Quota.users.records)])
    }

    /// Newest first; only those submitted beside one order, if given.
    public func list(claiming order: OrderID?, limit: Int) throws -> [Entry] {
        if let order {
            return try connection.query(
                """
                SELECT \(Self.columns), \(caller: "refused_proofs") FROM refused_proofs WHERE claimed_order = ?1 ORDER \
                BY row_id DESC LIMIT ?2
                """, [.id(order), .integer(Int64(limit))], Self.read)
        }
        return try connection.query(
            """
            SELECT \(Self.columns), \(caller: "refused_proofs") FROM refused_proofs ORDER BY row_id DESC LIMIT ?1
            """, [.integer(Int64(limit))], Self.read)
    }

    /// Newest first, from before a row id: those of authenticated callers.
    public func list(before rowID: Int64, limit: Int) throws -> [(rowID: Int64, entry: Entry)] {
        try connection.query(
            """
            SELECT \(Self.columns), row_id, \(caller: "refused_proofs") FROM refused_proofs WHERE row_id < ?1 AND \
            budget <> 'anonymous' ORDER BY row_id DESC LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))]
        ) { row in (row.integer("row_id"), try Self.read(row)) }
    }

    /// Newest first: those of unauthenticated callers.
    public func anonymous(limit: Int) throws -> [Entry] {
        try connection.query(
            """
            SELECT \(Self.columns), \(caller: "refused_proofs") FROM refused_proofs WHERE budget = 'anonymous' ORDER \
            BY row_id DESC LIMIT ?1
            """, [.integer(Int64(limit))], Self.read)
    }

    // MARK: Pruning

    struct Age: Sendable {
        let rowID: Int64
        /// When the proof was last refused.
        let lastAt: Instant
        let keeping: Keeping
        let bytes: Int64
    }

    /// Oldest first, after a row id.
    func ages(after rowID: Int64, limit: Int) throws -> [Age] {
        try connection.query(
            """
            SELECT row_id, coalesce(last_at, at) AS seen_at, claimed_order, budget, \
            length(detail) + coalesce(length(record), 0) AS bytes FROM refused_proofs WHERE row_id > ?1 \
            ORDER BY row_id LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))]
        ) { row in
            let isAnonymous = row.text("budget") == Self.anonymousBudget
            return Age(
                rowID: row.integer("row_id"), lastAt: row.instant("seen_at"),
                keeping: isAnonymous ? .anonymous : row.isNull("claimed_order") ? .signedIn : .ofOrder,
                bytes: row.integer("bytes"))
        }
    }

    func remove(_ rowIDs: [Int64]) throws {
        try connection.run(
            rowIDs.map { Statement("DELETE FROM refused_proofs WHERE row_id = ?1", [.integer($0)]) })
    }

    /// How many different proofs were refused since a moment, by code, the most first. The table is bounded, so it is
    /// read whole.
    public func counts(since moment: Instant) throws -> [(code: String, count: Int64)] {
        try connection.query(
            """
            SELECT code, count(*) AS number FROM refused_proofs WHERE coalesce(last_at, at) >= ?1 GROUP BY code \
            ORDER BY count(*) DESC, code
            """, [.instant(moment)]
        ) { ($0.text("code"), $0.integer("number")) }
    }

    private static func read(_ row: any Row) throws -> Entry {
        var entry = Entry(
            at: row.instant("at"), source: row.text("source"), caller: CallerColumns.name(row) ?? "",
            claimedOrder: row.isNull("claimed_order") ? nil : try row.uniqueID("claimed_order"), code: row.text("code"),
            detail: row.text("detail"),
            digest: row.blob("digest"), record: row.optionalText("record"))
        entry.count = row.integer("count")
        entry.lastAt = row.optionalInstant("last_at")
        return entry
    }
}
