import TillBilling
import TillSQL

/// What an import recorded for some customers, and what became of it since: read with a few statements for all of them.
struct ImportUndoFacts {
    /// Points of one purchase in a wallet.
    struct Points: Sendable, Hashable {
        let customer: Int64
        let user: UserID
        let environment: StoreEnvironment
        let currency: String
        let amount: Int64
    }

    struct Wallet: Sendable, Hashable {
        let environment: StoreEnvironment
        let currency: String
    }

    struct Purchase {
        let stored: TransactionTable.Stored
        /// The customer who owns its grant now.
        let owner: Int64?
        /// The order that it was paid under.
        let order: OrderTable.Stored?
        let points: [Points]
        /// Its subscription, and that one's periods.
        let chain: Int64?
        let links: [SubscriptionTable.Link]

        /// The imported order, which goes with the purchase.
        var withdrawn: OrderTable.Stored? {
            guard let order, order.order.isPaid(by: stored.id, in: stored.environment),
                order.order.idSource == .imported
            else { return nil }
            return order
        }

        /// What setting it aside changes.
        var keys: [LockKey] {
            [.chain(stored.originalID, stored.environment)] + points.map { .customer($0.user) }
                + (withdrawn.map { [.order($0.order.id)] } ?? [])
        }
    }

    struct Customer {
        let id: Int64
        let user: UserID
        var purchases: [(row: ImportedRowTable.Purchase, purchase: Purchase)] = []
        var balances: [Int64] = []
        var tokens: [UniqueID] = []
        /// What the import's corrections of the wallets add up to.
        var corrections: [(wallet: Wallet, amount: Int64)] = []
        var wallets: [Wallet: Int64] = [:]
        var hasReminders = false

        var count: Int { purchases.count + balances.count + tokens.count }

        /// What undoing it changes.
        var keys: Set<LockKey> {
            Set([.customer(user)] + purchases.flatMap(\.purchase.keys) + tokens.map { .order($0) })
        }
    }

    private let connection: any Connection
    private var rows: ImportedRowTable { ImportedRowTable(connection) }

    init(_ connection: any Connection) { self.connection = connection }

    // MARK: Customers

    /// - Parameter ids: in the order of the result.
    func customers(_ ids: [Int64], of run: ImportRun) throws -> [Customer] {
        try connection.prefetch { CustomerTable.findingUsers(ids) + ImportedRowTable.reads(of: ids, in: run) }
        let users = try CustomerTable(connection).users(ids)
        var found: [Int64: Customer] = [:]
        for (id, user) in users { found[id] = Customer(id: id, user: user) }
        let balances = try rows.balances(of: ids)
        for balance in balances where balance.run == run.rowID && !balance.isUndone {
            found[balance.customer]?.balances.append(balance.rowID)
        }
        for (id, token) in try rows.tokens(of: ids, in: run) { found[id]?.tokens.append(token) }
        // An import corrects the wallet of a customer whose opening balance it or another one stated.
        for (id, wallet, amount) in try rows.corrections(of: Set(balances.map(\.customer)).sorted(), in: run) {
            found[id]?.corrections.append((wallet, amount))
        }
        for (id, wallet, amount) in try LedgerTable(connection).wallets(of: ids) { found[id]?.wallets[wallet] = amount }
        for id in try rows.customersWithReminders(ids) { found[id]?.hasReminders = true }
        let imported = try rows.purchases(of: ids, in: run)
        let known = try purchases(imported.map(\.purchase.rowID))
        for (id, row) in imported {
            guard let purchase = known[row.rowID] else { continue }
            found[id]?.purchases.append((row, purchase))
        }
        return ids.compactMap { found[$0] }
    }

    /// How many of the first customers share nothing with each other: undoing one of them changes nothing that decides
    /// about another.
    static func apart(_ customers: [Customer]) -> Int {
        var all: Set<LockKey> = []
        for (index, customer) in customers.enumerated() {
            let keys = customer.keys
            guard all.isDisjoint(with: keys) else { return index }
            all.formUnion(keys)
        }
        return customers.count
    }

    // MARK: Purchases

    /// Purchases by their row.
    func purchases(_ ids: [Int64]) throws -> [Int64: Purchase] {
        guard !ids.isEmpty else { return [:] }
        let transactions = TransactionTable(connection)
        try connection.prefetch { TransactionTable.finding(ids) + Self.states.flatMap { IDLists.statements($0, ids) } }
        let stored = try transactions.find(ids)
        let owners = try pairs(Self.owners, ids)
        let chains = Dictionary(try pairs(Self.chains, ids)) { first, _ in first }
        let walletOwners = Set((try pairs(Self.walletOwners, ids)).map { [$0.0, $0.1] })
            .sorted { ($0[0], $0[1]) < ($1[0], $1[1]) }
        let orderIDs = Set(stored.compactMap(\.orderRowID)).sorted()
        let pointsOf = walletOwners.map { Statement(Self.points, [.integer($0[1]), .integer($0[0])]) }
        try connection.prefetch {
            OrderTable.finding(orderIDs) + pointsOf
                + Set(chains.values).sorted().map { SubscriptionTable.findingLinks(of: $0) }
        }
        let orders = Dictionary(try OrderTable(connection).find(orderIDs).map { ($0.rowID, $0) }) { first, _ in first }
        let owner = Dictionary(owners) { first, _ in first }
        let points = try self.points(pointsOf)
        var links: [Int64: [SubscriptionTable.Link]] = [:]
        for chain in Set(chains.values) { links[chain] = try SubscriptionTable(connection).links(of: chain) }
        var purchases: [Int64: Purchase] = [:]
        for one in stored {
            purchases[one.rowID] = Purchase(
                stored: one, owner: owner[one.rowID], order: one.orderRowID.flatMap { orders[$0] },
                points: points[one.rowID] ?? [], chain: chains[one.rowID],
                links: chains[one.rowID].flatMap { links[$0] } ?? [])
        }
        return purchases
    }

    private func pairs(_ sql: SQL, _ ids: [Int64]) throws -> [(Int64, Int64)] {
        try IDLists.statements(sql, ids).flatMap { statement in
            try connection.query(statement) { ($0.integer("row_id"), $0.integer("other")) }
        }
    }

    private func points(_ statements: [Statement]) throws -> [Int64: [Points]] {
        var found: [Int64: [Points]] = [:]
        for statement in statements {
            _ = try connection.query(statement) { row in
                found[row.integer("grant_row_id"), default: []].append(
                    Points(
                        customer: row.integer("customer_id"), user: UserID(row.text("user_id")),
                        environment: try row.environment("environment"), currency: row.text("currency"),
                        amount: row.integer("amount")))
            }
        }
        return found.mapValues { points in
            points.sorted { ($0.currency, $0.customer) < ($1.currency, $1.customer) }
        }
    }

    private static let states = [owners, chains, walletOwners]

    private static let owners: SQL = """
        SELECT g.transaction_row_id AS row_id, coalesce(h.customer_id, g.customer_id) AS other FROM grants g LEFT JOIN \
        grant_owners h ON h.grant_row_id = g.transaction_row_id WHERE g.transaction_row_id IN (\(marks: 32))
        """
    private static let chains: SQL = """
        SELECT t.row_id, s.row_id AS other FROM transactions t CROSS JOIN subscriptions s ON s.environment = \
        t.environment AND s.original_id = t.original_id WHERE t.row_id IN (\(marks: 32))
        """
    /// The customers in whose wallets a purchase may have postings.
    private static let walletOwners: SQL = """
        SELECT transaction_row_id AS row_id, customer_id AS other FROM grants WHERE transaction_row_id IN \
        (\(marks: 32)) UNION SELECT grant_row_id, customer_id FROM grant_owners WHERE grant_row_id IN \
        (\(marks: 32)) UNION SELECT i.grant_row_id, f.to_customer_id FROM transfer_items i CROSS JOIN \
        transfers f ON f.row_id = i.transfer_row_id WHERE i.grant_row_id IN (\(marks: 32))
        """
    /// For one key each, so that PostgreSQL uses the index whatever it knows about the table's size.
    private static let points: SQL = """
        SELECT grant_row_id, customer_id, (SELECT c.user_id FROM customers c WHERE c.customer_id = \
        postings.customer_id) AS user_id, environment, currency, CAST(sum(amount) AS BIGINT) AS amount FROM \
        postings WHERE customer_id = ?1 AND grant_row_id = ?2 GROUP BY grant_row_id, customer_id, environment, currency
        """
}
