import TillBilling
import TillSQL

extension Schema {
    /// The decisions that the rows of grants say by a number, in the order of `GrantDecision.all`.
    static let grantDecisions: StaticString = """
        CREATE TABLE grant_decisions (
            number INTEGER PRIMARY KEY,
            ground TEXT NOT NULL,
            source TEXT NOT NULL,
            caller_kind TEXT NOT NULL
        ) STRICT;
        INSERT INTO grant_decisions (number, ground, source, caller_kind) VALUES
            (1, 'token', 'app', 'user'), (2, 'token', 'app', 'key'), (3, 'token', 'restore', 'user'),
            (4, 'token', 'restore', 'key'), (5, 'token', 'notification', 'apple'),
            (6, 'token', 'reconciliation', 'apple'), (7, 'account_token', 'app', 'user'),
            (8, 'account_token', 'app', 'key'), (9, 'account_token', 'restore', 'user'),
            (10, 'account_token', 'restore', 'key'), (11, 'account_token', 'notification', 'apple'),
            (12, 'account_token', 'reconciliation', 'apple');
        CREATE TRIGGER grant_decisions_are_never_edited BEFORE UPDATE ON grant_decisions
            BEGIN SELECT RAISE(ABORT, 'decisions of grants are never edited'); END;
        CREATE TRIGGER grant_decisions_are_never_deleted BEFORE DELETE ON grant_decisions
            BEGIN SELECT RAISE(ABORT, 'decisions of grants are never deleted'); END;
        ALTER TABLE grants ADD COLUMN decision INTEGER REFERENCES grant_decisions (number);
        ALTER TABLE grants ADD COLUMN caller_key TEXT;
        """
}

/// `grants`: one for each transaction, enforced by the database: a transaction has one row, whose row id is the grant's
/// key. Never edited.
public struct GrantTable {
    private static let inserting: SQL = """
        INSERT INTO grants (transaction_row_id, id, order_row_id, customer_id, entitlement, at, catalog_version, \
        decision, caller_key) VALUES (\(marks: 9))
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// - Parameters:
    ///   - catalogVersion: the catalogue that defines what it grants.
    ///   - customer: the number of the grant's user, if it is known.
    ///   - decision: the decision that made it, unless `evidence` has it.
    func insert(
        _ grant: Grant, transaction rowID: Int64, orderRowID: Int64, catalogVersion: Int64? = nil,
        customer: Int64? = nil, decision: GrantDecision? = nil
    ) throws {
        try connection.write(
            Self.inserting,
            [
                .integer(rowID), .id(grant.id), .integer(orderRowID),
                .optional(try customer ?? CustomerTable(connection).number(of: grant.userID)),
                .optional(grant.entitlement), .instant(grant.at), .optional(catalogVersion),
                .optional(decision?.number), .optional(decision?.callerKey),
            ])
    }

    /// Those periods of a chain whose grants posted points: one statement, because chains may be long.
    func withPoints(inChain original: TransactionID, of environment: StoreEnvironment) throws -> Set<Int64> {
        Set(
            try connection.query(
                """
                SELECT DISTINCT p.grant_row_id FROM subscriptions s CROSS JOIN subscription_periods l ON \
                l.subscription_row_id = s.row_id CROSS JOIN postings p ON p.grant_row_id = l.transaction_row_id WHERE \
                s.environment = ?1 AND s.original_id = ?2 AND p.kind = 'purchase'
                """, [environment.column, .text(original.text)]
            ) { $0.integer("grant_row_id") })
    }

    /// The grant for a transaction, with the points it posted.
    public func find(transaction rowID: Int64) throws -> Grant? {
        let points = try connection.query(
            """
            SELECT currency, amount FROM postings WHERE grant_row_id = ?1 AND kind = 'purchase' ORDER BY currency
            """, [.integer(rowID)]
        ) { row in GrantedPoints(currency: row.text("currency"), amount: row.integer("amount")) }
        return try connection.first(
            """
            SELECT g.id AS grant_id, t.environment, t.id, o.id AS order_id, \(user: "g.customer_id") AS user_id, \
            t.product, t.quantity, g.entitlement, g.at FROM grants g JOIN transactions t ON t.row_id = \
            g.transaction_row_id JOIN orders o ON o.row_id = g.order_row_id WHERE g.transaction_row_id = ?1
            """, [.integer(rowID)]
        ) { row in
            Grant(
                id: try row.uniqueID("grant_id"), environment: try row.environment("environment"),
                transactionID: TransactionID(row.text("id")),
                orderID: try row.uniqueID("order_id"), userID: UserID(row.text("user_id")),
                productID: ProductID(row.text("product")),
                quantity: Int(row.integer("quantity")), points: points, entitlement: row.optionalText("entitlement"),
                at: row.instant("at"))
        }
    }
}

/// The decision that made a grant, where the grant's own row says it in place of a row of `evidence`: a purchase that
/// was recorded and granted in one commit, to the customer whom its token names, without anything else to note. If
/// `grants.decision` is null, `evidence` has the decision: so PostgreSQL stores it, as servers of earlier releases read
/// it there.
package struct GrantDecision: Sendable {
    /// What a row of `evidence` would say, from a grant `g` and its decision `d` (`grant_decisions`).
    package static let columns: Columns = """
        g.at, 'granted' AS decision, d.ground, d.source, NULL AS detail, d.caller_kind, \
        CASE WHEN d.caller_kind = 'user' THEN g.customer_id END AS caller_customer_id, g.caller_key
        """

    private enum CallerKind { case user, key, apple }

    /// Their position here, counted from 1, is the number in `grant_decisions`.
    private static let all: [(ground: OwnerMatch, source: PurchaseSource, caller: CallerKind)] =
        [OwnerMatch.token, .accountToken].flatMap { ground in
            [
                (ground, .app, .user), (ground, .app, .key), (ground, .restore, .user), (ground, .restore, .key),
                (ground, .notification, .apple), (ground, .reconciliation, .apple),
            ]
        }

    let number: Int64
    /// The name of the caller's secret key. A caller who is a user is the grant's customer.
    let callerKey: String?

    /// Nil for a decision that only a row of `evidence` can say.
    init?(_ ground: OwnerMatch, from origin: PurchaseOrigin, owner: UserID) {
        guard origin.actor == nil else { return nil }
        let kind: CallerKind
        switch origin.caller {
        case .user(let caller):
            guard caller == owner else { return nil }
            (kind, callerKey) = (.user, nil)
        case .backend(let keyID, _): (kind, callerKey) = (.key, keyID)
        case .apple: (kind, callerKey) = (.apple, nil)
        }
        let index = Self.all.firstIndex { $0.ground == ground && $0.source == origin.source && $0.caller == kind }
        guard let index else { return nil }
        number = Int64(index + 1)
    }
}
