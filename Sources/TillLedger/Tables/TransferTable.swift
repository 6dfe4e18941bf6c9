import TillBilling
import TillSQL

extension Schema {
    /// Transfers from one customer to another, with their reason and actor. A transfer is never edited; a reversal is a
    /// transfer of its own. `grant_owners` is the result of the transfers: the current owner of a granted purchase, if
    /// that is not the customer it was granted to or the customer of its order. A row also names the chain, so that
    /// later purchases in the chain go to the same customer.
    static let transfers: StaticString = """
        CREATE TABLE transfers (
            row_id INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
            kind TEXT NOT NULL,
            from_customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            to_customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            reason TEXT NOT NULL,
            caller_kind TEXT NOT NULL,
            caller_customer_id INTEGER REFERENCES customers (customer_id),
            caller_key TEXT,
            operator TEXT,
            reverses INTEGER UNIQUE REFERENCES transfers (row_id),
            at INTEGER NOT NULL,
            CHECK ((caller_kind = 'user') = (caller_customer_id IS NOT NULL))
        ) STRICT;
        CREATE INDEX transfers_by_sender ON transfers (from_customer_id, row_id);
        CREATE INDEX transfers_by_recipient ON transfers (to_customer_id, row_id);
        CREATE TRIGGER transfers_are_never_edited BEFORE UPDATE ON transfers
            BEGIN SELECT RAISE(ABORT, 'transfers are never edited'); END;
        CREATE TRIGGER transfers_are_never_deleted BEFORE DELETE ON transfers
            BEGIN SELECT RAISE(ABORT, 'transfers are never deleted'); END;

        CREATE TABLE transfer_items (
            transfer_row_id INTEGER NOT NULL REFERENCES transfers (row_id),
            grant_row_id INTEGER NOT NULL REFERENCES grants (transaction_row_id),
            PRIMARY KEY (transfer_row_id, grant_row_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX transfer_items_by_grant ON transfer_items (grant_row_id);

        CREATE TABLE transfer_points (
            transfer_row_id INTEGER NOT NULL REFERENCES transfers (row_id),
            environment INTEGER NOT NULL,
            currency TEXT NOT NULL,
            amount INTEGER NOT NULL CHECK (amount <> 0),
            PRIMARY KEY (transfer_row_id, environment, currency)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE grant_owners (
            grant_row_id INTEGER PRIMARY KEY REFERENCES grants (transaction_row_id),
            environment INTEGER NOT NULL,
            original_id TEXT NOT NULL,
            customer_id INTEGER NOT NULL REFERENCES customers (customer_id)
        ) STRICT;
        CREATE INDEX grant_owners_by_user ON grant_owners (customer_id, grant_row_id);
        CREATE INDEX grant_owners_by_chain ON grant_owners (environment, original_id);
        """
}

/// `transfers`, with the grants and the points of each.
public struct TransferTable {
    private static let columns: Columns = """
        id, kind, from_customer_id, to_customer_id, reason, operator, reverses, at
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let transfer: Transfer
        /// The row id of the transfer that it reverses.
        public let reverses: Int64?
    }

    /// One grant that a transfer moved.
    public struct Item: Sendable, Hashable {
        /// The row id of the transaction.
        public let rowID: Int64
        public let grantID: UniqueID
        public let environment: StoreEnvironment
        public let transactionID: TransactionID
        public let originalID: TransactionID
        public let productID: ProductID
    }

    @discardableResult
    public func insert(_ transfer: Transfer, reverses: Int64? = nil) throws -> Stored {
        let customers = CustomerTable(connection)
        let rowID = try connection.drawID(of: "transfers")
        try connection.write(
            "INSERT INTO transfers (row_id, \(Self.columns), \(CallerColumns.names)) VALUES (\(marks: 12))",
            [
                .integer(rowID), .id(transfer.id), .text(transfer.kind.rawValue),
                .integer(try customers.id(of: transfer.from, at: transfer.at)),
                .integer(try customers.id(of: transfer.to, at: transfer.at)), .text(transfer.reason),
                .optional(transfer.operatorName), .optional(reverses), .instant(transfer.at),
            ] + CallerColumns(transfer.actor, at: transfer.at, connection).values)
        return Stored(rowID: rowID, transfer: transfer, reverses: reverses)
    }

    public func add(_ grants: [OwnedGrant], to rowID: Int64) throws {
        try connection.run(
            grants.map { grant in
                Statement(
                    "INSERT INTO transfer_items (transfer_row_id, grant_row_id) VALUES (?1, ?2)",
                    [.integer(rowID), .integer(grant.rowID)])
            })
    }

    /// Adds to the transfer's sums by currency. Points and a debt of the same size are no sum.
    public func add(_ points: [MovedPoints], to rowID: Int64) throws {
        for environment in StoreEnvironment.allCases {
            let sums = Dictionary(
                points.filter { $0.environment == environment }.map { ($0.currency, $0.amount) }, uniquingKeysWith: +)
            for (currency, amount) in sums.sorted(by: { $0.key < $1.key }) where amount != 0 {
                try connection.write(
                    """
                    INSERT INTO transfer_points (transfer_row_id, environment, currency, amount) \
                    VALUES (?1, ?2, ?3, ?4) ON CONFLICT (transfer_row_id, environment, currency) DO UPDATE \
                    SET amount = transfer_points.amount + excluded.amount
                    """, [.integer(rowID), environment.column, .text(currency), .integer(amount)])
            }
        }
    }

    public func find(_ id: UniqueID) throws -> Stored? {
        try connection.first(
            "SELECT f.row_id, \(transfer: Self.columns) FROM transfers f WHERE f.id = ?1", [.id(id)], Self.read)
    }

    public func find(rowID: Int64) throws -> Stored? {
        try connection.first(
            """
            SELECT f.row_id, \(transfer: Self.columns) FROM transfers f WHERE f.row_id = ?1
            """, [.integer(rowID)], Self.read)
    }

    /// The transfer that reversed this one.
    public func reversal(of rowID: Int64) throws -> Stored? {
        try connection.first(
            """
            SELECT f.row_id, \(transfer: Self.columns) FROM transfers f WHERE f.reverses = ?1
            """, [.integer(rowID)], Self.read)
    }

    /// The transfers to and from a user, newest first, from before a row id.
    public func list(user: UserID, before: Int64, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT f.row_id, \(transfer: Self.columns) FROM transfers f WHERE (f.from_customer_id = \(customer: 1) \
            OR f.to_customer_id = \(customer: 1)) AND f.row_id < ?2 ORDER BY f.row_id DESC LIMIT ?3
            """, [.text(user.text), .integer(before), .integer(Int64(limit))], Self.read)
    }

    /// All transfers, newest first, from before a row id.
    public func list(before: Int64, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT f.row_id, \(transfer: Self.columns) FROM transfers f WHERE f.row_id < ?1 \
            ORDER BY f.row_id DESC LIMIT ?2
            """, [.integer(before), .integer(Int64(limit))], Self.read)
    }

    /// The transfers of one grant, oldest first.
    public func list(grant rowID: Int64) throws -> [Stored] {
        try connection.query(
            """
            SELECT f.row_id, \(transfer: Self.columns) FROM transfer_items i JOIN transfers f \
            ON f.row_id = i.transfer_row_id WHERE i.grant_row_id = ?1 ORDER BY f.row_id LIMIT 100
            """, [.integer(rowID)], Self.read)
    }

    /// The newest of the grants that a transfer moved.
    public func items(of rowID: Int64, limit: Int) throws -> [Item] {
        try connection.query(
            """
            SELECT t.row_id, g.id AS grant_id, t.environment, t.id, t.original_id, t.product FROM transfer_items i \
            JOIN grants g ON g.transaction_row_id = i.grant_row_id JOIN transactions t ON t.row_id = i.grant_row_id \
            WHERE i.transfer_row_id = ?1 ORDER BY i.grant_row_id DESC LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))]
        ) { row in
            Item(
                rowID: row.integer("row_id"), grantID: try row.uniqueID("grant_id"),
                environment: try row.environment("environment"),
                transactionID: TransactionID(row.text("id")), originalID: TransactionID(row.text("original_id")),
                productID: ProductID(row.text("product")))
        }
    }

    /// How many grants a transfer moved; if `other` is given, without those that `other` moved too.
    public func itemCount(of rowID: Int64, without other: Int64? = nil) throws -> Int64 {
        try connection.first(
            """
            SELECT count(*) AS count FROM transfer_items i WHERE i.transfer_row_id = ?1 AND NOT EXISTS (SELECT 1 \
            FROM transfer_items o WHERE o.transfer_row_id = ?2 AND o.grant_row_id = i.grant_row_id)
            """, [.integer(rowID), .optional(other)]
        ) { $0.integer("count") } ?? 0
    }

    /// The points that a transfer moved, by currency.
    public func points(of rowID: Int64) throws -> [MovedPoints] {
        try connection.query(
            """
            SELECT environment, currency, amount FROM transfer_points WHERE transfer_row_id = ?1 \
            ORDER BY environment, currency
            """, [.integer(rowID)]
        ) { row in
            MovedPoints(
                environment: try row.environment("environment"), currency: row.text("currency"),
                amount: row.integer("amount"))
        }
    }

    /// How often transfers of one kind moved a chain since a moment.
    public func moves(
        of original: TransactionID, in environment: StoreEnvironment, kind: Transfer.Kind, since: Instant
    ) throws -> Int {
        let count = try connection.first(
            """
            SELECT count(DISTINCT f.row_id) AS count FROM grant_owners h CROSS JOIN transfer_items i \
            ON i.grant_row_id = h.grant_row_id CROSS JOIN transfers f ON f.row_id = i.transfer_row_id \
            WHERE h.environment = ?1 AND h.original_id = ?2 AND f.kind = ?3 AND f.at > ?4
            """,
            [environment.column, .text(original.text), .text(kind.rawValue), .instant(since)]
        ) { $0.integer("count") }
        return Int(count ?? 0)
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let kind = Transfer.Kind(rawValue: row.text("kind")) else { throw row.unreadable("a kind of transfer") }
        return Stored(
            rowID: row.integer("row_id"),
            transfer: Transfer(
                id: try row.uniqueID("id"), kind: kind, from: UserID(row.text("from_user")),
                to: UserID(row.text("to_user")),
                reason: row.text("reason"), actor: CallerColumns.name(row) ?? "",
                operatorName: row.optionalText("operator"),
                at: row.instant("at")),
            reverses: row.optionalInteger("reverses"))
    }
}

extension SQL.StringInterpolation {
    /// The columns of `transfers`, which the statement calls `f`, with the names of both customers and of the caller.
    fileprivate mutating func appendInterpolation(transfer columns: Columns) {
        appendInterpolation(columns, of: "f")
        appendLiteral(", (SELECT c.user_id FROM customers c WHERE c.customer_id = f.from_customer_id) AS from_user, ")
        appendLiteral("(SELECT c.user_id FROM customers c WHERE c.customer_id = f.to_customer_id) AS to_user, ")
        appendInterpolation(caller: "f")
    }
}
