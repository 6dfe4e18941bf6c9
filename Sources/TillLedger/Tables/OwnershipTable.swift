import TillBilling
import TillSQL

extension Schema {
    /// The ownership basis of grants whose basis is not Apple's signed token; most grants need no row. A row also
    /// records until when points are held, which token contests the owner, and when Apple is asked next.
    ///
    /// `distrusted_receipts` lists the customers who lost a purchase that a receipt had granted, and when they last
    /// did.
    static let ownership: StaticString = """
        CREATE TABLE ownership_basis (
            grant_row_id INTEGER PRIMARY KEY REFERENCES grants (transaction_row_id),
            environment INTEGER NOT NULL,
            customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            basis TEXT NOT NULL,
            hold_until INTEGER,
            contested_token BLOB,
            withdrawn_at INTEGER,
            lookup_at INTEGER,
            lookup_attempts INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX ownership_basis_held ON ownership_basis (customer_id, hold_until) WHERE hold_until IS NOT NULL;
        CREATE INDEX ownership_basis_contested ON ownership_basis (contested_token)
            WHERE contested_token IS NOT NULL;
        CREATE INDEX ownership_basis_lookups ON ownership_basis (lookup_at) WHERE lookup_at IS NOT NULL;

        CREATE TABLE distrusted_receipts (
            customer_id INTEGER PRIMARY KEY REFERENCES customers (customer_id),
            since INTEGER NOT NULL
        ) STRICT;
        """
}

/// `ownership_basis` and `distrusted_receipts`.
public struct OwnershipTable {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let basis: OwnershipBasis
        /// Until when its points are held. The hold does not end while a token contests the owner.
        public let holdUntil: Instant?
        /// The token of a newer copy than the one granted on; it named no known customer when it arrived.
        public let contestedToken: UniqueID?
        /// Moved back into quarantine: without an owner until it is claimed.
        public let isWithdrawn: Bool
    }

    /// When the hold of a contested grant ends: at the end of the year 9999.
    public static let untilDecided = Instant(milliseconds: 253_402_300_799_000)

    /// A grant that waits for Apple's answer.
    public struct Lookup: Sendable, Hashable {
        public let rowID: Int64
        public let id: TransactionID
        public let environment: StoreEnvironment
        /// How often Apple has answered that it has no such transaction.
        public let attempts: Int64
        /// Until when its points are held.
        public let holdUntil: Instant?
    }

    /// Nil if the basis is the token that Apple signed.
    public func find(_ rowID: Int64) throws -> Stored? {
        try connection.first(
            """
            SELECT basis, hold_until, contested_token, withdrawn_at FROM ownership_basis WHERE grant_row_id = ?1
            """, [.integer(rowID)]
        ) { row in
            guard let basis = OwnershipBasis(rawValue: row.text("basis")) else {
                throw row.unreadable("a basis of ownership")
            }
            return Stored(
                basis: basis, holdUntil: row.optionalInstant("hold_until"),
                contestedToken: row.isNull("contested_token") ? nil : UniqueID(bytes: row.blob("contested_token")),
                isWithdrawn: !row.isNull("withdrawn_at"))
        }
    }

    /// Sets the basis of a grant. No row is kept for a token.
    public func set(
        _ basis: OwnershipBasis, of grant: OwnedGrant, owner: UserID, holdUntil: Instant? = nil,
        lookUpAt: Instant? = nil
    ) throws {
        if basis == .token {
            try connection.write("DELETE FROM ownership_basis WHERE grant_row_id = ?1", [.integer(grant.rowID)])
            return
        }
        try connection.write(
            """
            INSERT INTO ownership_basis (grant_row_id, environment, customer_id, basis, hold_until, lookup_at) \
            VALUES (?1, ?2, \(customer: 3), ?4, ?5, ?6) ON CONFLICT (grant_row_id) DO UPDATE SET customer_id = \
            excluded.customer_id, basis = excluded.basis, hold_until = excluded.hold_until, lookup_at = \
            excluded.lookup_at, contested_token = NULL, withdrawn_at = NULL, lookup_attempts = 0
            """,
            [
                .integer(grant.rowID), grant.environment.column, .text(owner.text), .text(basis.rawValue),
                .optional(holdUntil?.milliseconds), .optional(lookUpAt?.milliseconds),
            ])
    }

    /// Makes another customer the owner; the basis stays.
    public func move(_ rowID: Int64, to owner: UserID) throws {
        try connection.write(
            "UPDATE ownership_basis SET customer_id = \(customer: 1) WHERE grant_row_id = ?2",
            [.text(owner.text), .integer(rowID)])
    }

    /// Records that a token which names no known customer contests the owner: the points are held until that is
    /// decided.
    public func contest(_ rowID: Int64, by token: UniqueID?) throws {
        try connection.write(
            "UPDATE ownership_basis SET contested_token = ?1, hold_until = ?2 WHERE grant_row_id = ?3",
            [.optional(token), .instant(Self.untilDecided), .integer(rowID)])
    }

    /// Records that the grant was moved back into quarantine.
    public func withdraw(_ rowID: Int64, at now: Instant) throws {
        try connection.write(
            """
            UPDATE ownership_basis SET withdrawn_at = ?1, hold_until = NULL, contested_token = NULL, lookup_at = NULL \
            WHERE grant_row_id = ?2
            """, [.instant(now), .integer(rowID)])
    }

    /// The grants that a token contests.
    public func contested(by token: UniqueID, in environment: StoreEnvironment) throws -> [Int64] {
        try connection.query(Self.findingContested(by: token, in: environment)) { $0.integer("grant_row_id") }
    }

    static func findingContested(by token: UniqueID, in environment: StoreEnvironment) -> Statement {
        Statement(
            """
            SELECT grant_row_id FROM ownership_basis WHERE contested_token = ?1 AND contested_token IS NOT NULL \
            AND +environment = ?2 ORDER BY grant_row_id LIMIT 1000
            """, [.id(token), environment.column])
    }

    // MARK: Chains

    /// Renewals after a moment that an owner has only by a receipt, because of the purchase before them.
    public func renewals(
        after moment: Instant, of original: TransactionID, in environment: StoreEnvironment, owner: UserID
    ) throws -> [OwnedGrant] {
        try connection.query(
            """
            SELECT t.row_id, t.environment, t.original_id FROM subscriptions s CROSS JOIN subscription_periods p \
            ON p.subscription_row_id = s.row_id CROSS JOIN transactions t ON t.row_id = p.transaction_row_id \
            CROSS JOIN ownership_basis b ON b.grant_row_id = t.row_id WHERE s.environment = ?1 \
            AND s.original_id = ?2 AND t.state <> 2 AND t.is_renewal <> 0 AND t.purchased_at > ?3 \
            AND b.basis = 'receipt' AND b.customer_id = \(customer: 4) ORDER BY t.row_id
            """, [environment.column, .text(original.text), .instant(moment), .text(owner.text)]
        ) { row in
            OwnedGrant(
                rowID: row.integer("row_id"), environment: try row.environment("environment"),
                originalID: TransactionID(row.text("original_id")))
        }
    }

    // MARK: Held points

    /// The points that a customer has but may not spend yet, by currency: the points of held grants. Earlier spending
    /// counts against other points first, so a held grant is held in full.
    public func held(of user: UserID, in environment: StoreEnvironment, at now: Instant) throws -> [String: Int64] {
        let grants = try connection.query(Self.findingHeld(of: user, in: environment, at: now)) {
            ($0.integer("grant_row_id"), $0.integer("state") == Int64(RecordedTransaction.State.granted.rawValue))
        }
        var held: [String: Int64] = [:]
        for (rowID, isWhole) in grants {
            for (currency, amount) in isWhole ? try given(by: rowID) : try left(of: rowID) where amount > 0 {
                held[currency, default: 0] += amount
            }
        }
        return held
    }

    static func findingHeld(of user: UserID, in environment: StoreEnvironment, at now: Instant) -> Statement {
        Statement(
            """
            SELECT b.grant_row_id, t.state FROM ownership_basis b CROSS JOIN transactions t ON t.row_id = \
            b.grant_row_id WHERE b.customer_id = \(customer: 1) AND b.hold_until > ?2 AND b.hold_until IS NOT NULL \
            AND +b.environment = ?3 AND t.state <> 2
            """, [.text(user.text), .instant(now), environment.column])
    }

    private func given(by rowID: Int64) throws -> [(String, Int64)] {
        try connection.query(
            "SELECT currency, amount FROM postings WHERE grant_row_id = ?1 AND kind = 'purchase'",
            [.integer(rowID)]
        ) { ($0.text("currency"), $0.integer("amount")) }
    }

    /// What a grant gave, less what Apple revoked, for its current owner.
    public func left(of rowID: Int64) throws -> [(String, Int64)] {
        let postings = try LedgerTable(connection).postings(grantOf: rowID).map(\.posting)
        let standing = postings.filter { [.purchase, .refund, .refundReversal].contains($0.kind) }
        return Dictionary(standing.map { ($0.currency, $0.amount) }, uniquingKeysWith: +)
            .sorted { $0.key < $1.key }.filter { $0.value != 0 }
    }

    // MARK: Apple's answers

    /// Grants by receipts that are due to be asked about in an environment, the longest overdue first.
    public func dueLookups(in environment: StoreEnvironment, at now: Instant, limit: Int) throws -> [Lookup] {
        try connection.query(
            """
            SELECT b.grant_row_id, t.id, t.environment, b.lookup_attempts, b.hold_until FROM ownership_basis b \
            CROSS JOIN transactions t ON t.row_id = b.grant_row_id WHERE b.lookup_at <= ?1 \
            AND b.lookup_at IS NOT NULL AND t.environment = ?2 ORDER BY b.lookup_at LIMIT ?3
            """, [.instant(now), environment.column, .integer(Int64(limit))]
        ) { row in
            Lookup(
                rowID: row.integer("grant_row_id"), id: TransactionID(row.text("id")),
                environment: try row.environment("environment"),
                attempts: row.integer("lookup_attempts"), holdUntil: row.optionalInstant("hold_until"))
        }
    }

    /// - Parameters:
    ///   - instant: when Apple is asked next; nil: never.
    ///   - isAnswered: whether Apple answered. An outage does not count as an attempt.
    public func postponeLookup(_ rowID: Int64, until instant: Instant?, isAnswered: Bool = true) throws {
        try connection.write(
            """
            UPDATE ownership_basis SET lookup_at = ?1, lookup_attempts = lookup_attempts + ?2 \
            WHERE grant_row_id = ?3
            """,
            [.optional(instant?.milliseconds), .integer(isAnswered ? 1 : 0), .integer(rowID)])
    }

    // MARK: Distrust

    /// Records that a customer lost a purchase that a receipt had granted.
    public func distrust(_ user: UserID, at now: Instant) throws {
        try connection.write(
            """
            INSERT INTO distrusted_receipts (customer_id, since) VALUES (\(customer: 1), ?2) \
            ON CONFLICT (customer_id) DO UPDATE \
            SET since = excluded.since
            """, [.text(user.text), .instant(now)])
    }

    /// Whether that happened after a moment.
    public func isDistrusted(_ user: UserID, since moment: Instant) throws -> Bool {
        try connection.first(
            """
            SELECT 1 FROM distrusted_receipts WHERE customer_id = \(customer: 1) AND since > ?2
            """, [.text(user.text), .instant(moment)]
        ) { _ in true } ?? false
    }
}
