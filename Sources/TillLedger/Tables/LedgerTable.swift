import TillBilling
import TillSQL

/// `postings` and `balances`. A balance is the sum of its postings, updated in the same commit.
public struct LedgerTable {
    private static let columns: Columns = """
        environment, customer_id, contra, currency, amount, kind, reference, at, reason
        """
    private static let inserting: SQL = """
        INSERT INTO postings (\(columns), grant_row_id, transfer_row_id, \(CallerColumns.names)) VALUES (\(marks: 14))
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let posting: Posting
    }

    /// Adds a posting and updates the balance. `grant` is the row id of the transaction whose grant it belongs to;
    /// without one, the posting's own reference is stored. `transfer` is the transfer that moves the points, `customer`
    /// the number of the posting's user, if it is known.
    public func post(_ posting: Posting, grant: Int64?, transfer: Int64? = nil, customer: Int64? = nil) throws {
        let customer = try customer ?? CustomerTable(connection).id(of: posting.userID, at: posting.at)
        try insert(posting, customer, grant: grant, transfer: transfer)
        try add(posting.amount, to: posting.currency, of: customer, in: posting.environment)
    }

    /// Adds the postings of several customers, and updates each balance once.
    func post(_ all: [(posting: Posting, customer: Int64, grant: Int64?)]) throws {
        var changes: [Balance: Int64] = [:]
        for (posting, customer, grant) in all {
            try insert(posting, customer, grant: grant, transfer: nil)
            let balance = Balance(
                customer: customer, environment: posting.environment, currency: posting.currency)
            changes[balance, default: 0] += posting.amount
        }
        for (balance, amount) in changes.sorted(by: { $0.key < $1.key }) {
            try add(amount, to: balance.currency, of: balance.customer, in: balance.environment)
        }
    }

    private struct Balance: Hashable, Comparable {
        let customer: Int64
        let environment: StoreEnvironment
        let currency: String

        static func < (one: Balance, two: Balance) -> Bool {
            (one.customer, one.environment.rawValue, one.currency)
                < (two.customer, two.environment.rawValue, two.currency)
        }
    }

    private func insert(_ posting: Posting, _ customer: Int64, grant: Int64?, transfer: Int64?) throws {
        let caller = try CallerColumns(posting.note.actor, at: posting.at, connection)
        try connection.write(
            Self.inserting,
            [
                posting.environment.column, .integer(customer), .text(posting.contra.rawValue),
                .text(posting.currency), .integer(posting.amount), .text(posting.kind.rawValue),
                grant == nil ? .text(posting.reference) : .null, .instant(posting.at), .optional(posting.note.reason),
                .optional(grant), .optional(transfer), caller.kind, caller.customerID, caller.key,
            ])
    }

    private func add(
        _ amount: Int64, to currency: String, of customer: Int64, in environment: StoreEnvironment
    ) throws {
        try connection.write(
            """
            INSERT INTO balances (environment, customer_id, currency, amount) VALUES (?1, ?2, ?3, ?4) \
            ON CONFLICT (environment, customer_id, currency) DO UPDATE SET amount = balances.amount + excluded.amount
            """,
            [environment.column, .integer(customer), .text(currency), .integer(amount)])
    }

    public func wallet(of user: UserID, in environment: StoreEnvironment) throws -> Wallet {
        let balances = try connection.query(Self.findingWallet(of: user, in: environment)) {
            ($0.text("currency"), $0.integer("amount"))
        }
        return Wallet(balances: Dictionary(balances, uniquingKeysWith: { first, _ in first }))
    }

    private static func findingWallet(of user: UserID, in environment: StoreEnvironment) -> Statement {
        Statement(
            "SELECT currency, amount FROM balances WHERE environment = ?1 AND customer_id = \(customer: 2)",
            [environment.column, .text(user.text)])
    }

    /// The wallets of customers.
    func wallets(of ids: [Int64]) throws -> [(customer: Int64, wallet: ImportUndoFacts.Wallet, amount: Int64)] {
        try Self.findingWallets(of: ids).flatMap { statement in
            try connection.query(statement) { row in
                (
                    row.integer("customer_id"),
                    ImportUndoFacts.Wallet(
                        environment: try row.environment("environment"), currency: row.text("currency")),
                    row.integer("amount")
                )
            }
        }
    }

    static func findingWallets(of ids: [Int64]) -> [Statement] {
        IDLists.statements(
            """
            SELECT customer_id, environment, currency, amount FROM balances WHERE customer_id IN \
            (\(marks: 32)) AND environment IN (?33, ?34, ?35)
            """, ids, StoreEnvironment.allCases.map(\.column))
    }

    /// What is read before a posting by reference, for databases where each query is a round trip.
    package static func reads(before posting: Posting) -> [Statement] {
        let (user, environment) = (posting.userID, posting.environment)
        return [
            findingWallet(of: user, in: environment),
            OwnershipTable.findingHeld(of: user, in: environment, at: posting.at),
            posting.kind == .debit
                ? findingDebit(reference: posting.reference, in: environment)
                : findingManual(posting.kind, reference: posting.reference, in: environment),
            CustomerTable.finding(user),
        ]
    }

    /// The number of other grants with a debt forgiven after a moment: the larger of the count for the user with the
    /// guests merged into their account, and the count for purchases paid by the same Apple Account.
    ///
    /// - Parameter payer: `appTransactionId` of the grant, if Apple signed one.
    public func forgivenGrants(
        of user: UserID, paidBy payer: String?, in environment: StoreEnvironment, after moment: Instant,
        except grant: Int64
    ) throws -> Int64 {
        let own = try connection.first(
            """
            WITH RECURSIVE customer (id) AS (SELECT \(customer: 1) AS id UNION SELECT g.customer_id FROM customer m \
            CROSS JOIN customers g ON g.merged_into = m.id) SELECT count(DISTINCT p.grant_row_id) AS grants FROM \
            customer m CROSS JOIN postings p ON p.customer_id = m.id WHERE p.environment = ?2 AND p.at > ?3 AND \
            p.grant_row_id <> ?4 AND p.kind = 'write_off'
            """, [.text(user.text), environment.column, .instant(moment), .integer(grant)]
        ) { $0.integer("grants") }
        guard let payer else { return own ?? 0 }
        // Forgiven debts are few and purchases are many, so the query reads the purchases last.
        let paid = try connection.first(
            """
            SELECT count(DISTINCT p.grant_row_id) AS grants FROM postings p CROSS JOIN transactions t \
            ON t.row_id = p.grant_row_id WHERE p.kind = 'write_off' AND p.environment = ?1 AND p.at > ?2 \
            AND p.grant_row_id <> ?3 AND t.app_transaction = ?4
            """, [environment.column, .instant(moment), .integer(grant), .text(payer)]
        ) { $0.integer("grants") }
        return max(own ?? 0, paid ?? 0)
    }

    /// The debit with a reference, if there is one.
    public func debit(reference: String, in environment: StoreEnvironment) throws -> Stored? {
        try connection.first(Self.findingDebit(reference: reference, in: environment), Self.read)
    }

    private static func findingDebit(reference: String, in environment: StoreEnvironment) -> Statement {
        Statement(
            """
            SELECT p.row_id, g.id AS grant_id, \(Self.columns, userOf: "p"), \(caller: "p") FROM postings p LEFT \
            JOIN grants g ON g.transaction_row_id = p.grant_row_id WHERE p.environment = ?1 AND p.reference = ?2 \
            AND p.kind = 'debit'
            """, [environment.column, .text(reference)])
    }

    /// The bonus or the correction with a reference, if there is one. The list of kinds matches the partial index.
    public func manual(_ kind: PostingKind, reference: String, in environment: StoreEnvironment) throws -> Stored? {
        try connection.first(Self.findingManual(kind, reference: reference, in: environment), Self.read)
    }

    private static func findingManual(
        _ kind: PostingKind, reference: String, in environment: StoreEnvironment
    ) -> Statement {
        Statement(
            """
            SELECT p.row_id, NULL AS grant_id, \(Self.columns, userOf: "p"), \(caller: "p") FROM postings p WHERE \
            p.environment = ?1 AND p.kind = ?2 AND p.reference = ?3 AND p.kind IN ('bonus', 'correction')
            """, [environment.column, .text(kind.rawValue), .text(reference)])
    }

    /// A user's points of one currency, lot by lot. Reads all postings of that user, one at a time.
    public func lots(of user: UserID, in environment: StoreEnvironment, currency: String) throws -> Lots {
        var lots = Lots()
        _ = try connection.query(
            """
            SELECT p.row_id, g.id AS grant_id, \(Self.columns, userOf: "p"), \(caller: "p"), t.id AS transaction_id, \
            t.purchased_at FROM postings p LEFT JOIN grants g ON g.transaction_row_id = p.grant_row_id LEFT JOIN \
            transactions t ON t.row_id = p.grant_row_id WHERE p.customer_id = \(customer: 1) AND +p.environment = \
            ?2 AND p.currency = ?3 ORDER BY p.row_id
            """, [.text(user.text), environment.column, .text(currency)]
        ) { row in
            let posting = try Self.read(row).posting
            lots.add(
                posting,
                bought: row.isNull("transaction_id")
                    ? nil : (TransactionID(row.text("transaction_id")), row.instant("purchased_at")))
        }
        return lots
    }

    /// The points that a transfer put into a user's wallet beside those of single purchases; negative for a debt.
    public func pointsWithoutPurchase(of transferRowID: Int64, in user: UserID) throws -> [MovedPoints] {
        try connection.query(
            """
            SELECT environment, currency, CAST(sum(amount) AS BIGINT) AS points FROM postings WHERE customer_id = \
            \(customer: 1) AND transfer_row_id = ?2 AND grant_row_id IS NULL GROUP BY environment, currency HAVING \
            sum(amount) <> 0 ORDER BY environment, currency
            """, [.text(user.text), .integer(transferRowID)]
        ) { row in
            MovedPoints(
                environment: try row.environment("environment"), currency: row.text("currency"),
                amount: row.integer("points"))
        }
    }

    /// A user's postings, newest first, from before a row id.
    public func postings(
        of user: UserID, in environment: StoreEnvironment, before: Int64, limit: Int
    ) throws -> [Stored] {
        try connection.query(
            """
            SELECT p.row_id, g.id AS grant_id, \(Self.columns, userOf: "p"), \(caller: "p") FROM postings p LEFT \
            JOIN grants g ON g.transaction_row_id = p.grant_row_id WHERE p.customer_id = \(customer: 1) AND \
            p.environment = ?2 AND p.row_id < ?3 ORDER BY p.row_id DESC LIMIT ?4
            """,
            [.text(user.text), environment.column, .integer(before), .integer(Int64(limit))], Self.read)
    }

    /// All postings of one grant, oldest first. The query reads the postings of the grant's user and of later owners,
    /// which an index groups by customer.
    public func postings(grantOf rowID: Int64) throws -> [Stored] {
        try connection.query(
            """
            SELECT p.row_id, g.id AS grant_id, \(Self.columns, userOf: "p"), \(caller: "p") FROM postings p LEFT \
            JOIN grants g ON g.transaction_row_id = p.grant_row_id WHERE p.customer_id IN (SELECT customer_id FROM \
            grants WHERE transaction_row_id = ?1 UNION SELECT customer_id FROM grant_owners WHERE grant_row_id = ?1 \
            UNION SELECT f.to_customer_id FROM transfer_items i JOIN transfers f ON f.row_id = i.transfer_row_id \
            WHERE i.grant_row_id = ?1) AND p.grant_row_id = ?1 ORDER BY p.row_id
            """, [.integer(rowID)], Self.read)
    }

    /// Balances that differ from the sum of their postings. Any result means that the ledger is damaged (DESIGN §4,
    /// invariant 4).
    public func unbalanced() throws -> [String] {
        try AuditWalk.balances.find(connection, .everything).map(\.about)
    }

    /// Compares the balances of the next customers with the sums of their postings.
    ///
    /// - Returns: the last of these customers, nil at the end; and how many balances differ, missing ones included.
    public func compareBalances(after customer: Int64, limit: Int) throws -> (last: Int64?, unbalanced: Int64) {
        let last = try connection.first(
            """
            SELECT max(customer_id) AS last_customer FROM (SELECT customer_id FROM customers WHERE customer_id > ?1 \
            ORDER BY customer_id LIMIT ?2) AS slice
            """, [.integer(customer), .integer(Int64(limit))]
        ) { $0.optionalInteger("last_customer") }
        guard case .some(.some(let last)) = last else { return (nil, 0) }
        let environments = StoreEnvironment.allCases.map(\.column)
        let unbalanced = try connection.first(
            """
            SELECT count(*) AS count FROM (SELECT environment, customer_id, currency FROM (SELECT environment, \
            customer_id, currency, amount FROM postings WHERE customer_id > ?1 AND customer_id <= ?2 UNION ALL SELECT \
            environment, customer_id, currency, -amount FROM balances WHERE environment IN (?3, ?4, ?5) AND \
            customer_id > ?1 AND customer_id <= ?2) AS entries GROUP BY environment, customer_id, currency \
            HAVING sum(amount) <> 0) AS differing
            """, [.integer(customer), .integer(last)] + environments
        ) { $0.integer("count") }
        return (last, unbalanced ?? 0)
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let contra = ContraAccount(rawValue: row.text("contra")),
            let kind = PostingKind(rawValue: row.text("kind"))
        else {
            throw row.unreadable("a posting")
        }
        let reference = row.isNull("grant_id") ? row.text("reference") : try row.uniqueID("grant_id").description
        var posting = Posting(
            environment: try row.environment("environment"), userID: UserID(row.text("user_id")), contra: contra,
            currency: row.text("currency"),
            amount: row.integer("amount"), kind: kind, reference: reference, at: row.instant("at"))
        posting.note = Posting.Note(reason: row.optionalText("reason"), actor: CallerColumns.name(row))
        return Stored(rowID: row.integer("row_id"), posting: posting)
    }
}
