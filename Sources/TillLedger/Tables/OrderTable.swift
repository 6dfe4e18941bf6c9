import TillBilling
import TillSQL

extension Schema {
    /// Why an order was moved last: on SQLite, its row is the last entry of its history.
    static let orderReasons: StaticString = """
        ALTER TABLE orders ADD COLUMN reason TEXT;
        """
}

/// `orders` and `order_moves`.
///
/// The last entry of an order's history is the order's own row, with its status, time and `reason`; `order_moves` has
/// the entries before it, without the first one where that says no more than that the order was opened. If `reason` is
/// null, `order_moves` has all entries: so PostgreSQL stores them, as servers of earlier releases read them.
public struct OrderTable {
    private static let columns: Columns = """
        id, customer_id, product, quantity, status, price, currency, environment, transaction_id, device, metadata, \
        created_at, updated_at, moves, previewed_at, previewed_until, id_source, phone, reason
        """
    /// The reason of an order's first entry, as an app or a backend opens it.
    public static let openedReason = "opened"
    // Statements of every purchase, whose texts are put together once.
    private static let inserting: SQL = """
        INSERT INTO orders (row_id, \(columns), catalog_version) VALUES (\(marks: 21))
        """
    private static let insertingMove: SQL = """
        INSERT INTO order_moves (order_row_id, number, status, at, reason) VALUES (\(marks: 5))
        """
    private static let findingByID: SQL = "SELECT row_id, \(columns, userOf: "orders") FROM orders WHERE id = ?1"

    private static let findingByRow: SQL = """
        SELECT row_id, \(columns, userOf: "orders") FROM orders WHERE row_id IN (\(marks: 32))
        """

    /// False for the order of an import that was undone: refunded, and without its transaction.
    private static let isListed: Columns = "(id_source <> 5 OR status <> 6 OR transaction_id IS NOT NULL)"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// An order as stored, with the row id by which other tables refer to it.
    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public var order: Order
        /// How many entries its history has.
        var moveCount: Int64
        /// Why it was moved last; nil if `order_moves` has its last entry.
        var reason: String?

        /// What the order's row says of its history.
        fileprivate var last: OrderMove? {
            reason.map {
                OrderMove(status: order.status, at: moveCount == 1 ? order.createdAt : order.updatedAt, reason: $0)
            }
        }

        /// The first entry, if no row says it.
        fileprivate var opening: OrderMove {
            OrderMove(status: .prepared, at: order.createdAt, reason: OrderTable.openedReason)
        }
    }

    /// Opens an order: its row and the first entry of its history.
    ///
    /// - Parameter catalogVersion: the catalogue of its price, if its buyer saw it.
    @discardableResult
    public func insert(_ order: Order, reason: String, catalogVersion: Int64? = nil) throws -> Stored {
        let rowID = try connection.drawID(of: "orders")
        try connection.write(
            Self.inserting,
            [
                .integer(rowID), .id(order.id),
                .integer(try CustomerTable(connection).id(of: order.userID, at: order.createdAt)),
                .text(order.productID.text),
                .integer(Int64(order.quantity)),
                .integer(Int64(order.status.rawValue)), .integer(order.price.amount), .text(order.price.currency.text),
                order.environment?.column ?? .null, .optional(order.transactionID?.text),
                .optional(order.deviceID?.text), .optional(order.metadata), .instant(order.createdAt),
                .instant(order.updatedAt), .integer(1),
                .optional(order.preview?.at.milliseconds), .optional(order.preview?.expiresAt.milliseconds),
                .integer(Int64(order.idSource.rawValue)), .optional(order.phoneID?.text),
                .optional(connection.isShared ? nil : reason), .optional(catalogVersion),
            ])
        guard connection.isShared else { return Stored(rowID: rowID, order: order, moveCount: 1, reason: reason) }
        try insertMove(rowID, 1, OrderMove(status: order.status, at: order.createdAt, reason: reason))
        return Stored(rowID: rowID, order: order, moveCount: 1)
    }

    public func find(_ id: OrderID) throws -> Stored? {
        try connection.first(Self.finding(id), Self.read)
    }

    static func finding(_ id: OrderID) -> Statement {
        Statement(findingByID, [.id(id)])
    }

    public func find(rowID: Int64) throws -> Stored? {
        try connection.first(
            """
            SELECT row_id, \(Self.columns, userOf: "orders") FROM orders WHERE row_id = ?1
            """, [.integer(rowID)], Self.read)
    }

    func find(_ ids: [Int64]) throws -> [Stored] {
        try Self.finding(ids).flatMap { try connection.query($0, Self.read) }
    }

    static func finding(_ ids: [Int64]) -> [Statement] { IDLists.statements(findingByRow, ids) }

    /// Moves an order along legal status changes, one history entry for each, and stores its transaction if the order
    /// is free for it. Returns the order as it then is.
    public func move(
        _ stored: Stored, along way: [OrderStatus], at: Instant, reason: String, transaction: TransactionID? = nil,
        environment: StoreEnvironment? = nil
    ) throws -> Stored {
        var moved = try extendHistory(of: stored, by: way, at: at, reason: reason)
        if let transaction, let environment, moved.order.isFree(for: transaction, in: environment) {
            moved.order.transactionID = transaction
            moved.order.environment = environment
        }
        moved.order.updatedAt = at
        try connection.write(
            """
            UPDATE orders SET status = ?1, transaction_id = ?2, environment = ?3, updated_at = ?4, moves = ?5, \
            reason = ?6 WHERE row_id = ?7
            """,
            [
                .integer(Int64(moved.order.status.rawValue)), .optional(moved.order.transactionID?.text),
                moved.order.environment?.column ?? .null, .instant(at), .integer(moved.moveCount),
                .optional(moved.reason), .integer(stored.rowID),
            ])
        return moved
    }

    /// Writes the entries that the order's row will no longer say. The caller writes the row as it is returned.
    private func extendHistory(
        of stored: Stored, by way: [OrderStatus], at: Instant, reason: String
    ) throws -> Stored {
        var moved = stored
        // A row that takes a new time without a new status cannot say when its last entry was.
        if connection.isShared || way.isEmpty { try moveHistory(of: &moved) }
        for status in way {
            precondition(
                moved.order.mayMove(to: status),
                "an order's status only makes legal moves")
            if let last = moved.last, moved.moveCount > 1 || last != moved.opening {
                try insertMove(stored.rowID, moved.moveCount, last)
            }
            moved.order.status = status
            moved.moveCount += 1
            if connection.isShared {
                try insertMove(stored.rowID, moved.moveCount, OrderMove(status: status, at: at, reason: reason))
            } else {
                moved.reason = reason
                moved.order.updatedAt = at
            }
        }
        return moved
    }

    /// Moves all entries into `order_moves`.
    private func moveHistory(of stored: inout Stored) throws {
        guard let last = stored.last else { return }
        if stored.moveCount > 1, try isOpeningLeftOut(of: stored) { try insertMove(stored.rowID, 1, stored.opening) }
        try insertMove(stored.rowID, stored.moveCount, last)
        stored.reason = nil
    }

    private func isOpeningLeftOut(of stored: Stored) throws -> Bool {
        try connection.first(
            "SELECT 1 FROM order_moves WHERE order_row_id = ?1 AND number = 1", [.integer(stored.rowID)]
        ) { _ in true } == nil
    }

    /// Takes orders back: each is refunded if it may be, and gets an id that no one knows, so that the old one is free.
    func withdraw(_ all: [(stored: Stored, fresh: OrderID)], at now: Instant, reason: String) throws {
        let moved = try all.map { stored, fresh in
            guard let way = stored.order.status.way(to: .refunded) else { return (stored, fresh) }
            var moved = try extendHistory(of: stored, by: way, at: now, reason: reason)
            moved.order.updatedAt = now
            return (moved, fresh)
        }
        for (stored, fresh) in moved {
            try connection.write(
                """
                UPDATE orders SET id = ?2, transaction_id = NULL, environment = NULL, status = ?3, updated_at = ?4, \
                moves = ?5, reason = ?6 WHERE row_id = ?1
                """,
                [
                    .integer(stored.rowID), .id(fresh), .integer(Int64(stored.order.status.rawValue)),
                    .instant(stored.order.updatedAt), .integer(stored.moveCount), .optional(stored.reason),
                ])
        }
    }

    public func moves(of stored: Stored) throws -> [OrderMove] {
        var isOpeningLeftOut = stored.reason != nil && stored.moveCount > 1
        let earlier = try connection.query(
            "SELECT number, status, at, reason FROM order_moves WHERE order_row_id = ?1 ORDER BY number",
            [.integer(stored.rowID)]
        ) { row in
            guard let status = OrderStatus(rawValue: Int(row.integer("status"))) else {
                throw row.unreadable("a status")
            }
            if row.integer("number") == 1 { isOpeningLeftOut = false }
            return OrderMove(status: status, at: row.instant("at"), reason: row.text("reason"))
        }
        return (isOpeningLeftOut ? [stored.opening] : []) + earlier + (stored.last.map { [$0] } ?? [])
    }

    /// A user's orders and those of the guests merged into the account, newest first, from before a row id; of one
    /// status, if given. An order belongs to the environment in which it was paid; an unpaid order is listed in all.
    public func list(
        user: UserID, environment: StoreEnvironment, status: OrderStatus?, before: Int64, limit: Int
    ) throws -> [Stored] {
        try withGuests(user, limit) { user in
            try list(ofOne: user, environment: environment, status: status, before: before, limit: limit)
        }
    }

    /// Asks for each customer by itself: one index gives the newest rows of one customer, and accounts have few guests.
    private func withGuests(_ user: UserID, _ limit: Int, _ list: (UserID) throws -> [Stored]) throws -> [Stored] {
        let guests = try CustomerTable(connection).guests(of: user)
        let own = try list(user)
        if guests.isEmpty { return own }
        let all = try guests.reduce(into: own) { $0 += try list($1) }
        return Array(all.sorted { $0.rowID > $1.rowID }.prefix(limit))
    }

    private func list(
        ofOne user: UserID, environment: StoreEnvironment, status: OrderStatus?, before: Int64, limit: Int
    ) throws -> [Stored] {
        // The literal status lets SQLite use the index of refunded orders, for which apps ask at each launch.
        if status == .refunded {
            return try connection.query(
                """
                SELECT row_id, \(Self.columns, userOf: "orders") FROM orders WHERE customer_id = \(customer: 1) AND \
                row_id < ?2 AND (environment IS NULL OR environment = ?3) AND status = 6 AND \(Self.isListed) ORDER BY \
                row_id DESC LIMIT ?4
                """, [.text(user.text), .integer(before), environment.column, .integer(Int64(limit))], Self.read)
        }
        return try connection.query(
            """
            SELECT row_id, \(Self.columns, userOf: "orders") FROM orders WHERE customer_id = \(customer: 1) AND \
            row_id < ?2 AND (environment IS NULL OR environment = ?3) AND (status = ?4 OR ?4 IS NULL) AND \
            \(Self.isListed) ORDER BY row_id DESC LIMIT ?5
            """,
            [
                .text(user.text), .integer(before), environment.column,
                .optional(status.map { Int64($0.rawValue) }), .integer(Int64(limit)),
            ], Self.read)
    }

    /// All orders of all environments, newest first, from before a row id; of one user or one status, if given.
    public func list(user: UserID? = nil, status: OrderStatus?, before: Int64, limit: Int) throws -> [Stored] {
        switch (user, status) {
        case (let user?, let status):
            try withGuests(user, limit) { user in
                try connection.query(
                    """
                    SELECT row_id, \(Self.columns, userOf: "orders") FROM orders WHERE customer_id = \(customer: 1) \
                    AND row_id < ?2 AND (status = ?3 OR ?3 IS NULL) ORDER BY row_id DESC LIMIT ?4
                    """,
                    [
                        .text(user.text), .integer(before), .optional(status.map { Int64($0.rawValue) }),
                        .integer(Int64(limit)),
                    ], Self.read)
            }
        case (nil, .completed):
            // Most orders are completed, so no index covers that status. Each of them has a transaction, though; its
            // newest one stands for it, because a grouping would sort all orders first.
            try connection.query(
                """
                SELECT o.row_id, \(Self.columns, userOf: "o") FROM transactions t CROSS JOIN orders o \
                ON o.row_id = t.order_row_id WHERE t.order_row_id IS NOT NULL AND t.order_row_id < ?1 AND NOT EXISTS \
                (SELECT 1 FROM transactions n WHERE n.order_row_id = t.order_row_id AND n.row_id > t.row_id) \
                AND o.status = 1 ORDER BY t.order_row_id DESC LIMIT ?2
                """, [.integer(before), .integer(Int64(limit))], Self.read)
        case (nil, let status?):
            // The second condition on the status lets SQLite use the partial index.
            try connection.query(
                """
                SELECT row_id, \(Self.columns, userOf: "orders") FROM orders WHERE status = ?1 AND status <> 1 AND \
                row_id < ?2 ORDER BY row_id DESC LIMIT ?3
                """, [.integer(Int64(status.rawValue)), .integer(before), .integer(Int64(limit))], Self.read)
        case (nil, nil):
            try connection.query(
                """
                SELECT row_id, \(Self.columns, userOf: "orders") FROM orders WHERE row_id < ?1 ORDER BY row_id \
                DESC LIMIT ?2
                """, [.integer(before), .integer(Int64(limit))], Self.read)
        }
    }

    /// Sets the device of an order that has none.
    public func name(_ device: DeviceID, of rowID: Int64) throws {
        try connection.write(
            "UPDATE orders SET device = ?1 WHERE row_id = ?2 AND device IS NULL",
            [.text(device.text), .integer(rowID)])
    }

    /// Orders of one phone (or of the only device that they name) without a transaction, for one product and quantity,
    /// opened no later than the second of `instant`; newest first.
    ///
    /// - Parameter account: Apple's id of the account in this app. Lists only orders of users with an earlier order on
    ///   that device that was completed by a token which Apple signed for this account. Nil lists all users' orders.
    public func unpaid(
        onDevice device: DeviceID, product: ProductID, quantity: Int, openedBy instant: Instant,
        ofBuyersBy account: String?, limit: Int
    ) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns, userOf: "orders") FROM orders WHERE coalesce(phone, device) = ?1 AND \
            coalesce(phone, device) IS NOT NULL AND transaction_id IS NULL AND product = ?2 AND quantity = ?3 AND \
            created_at / 1000 <= ?4 AND (customer_id IN (SELECT paid.customer_id FROM orders paid CROSS JOIN \
            transactions t ON t.order_row_id = paid.row_id WHERE coalesce(paid.phone, paid.device) = ?1 AND \
            coalesce(paid.phone, paid.device) IS NOT NULL AND paid.transaction_id IS NOT NULL AND paid.created_at / \
            1000 <= ?4 AND t.app_transaction = ?5 AND (EXISTS (SELECT 1 FROM grants g JOIN grant_decisions d ON \
            d.number = g.decision WHERE g.transaction_row_id = t.row_id AND d.ground IN ('token', 'account_token')) \
            OR EXISTS (SELECT 1 FROM evidence e WHERE e.transaction_row_id = t.row_id AND e.decision = 'granted' AND \
            e.ground IN ('token', 'account_token')))) OR ?5 IS NULL) ORDER BY row_id DESC LIMIT ?6
            """,
            [
                .text(device.text), .text(product.text), .integer(Int64(quantity)), .integer(instant.seconds),
                .optional(account), .integer(Int64(limit)),
            ], Self.read)
    }

    /// When a user's order was opened, counted from the newest, which is number 1; nil if there are fewer.
    public func opened(by user: UserID, number: Int) throws -> Instant? {
        try connection.first(
            "SELECT created_at FROM orders WHERE customer_id = \(customer: 1) ORDER BY row_id DESC LIMIT 1 OFFSET ?2",
            [.text(user.text), .integer(Int64(number - 1))]
        ) { $0.instant("created_at") }
    }

    /// Whether a user has at least `count` open orders among the newest `4 * count`, which limits how many rows are
    /// read.
    public func hasOpen(_ count: Int, of user: UserID) throws -> Bool {
        guard try opened(by: user, number: count) != nil else { return false }
        let open = try connection.first(
            """
            SELECT count(*) AS count FROM (SELECT status, transaction_id FROM orders WHERE customer_id = \
            \(customer: 1) ORDER BY row_id DESC LIMIT ?2) AS newest WHERE transaction_id IS NULL AND status IN (0, \
            2, 5)
            """, [.text(user.text), .integer(4 * Int64(count))]
        ) { $0.integer("count") }
        return (open ?? 0) >= Int64(count)
    }

    private func insertMove(_ rowID: Int64, _ number: Int64, _ move: OrderMove) throws {
        try connection.write(
            Self.insertingMove,
            [
                .integer(rowID), .integer(number), .integer(Int64(move.status.rawValue)), .instant(move.at),
                .text(move.reason),
            ])
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let status = OrderStatus(rawValue: Int(row.integer("status"))) else { throw row.unreadable("a status") }
        guard let source = OrderIDSource(rawValue: Int(row.integer("id_source"))) else {
            throw row.unreadable("an id's source")
        }
        let isPreviewed = !row.isNull("previewed_at") && !row.isNull("previewed_until")
        return Stored(
            rowID: row.integer("row_id"),
            order: Order(
                id: try row.uniqueID("id"), userID: UserID(row.text("user_id")),
                productID: ProductID(row.text("product")),
                quantity: Int(row.integer("quantity")),
                status: status,
                price: Money(amount: row.integer("price"), currency: Currency(row.text("currency"))),
                transactionID: row.optionalText("transaction_id").map { TransactionID($0) },
                environment: try row.optionalEnvironment("environment"),
                deviceID: row.optionalText("device").map(DeviceID.init),
                preview: isPreviewed
                    ? OrderPreview(at: row.instant("previewed_at"), expiresAt: row.instant("previewed_until")) : nil,
                metadata: row.optionalText("metadata"), createdAt: row.instant("created_at"),
                updatedAt: row.instant("updated_at"),
                idSource: source, phoneID: row.optionalText("phone").map(DeviceID.init)),
            moveCount: row.integer("moves"), reason: row.optionalText("reason"))
    }
}
