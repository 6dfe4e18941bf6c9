import TillBilling
import TillSQL

extension Schema {
    /// One row for each subscription of a customer, which is one original transaction: the newest renewal information.
    /// The periods are rows of `transactions`; a list of them for each chain replaces an index on that table.
    ///
    /// Purchases without an owner are found by their chain and by their order through partial indices, which are small
    /// because there are few such purchases.
    static let subscriptions: StaticString = """
        CREATE TABLE subscriptions (
            row_id INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL,
            original_id TEXT NOT NULL,
            renewal_signed_at INTEGER,
            renewal_product TEXT,
            auto_renews INTEGER,
            in_billing_retry INTEGER,
            grace_until INTEGER,
            expiration_intent INTEGER,
            price_increase INTEGER,
            renewal_price INTEGER,
            renewal_currency TEXT,
            renewal_at INTEGER,
            renewal_offer_type INTEGER,
            renewal_offer_id TEXT,
            renewal_offer_discount TEXT,
            renewal_proof BLOB,
            updated_at INTEGER NOT NULL,
            UNIQUE (environment, original_id)
        ) STRICT;

        CREATE TABLE subscription_periods (
            subscription_row_id INTEGER NOT NULL REFERENCES subscriptions (row_id),
            transaction_row_id INTEGER NOT NULL REFERENCES transactions (row_id),
            PRIMARY KEY (subscription_row_id, transaction_row_id)
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX transactions_waiting_in_chain ON transactions (original_id) WHERE order_row_id IS NULL;
        CREATE INDEX transactions_waiting_for_order ON transactions (token)
            WHERE order_row_id IS NULL AND token IS NOT NULL;
        """
}

/// `subscriptions` and `subscription_periods`.
public struct SubscriptionTable {
    let connection: any Connection
    private let tokens: ShortToken
    public init(_ connection: any Connection) { self.init(connection, knowing: nil) }

    init(_ connection: any Connection, knowing known: KnownProofHeaders?) {
        self.connection = connection
        tokens = ShortToken(connection, knowing: known)
    }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        /// Nil before Apple has signed renewal information.
        public let renewal: RenewalTerms?
    }

    /// A period, its state, and the order that it is linked to, if any.
    public struct Period: Sendable, Hashable {
        public let period: PaidPeriod
        public let state: RecordedTransaction.State
        public let orderRowID: Int64?
    }

    /// Apple's newest renewal information without its proof.
    static let renewal: Columns = """
        renewal_signed_at, renewal_product, auto_renews, in_billing_retry, grace_until, expiration_intent, \
        price_increase, renewal_price, renewal_currency, renewal_at, renewal_offer_type, renewal_offer_id, \
        renewal_offer_discount
        """

    /// The maximum number of periods read for one subscription: weekly periods for almost forty years.
    static let periodLimit: Int64 = 2_000

    public func find(_ original: TransactionID, in environment: StoreEnvironment) throws -> Stored? {
        try connection.first(Self.finding(original, in: environment)) { row in
            Stored(rowID: row.integer("row_id"), renewal: Self.renewal(row))
        }
    }

    static func finding(_ original: TransactionID, in environment: StoreEnvironment) -> Statement {
        Statement(
            """
            SELECT row_id, \(renewal) FROM subscriptions WHERE environment = ?1 AND original_id = ?2
            """, [environment.column, .text(original.text)])
    }

    /// Creates the row of a subscription that the ledger does not know.
    ///
    /// - Parameter renewal: Apple's renewal information with its original signed bytes.
    public func insert(
        _ original: TransactionID, in environment: StoreEnvironment, at: Instant,
        renewal: (terms: RenewalTerms, proof: [UInt8])? = nil
    ) throws -> Stored {
        var values = [environment.column, .text(original.text), .instant(at)]
        if let renewal { values += Self.values(renewal.terms) + [.blob(try tokens.stored(renewal.proof))] }
        let rowID: Int64
        if let key = try connection.drawKey(of: "subscriptions") {
            rowID = key
            let inserting = renewal == nil ? Self.insertingUnderKey : Self.insertingRenewedUnderKey
            try connection.write(inserting, values + [.integer(key)])
        } else {
            rowID = try connection.insert(renewal == nil ? Self.inserting : Self.insertingRenewed, values)
        }
        return Stored(rowID: rowID, renewal: renewal?.terms)
    }

    private static let inserting: SQL = """
        INSERT INTO subscriptions (environment, original_id, updated_at) VALUES (\(marks: 3))
        """
    private static let insertingUnderKey: SQL = """
        INSERT INTO subscriptions (environment, original_id, updated_at, row_id) VALUES (\(marks: 4))
        """
    private static let insertingRenewed: SQL = """
        INSERT INTO subscriptions (environment, original_id, updated_at, \(renewal), renewal_proof) VALUES \
        (\(marks: 17))
        """
    private static let insertingRenewedUnderKey: SQL = """
        INSERT INTO subscriptions (environment, original_id, updated_at, \(renewal), renewal_proof, row_id) VALUES \
        (\(marks: 18))
        """

    /// Lists a transaction as one of the subscription's; a repetition changes nothing.
    public func add(transaction: Int64, to subscription: Int64) throws {
        try connection.write(
            """
            INSERT INTO subscription_periods (subscription_row_id, transaction_row_id) VALUES (?1, ?2) \
            ON CONFLICT DO NOTHING
            """, [.integer(subscription), .integer(transaction)])
    }

    /// Stores renewal information. The caller ensures that it is the newest.
    ///
    /// - Parameter proof: the original signed bytes.
    public func update(_ subscription: Int64, to renewal: RenewalTerms, proof: [UInt8], at: Instant) throws {
        try connection.write(
            """
            UPDATE subscriptions SET renewal_signed_at = ?1, renewal_product = ?2, auto_renews = ?3, in_billing_retry \
            = ?4, grace_until = ?5, expiration_intent = ?6, price_increase = ?7, renewal_price = ?8, renewal_currency \
            = ?9, renewal_at = ?10, renewal_offer_type = ?11, renewal_offer_id = ?12, renewal_offer_discount = ?13, \
            renewal_proof = ?14, updated_at = ?15 WHERE row_id = ?16
            """,
            Self.values(renewal) + [.blob(try tokens.stored(proof)), .instant(at), .integer(subscription)])
    }

    /// The values of the columns `renewal`.
    private static func values(_ renewal: RenewalTerms) -> [SQLValue] {
        [
            .instant(renewal.signedAt), .optional(renewal.productID?.text), .optional(renewal.autoRenews),
            .optional(renewal.isInBillingRetry), .optional(renewal.graceUntil?.milliseconds),
            .optional(renewal.expirationIntent.map { Int64($0) }),
            .optional(renewal.priceIncrease.map { Int64($0) }), .optional(renewal.price?.amount),
            .optional(renewal.price?.currency.text), .optional(renewal.renewsAt?.milliseconds),
            .optional(renewal.offer.map { Int64($0.type) }), .optional(renewal.offer?.id),
            .optional(renewal.offer?.discount),
        ]
    }

    /// The original bytes of the stored renewal information.
    public func renewalProof(of subscription: Int64) throws -> [UInt8]? {
        try connection.first(
            "SELECT renewal_proof FROM subscriptions WHERE row_id = ?1 AND renewal_proof IS NOT NULL",
            [.integer(subscription)]
        ) { $0.blob("renewal_proof") }.map(tokens.whole)
    }

    /// The renewal information of some subscriptions, with its proof; one that can't be read is empty.
    func renewals(
        _ slice: AuditSlice
    ) throws -> [(originalID: TransactionID, terms: RenewalTerms?, proof: [UInt8])] {
        try connection.query(
            """
            SELECT original_id, renewal_proof, \(Self.renewal) FROM subscriptions WHERE row_id > ?1 AND row_id <= ?2 \
            AND renewal_proof IS NOT NULL ORDER BY row_id
            """, slice.values
        ) { (TransactionID($0.text("original_id")), Self.renewal($0), $0.blob("renewal_proof")) }
        .map { ($0.0, $0.1, (try? tokens.whole($0.2)) ?? []) }
    }

    /// All periods of a subscription, those in quarantine included; newest purchase first.
    public func periods(of subscription: Int64) throws -> [Period] {
        try connection.query(
            """
            SELECT t.state, t.order_row_id, \(TransactionTable.signed, of: "t"), \(TransactionTable.terms, of: "t") \
            FROM subscription_periods p CROSS JOIN transactions t ON t.row_id = p.transaction_row_id \
            WHERE p.subscription_row_id = ?1 ORDER BY t.purchased_at DESC, t.row_id DESC LIMIT ?2
            """, [.integer(subscription), .integer(Self.periodLimit)]
        ) { row in
            guard let state = RecordedTransaction.State(rawValue: Int(row.integer("state"))) else {
                throw row.unreadable("a transaction's state")
            }
            return Period(
                period: row.paidPeriod(), state: state, orderRowID: row.optionalInteger("order_row_id"))
        }
    }

    /// Reads the columns `renewal`.
    static func renewal(_ row: any Row) -> RenewalTerms? {
        guard let signedAt = row.optionalInstant("renewal_signed_at") else { return nil }
        var renewal = RenewalTerms(signedAt: signedAt)
        renewal.productID = row.optionalText("renewal_product").map { ProductID($0) }
        renewal.autoRenews = row.optionalInteger("auto_renews").map { $0 != 0 }
        renewal.isInBillingRetry = row.optionalInteger("in_billing_retry").map { $0 != 0 }
        renewal.graceUntil = row.optionalInstant("grace_until")
        renewal.expirationIntent = row.isNull("expiration_intent") ? nil : Int(row.integer("expiration_intent"))
        renewal.priceIncrease = row.isNull("price_increase") ? nil : Int(row.integer("price_increase"))
        renewal.price = row.money("renewal_price", "renewal_currency")
        renewal.renewsAt = row.optionalInstant("renewal_at")
        if !row.isNull("renewal_offer_type") {
            renewal.offer = TransactionTerms.Offer(
                type: Int(row.integer("renewal_offer_type")), id: row.optionalText("renewal_offer_id"),
                discount: row.optionalText("renewal_offer_discount"))
        }
        return renewal
    }
}

extension SQLValue {
    fileprivate static func optional(_ flag: Bool?) -> SQLValue { flag.map { .flag($0) } ?? .null }
}
