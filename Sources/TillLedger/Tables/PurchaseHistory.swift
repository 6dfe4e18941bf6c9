import TillBilling
import TillSQL

extension Schema {
    /// Whose order paid for a transaction that may give a right, so that a customer's rights are read without their
    /// other orders. A row is only a hint: what it says is checked in the tables. Triggers write it; of those,
    /// `listedWhenInserted` drops one. A purchase of points writes nothing.
    static let purchasesWithRights: StaticString = """
        CREATE TABLE purchases_with_rights (
            customer_id INTEGER NOT NULL,
            transaction_row_id INTEGER NOT NULL,
            PRIMARY KEY (customer_id, transaction_row_id)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO purchases_with_rights (customer_id, transaction_row_id)
            SELECT o.customer_id, t.row_id FROM transactions t JOIN orders o ON o.row_id = t.order_row_id
            WHERE t.order_row_id IS NOT NULL AND (coalesce(t.type, 0) <> 1 OR t.state = 3);
        DROP INDEX transactions_with_rights;
        CREATE TRIGGER new_purchases_with_rights AFTER INSERT ON transactions
        WHEN NEW.order_row_id IS NOT NULL AND (coalesce(NEW.type, 0) <> 1 OR NEW.state = 3) BEGIN
            INSERT INTO purchases_with_rights (customer_id, transaction_row_id)
                SELECT o.customer_id, NEW.row_id FROM orders o WHERE o.row_id = NEW.order_row_id
                ON CONFLICT DO NOTHING;
        END;
        CREATE TRIGGER changed_purchases_with_rights AFTER UPDATE OF order_row_id, type, state ON transactions
        WHEN NEW.order_row_id IS NOT NULL AND (coalesce(NEW.type, 0) <> 1 OR NEW.state = 3) BEGIN
            INSERT INTO purchases_with_rights (customer_id, transaction_row_id)
                SELECT o.customer_id, NEW.row_id FROM orders o WHERE o.row_id = NEW.order_row_id
                ON CONFLICT DO NOTHING;
        END;
        """

    /// `TransactionTable` lists what it inserts: with a trigger, SQLite copies each page that an insertion changes.
    static let listedWhenInserted: StaticString = """
        DROP TRIGGER new_purchases_with_rights;
        """
}

extension PostgresTables {
    /// Servers of earlier releases go on: the trigger lists what they insert.
    static let listedWhenInserted: StaticString = """
        SELECT 1;
        """

    /// The function runs as its owner: a server's role gets its rights to the new table after the migration.
    static let purchasesWithRights: StaticString = """
        CREATE TABLE purchases_with_rights (
            customer_id BIGINT NOT NULL,
            transaction_row_id BIGINT NOT NULL,
            PRIMARY KEY (customer_id, transaction_row_id)
        );
        CREATE FUNCTION list_purchase_with_rights() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
        SET search_path FROM CURRENT AS $$
        BEGIN
            INSERT INTO purchases_with_rights (customer_id, transaction_row_id)
                SELECT o.customer_id, NEW.row_id FROM orders o WHERE o.row_id = NEW.order_row_id
                ON CONFLICT DO NOTHING;
            RETURN NULL;
        END
        $$;
        CREATE TRIGGER new_purchases_with_rights AFTER INSERT ON transactions FOR EACH ROW
            WHEN (NEW.order_row_id IS NOT NULL AND (coalesce(NEW.type, 0) <> 1 OR NEW.state = 3))
            EXECUTE FUNCTION list_purchase_with_rights();
        CREATE TRIGGER changed_purchases_with_rights AFTER UPDATE OF order_row_id, type, state ON transactions
            FOR EACH ROW WHEN (NEW.order_row_id IS NOT NULL AND (coalesce(NEW.type, 0) <> 1 OR NEW.state = 3))
            EXECUTE FUNCTION list_purchase_with_rights();
        INSERT INTO purchases_with_rights (customer_id, transaction_row_id)
            SELECT o.customer_id, t.row_id FROM transactions t JOIN orders o ON o.row_id = t.order_row_id
            WHERE t.order_row_id IS NOT NULL AND (coalesce(t.type, 0) <> 1 OR t.state = 3);
        DROP INDEX transactions_with_rights;
        """
}

/// `purchases_with_rights` on SQLite, where no trigger lists the transactions that are inserted.
struct PurchasesWithRights {
    private let connection: any Connection

    /// Nil on PostgreSQL.
    init?(_ connection: any Connection) {
        guard !connection.isShared else { return nil }
        self.connection = connection
    }

    /// Lists a transaction that was inserted, under the customer of its order.
    func add(_ rowID: Int64, orderRowID: Int64) throws {
        try connection.write(
            """
            INSERT INTO purchases_with_rights (customer_id, transaction_row_id) \
            SELECT customer_id, ?1 FROM orders WHERE row_id = ?2 ON CONFLICT DO NOTHING
            """, [.integer(rowID), .integer(orderRowID)])
    }

    /// Lists all transactions that may give a right.
    func addAll() throws {
        try connection.write(
            """
            INSERT INTO purchases_with_rights (customer_id, transaction_row_id) SELECT o.customer_id, t.row_id \
            FROM transactions t JOIN orders o ON o.row_id = t.order_row_id WHERE t.order_row_id IS NOT NULL \
            AND (coalesce(t.type, 0) <> 1 OR t.state = 3) ON CONFLICT DO NOTHING
            """, [])
    }
}

/// The purchases that a user owns, revoked ones included: orders, transactions, grants and subscriptions, read
/// together.
public struct PurchaseHistory {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Entry: Sendable, Hashable {
        /// The row id of the transaction.
        public let rowID: Int64
        public let originalID: TransactionID
        /// The signed period; only a subscription's period has an end.
        public let period: PaidPeriod
        public let quantity: Int
        public let isRevoked: Bool
        /// The entitlement as granted.
        public let entitlement: String?
        public let deviceID: DeviceID?
        /// The row id of the subscription of which it is a period.
        let subscription: Int64?
    }

    /// What the ledger knows about a subscription besides the user's periods.
    struct Chain: Sendable, Hashable {
        let renewal: RenewalTerms?
        /// How many periods the ledger lists, those of other customers included; nil if the user does not own the
        /// first one.
        var periodCount: Int64?
    }

    /// A user's purchases.
    struct List {
        /// Sorted by purchase time.
        fileprivate(set) var entries: [Entry] = []
        /// By row id.
        fileprivate(set) var chains: [Int64: Chain] = [:]
        /// The periods of the same subscription that the user does not own. Only `list(of:subscription:)` reads them.
        fileprivate(set) var others: [PaidPeriod] = []

        fileprivate mutating func sort() {
            entries.sort {
                ($0.period.purchasedAt, $0.period.transactionID) < ($1.period.purchasedAt, $1.period.transactionID)
            }
        }
    }

    /// The newest `limit` purchases that give or gave a right; purchases in quarantine and consumables without an
    /// entitlement are not included. Purchases now owned by another user are omitted, and purchases transferred to this
    /// user are included.
    ///
    /// One query reads the list of what may give the user a right and, for each transaction in it, its row and the rows
    /// of its order, its grant and its subscription. A granted consumable may give one only by its grant, which has an
    /// index, or by the catalogue: if that gives a right for a consumable, all of the user's transactions are read.
    func list(of user: UserID, in environment: StoreEnvironment, limit: Int, catalog: Catalog) throws -> List {
        var list = List()
        let readsAll = catalog.products.contains { $0.type == .consumable && $0.right != nil }
        list.entries = try connection.query(
            readsAll ? Self.listingAll : Self.listing, [.text(user.text), environment.column]
        ) { row -> Entry? in
            if row.optionalInteger("type") == 1, row.isNull("entitlement"),
                catalog[ProductID(row.text("product"))]?.right == nil
            {
                return nil
            }
            if let id = row.optionalInteger("subscription") {
                var chain = list.chains[id] ?? Chain(renewal: SubscriptionTable.renewal(row))
                if let count = row.optionalInteger("period_count") { chain.periodCount = count }
                list.chains[id] = chain
            }
            return Self.entry(row)
        }
        .compactMap { $0 }
        if list.entries.count > limit {
            list.entries = Array(list.entries.sorted { $0.rowID > $1.rowID }.prefix(limit))
        }
        list.sort()
        return list
    }

    // The plus signs keep SQLite on the indices by customer; an index on the environment would read the whole table.
    // The `CASE` keeps it from searching a subscription for every consumable.
    static let listing: SQL = """
        SELECT t.row_id, t.state, g.entitlement, o.device, \(TransactionTable.signed, of: "t"), \
        \(TransactionTable.terms, of: "t"), s.row_id AS subscription, \(SubscriptionTable.renewal, of: "s"), \
        \(periodCount) AS period_count FROM purchases_with_rights r CROSS JOIN transactions t ON t.row_id = \
        r.transaction_row_id CROSS JOIN orders o ON o.row_id = t.order_row_id LEFT JOIN \
        grants g ON g.transaction_row_id = t.row_id LEFT JOIN subscriptions s ON \(ofSubscription) WHERE \
        r.customer_id = \(customer: 1) AND +o.customer_id = r.customer_id AND +t.environment = ?2 AND +t.state <> 2 \
        AND (coalesce(t.type, 0) <> 1 OR t.state = 3) AND NOT EXISTS (SELECT 1 FROM grant_owners h WHERE \
        h.grant_row_id = t.row_id) UNION ALL SELECT \
        t.row_id, t.state, g.entitlement, o.device, \(TransactionTable.signed, of: "t"), \
        \(TransactionTable.terms, of: "t"), s.row_id AS subscription, \(SubscriptionTable.renewal, of: "s"), \
        \(periodCount) AS period_count FROM grants g CROSS JOIN transactions t ON t.row_id = g.transaction_row_id \
        CROSS JOIN orders o ON o.row_id = t.order_row_id LEFT JOIN subscriptions s ON \(ofSubscription) WHERE \
        g.customer_id = \(customer: 1) AND g.entitlement IS NOT NULL AND +t.environment = ?2 AND +t.state = 1 AND \
        t.type = 1 AND o.customer_id = \(customer: 1) AND NOT EXISTS (SELECT 1 FROM grant_owners h WHERE \
        h.grant_row_id = t.row_id) UNION ALL SELECT t.row_id, t.state, g.entitlement, o.device, \
        \(TransactionTable.signed, of: "t"), \(TransactionTable.terms, of: "t"), s.row_id AS subscription, \
        \(SubscriptionTable.renewal, of: "s"), \(periodCount) AS period_count FROM grant_owners h CROSS JOIN \
        transactions t ON t.row_id = h.grant_row_id LEFT JOIN orders o ON o.row_id = t.order_row_id LEFT JOIN grants g \
        ON g.transaction_row_id = t.row_id LEFT JOIN subscriptions s ON \(ofSubscription) WHERE h.customer_id = \
        \(customer: 1) AND +h.environment = ?2 AND (coalesce(t.type, 0) <> 1 OR t.state <> 1 OR g.entitlement IS NOT \
        NULL)
        """

    static let listingAll: SQL = """
        SELECT t.row_id, t.state, g.entitlement, o.device, \(TransactionTable.signed, of: "t"), \
        \(TransactionTable.terms, of: "t"), s.row_id AS subscription, \(SubscriptionTable.renewal, of: "s"), \
        \(periodCount) AS period_count FROM orders o CROSS JOIN transactions t ON t.order_row_id = o.row_id LEFT JOIN \
        grants g ON g.transaction_row_id = t.row_id LEFT JOIN subscriptions s ON \(ofSubscription) WHERE \
        o.customer_id = \(customer: 1) AND +t.environment = ?2 AND +t.state <> 2 AND NOT EXISTS (SELECT 1 FROM \
        grant_owners h WHERE h.grant_row_id = t.row_id) UNION ALL SELECT t.row_id, t.state, g.entitlement, o.device, \
        \(TransactionTable.signed, of: "t"), \(TransactionTable.terms, of: "t"), s.row_id AS subscription, \
        \(SubscriptionTable.renewal, of: "s"), \(periodCount) AS period_count FROM grant_owners h CROSS JOIN \
        transactions t ON t.row_id = h.grant_row_id LEFT JOIN orders o ON o.row_id = t.order_row_id LEFT JOIN grants g \
        ON g.transaction_row_id = t.row_id LEFT JOIN subscriptions s ON \(ofSubscription) WHERE h.customer_id = \
        \(customer: 1) AND +h.environment = ?2
        """

    private static let periodCount: Columns = """
        CASE WHEN t.id = t.original_id THEN (SELECT count(*) FROM subscription_periods p WHERE p.subscription_row_id = \
        s.row_id) END
        """
    private static let ofSubscription: Columns = """
        s.environment = t.environment AND s.original_id = CASE WHEN coalesce(t.type, 3) = 3 THEN t.original_id END
        """

    /// The same for one subscription, by the list of its periods: however much else the user owns.
    func list(
        of user: UserID, subscription original: TransactionID, in environment: StoreEnvironment
    ) throws -> List {
        var list = List()
        list.entries = try connection.query(
            """
            SELECT t.row_id, t.state, g.entitlement, o.device, \(TransactionTable.signed, of: "t"), \
            \(TransactionTable.terms, of: "t"), s.row_id AS subscription, \(SubscriptionTable.renewal, of: "s"), CASE \
            WHEN h.customer_id = \(customer: 1) OR (h.customer_id IS NULL AND t.state <> 2 AND o.customer_id = \
            \(customer: 1)) THEN 1 ELSE 0 END AS is_own FROM subscriptions s CROSS JOIN subscription_periods p ON \
            p.subscription_row_id = s.row_id CROSS JOIN transactions t ON t.row_id = p.transaction_row_id LEFT JOIN \
            orders o ON o.row_id = t.order_row_id LEFT JOIN grants g ON g.transaction_row_id = t.row_id LEFT JOIN \
            grant_owners h ON h.grant_row_id = t.row_id WHERE s.environment = ?2 AND s.original_id = ?3 ORDER BY \
            t.purchased_at DESC, t.row_id DESC LIMIT ?4
            """,
            [.text(user.text), environment.column, .text(original.text), .integer(SubscriptionTable.periodLimit)]
        ) { row -> Entry? in
            let id = row.integer("subscription")
            if list.chains[id] == nil { list.chains[id] = Chain(renewal: SubscriptionTable.renewal(row)) }
            guard row.integer("is_own") == 0 else { return Self.entry(row) }
            list.others.append(row.paidPeriod())
            return nil
        }
        .compactMap { $0 }
        list.sort()
        return list
    }

    private static func entry(_ row: any Row) -> Entry {
        Entry(
            rowID: row.integer("row_id"), originalID: TransactionID(row.text("original_id")),
            period: row.paidPeriod(),
            quantity: Int(row.integer("quantity")), isRevoked: row.integer("state") == 3,
            entitlement: row.optionalText("entitlement"),
            deviceID: row.optionalText("device").map(DeviceID.init),
            subscription: row.optionalInteger("subscription"))
    }
}

extension Row {
    /// Reads the columns `TransactionTable.signed` and `TransactionTable.terms`.
    func paidPeriod() -> PaidPeriod {
        let renewal = integer("is_renewal")
        return PaidPeriod(
            transactionID: TransactionID(text("id")), productID: ProductID(text("product")),
            purchasedAt: instant("purchased_at"), signedAt: instant("signed_at"),
            revokedAt: optionalInstant("revoked_at"), isRenewal: renewal != 0, statesReason: renewal != 2,
            price: signedPrice()?.money, terms: terms())
    }

    func money(_ amount: StaticString, _ currency: StaticString) -> Money? {
        isNull(amount) || isNull(currency) ? nil : Money(amount: integer(amount), currency: Currency(text(currency)))
    }
}
