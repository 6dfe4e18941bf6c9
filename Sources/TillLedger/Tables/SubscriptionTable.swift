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
            sequence INTEGER PRIMARY KEY,
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
            subscription_sequence INTEGER NOT NULL REFERENCES subscriptions (sequence),
            transaction_sequence INTEGER NOT NULL REFERENCES transactions (sequence),
            PRIMARY KEY (subscription_sequence, transaction_sequence)
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX transactions_waiting_in_chain ON transactions (original_id) WHERE order_sequence IS NULL;
        CREATE INDEX transactions_waiting_for_order ON transactions (token)
            WHERE order_sequence IS NULL AND token IS NOT NULL;
        """
}

/// `subscriptions` and `subscription_periods`.
public struct SubscriptionTable {
    let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        /// Nil before Apple has signed renewal information.
        public let renewal: RenewalTerms?
    }

    /// A period, its state, and the order that it is linked to, if any.
    public struct Period: Sendable, Hashable {
        public let period: PaidPeriod
        public let state: RecordedTransaction.State
        public let orderSequence: Int64?
    }

    /// The maximum number of periods read for one subscription: weekly periods for almost forty years.
    static let periodLimit: Int64 = 2_000

    public func find(_ original: TransactionID, in environment: Environment) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, renewal_signed_at, renewal_product, auto_renews, in_billing_retry, grace_until, \
            expiration_intent, price_increase, renewal_price, renewal_currency, renewal_at, renewal_offer_type, \
            renewal_offer_id, renewal_offer_discount FROM subscriptions WHERE environment = ?1 AND original_id = ?2
            """, [environment.column, .text(original.text)]
        ) { row in Stored(sequence: row.integer("sequence"), renewal: Self.renewal(row)) }
    }

    /// Creates the row of a subscription that the ledger does not know.
    public func insert(_ original: TransactionID, in environment: Environment, at: Instant) throws -> Stored {
        let sequence = try session.insert(
            "INSERT INTO subscriptions (environment, original_id, updated_at) VALUES (?1, ?2, ?3)",
            [environment.column, .text(original.text), .instant(at)])
        return Stored(sequence: sequence, renewal: nil)
    }

    /// Lists a transaction as one of the subscription's; a repetition changes nothing.
    public func add(transaction: Int64, to subscription: Int64) throws {
        try session.execute(
            """
            INSERT INTO subscription_periods (subscription_sequence, transaction_sequence) VALUES (?1, ?2) \
            ON CONFLICT DO NOTHING
            """, [.integer(subscription), .integer(transaction)])
    }

    /// Stores renewal information. The caller ensures that it is the newest.
    ///
    /// - Parameter proof: the original signed bytes.
    public func update(_ subscription: Int64, to renewal: RenewalTerms, proof: [UInt8], at: Instant) throws {
        try session.execute(
            """
            UPDATE subscriptions SET renewal_signed_at = ?1, renewal_product = ?2, auto_renews = ?3, in_billing_retry \
            = ?4, grace_until = ?5, expiration_intent = ?6, price_increase = ?7, renewal_price = ?8, renewal_currency \
            = ?9, renewal_at = ?10, renewal_offer_type = ?11, renewal_offer_id = ?12, renewal_offer_discount = ?13, \
            renewal_proof = ?14, updated_at = ?15 WHERE sequence = ?16
            """,
            [
                .instant(renewal.signedAt), .optional(renewal.productID?.text), .optional(renewal.autoRenews),
                .optional(renewal.isInBillingRetry), .optional(renewal.graceUntil?.milliseconds),
                .optional(renewal.expirationIntent.map { Int64($0) }),
                .optional(renewal.priceIncrease.map { Int64($0) }), .optional(renewal.price?.amount),
                .optional(renewal.price?.currency.text), .optional(renewal.renewsAt?.milliseconds),
                .optional(renewal.offer.map { Int64($0.type) }), .optional(renewal.offer?.id),
                .optional(renewal.offer?.discount), .blob(proof), .instant(at), .integer(subscription),
            ])
    }

    /// The original bytes of the stored renewal information.
    public func renewalProof(of subscription: Int64) throws -> [UInt8]? {
        try session.first(
            "SELECT renewal_proof FROM subscriptions WHERE sequence = ?1 AND renewal_proof IS NOT NULL",
            [.integer(subscription)]
        ) { $0.blob("renewal_proof") }
    }

    /// All periods of a subscription, those in quarantine included; newest purchase first.
    public func periods(of subscription: Int64) throws -> [Period] {
        try session.query(
            """
            SELECT t.state, t.order_sequence, \(TransactionTable.signed, of: "t"), \(TransactionTable.terms, of: "t") \
            FROM subscription_periods p CROSS JOIN transactions t ON t.sequence = p.transaction_sequence \
            WHERE p.subscription_sequence = ?1 ORDER BY t.purchased_at DESC, t.sequence DESC LIMIT ?2
            """, [.integer(subscription), .integer(Self.periodLimit)]
        ) { row in
            guard let state = RecordedTransaction.State(rawValue: Int(row.integer("state"))) else {
                throw row.unreadable("a transaction's state")
            }
            return Period(
                period: row.paidPeriod(), state: state, orderSequence: row.optionalInteger("order_sequence"))
        }
    }

    private static func renewal(_ row: any Row) -> RenewalTerms? {
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
