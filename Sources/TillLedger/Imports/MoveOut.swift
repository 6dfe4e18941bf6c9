import TillBilling
import TillCrypto
import TillJSON
import TillSQL

/// The purchases of a whole ledger in the format `till`, page by page: account tokens, purchases with what Apple
/// signed, then the balances. An empty ledger that imports it has the same balances, entitlements and orders.
package struct MoveOut: Sendable {
    private let database: any Database
    private let environment: StoreEnvironment
    private let statedAt: Instant
    private static let limit: Int64 = 500

    package init(_ database: any Database, in environment: StoreEnvironment, statedAt: Instant) {
        self.database = database
        self.environment = environment
        self.statedAt = statedAt
    }

    /// A place in the export.
    package struct Position: Sendable {
        fileprivate enum Part: Sendable { case tokens, purchases, balances }
        fileprivate var part = Part.tokens
        fileprivate var row: Int64 = 0
        /// When the balances hold: after every purchase, also where the store's clock is ahead.
        fileprivate var statedAt: Instant?

        package init() {}
    }

    package struct Page: Sendable {
        /// Lines of JSON.
        package var lines: [String] = []
        /// Purchases without an owner, and of erased customers.
        package var leftOut: Int64 = 0
        /// Nil at the end.
        package var next: Position?
    }

    package func page(at position: Position) async throws -> Page {
        try await database.read { connection in
            switch position.part {
            case .tokens: try tokens(position, connection)
            case .purchases: try purchases(position, connection)
            case .balances: try balances(position, connection)
            }
        }
    }

    // MARK: Parts

    /// By customer, because tokens have no order.
    private func tokens(_ position: Position, _ connection: any Connection) throws -> Page {
        let found = try connection.query(
            """
            SELECT n.customer_id, a.token FROM (SELECT DISTINCT customer_id FROM account_tokens WHERE customer_id > ?1 \
            ORDER BY customer_id LIMIT ?2) AS n JOIN account_tokens a ON a.customer_id = n.customer_id ORDER BY \
            n.customer_id, a.token
            """, [.integer(position.row), .integer(Self.limit)]
        ) { ($0.integer("customer_id"), try $0.uniqueID("token")) }
        var (page, users) = (Page(), Users(connection))
        for (customer, token) in found {
            guard let user = try users.user(customer) else {
                page.leftOut += 1
                continue
            }
            page.lines.append(
                Self.line([
                    "kind": "accountToken", "userId": .string(user.text), "token": .string(token.description),
                ]))
        }
        page.next = next(position, found.last?.0, found.count, then: .purchases)
        return page
    }

    private func purchases(_ position: Position, _ connection: any Connection) throws -> Page {
        let proofs = ProofTable(connection)
        let rows = try connection.query(
            """
            SELECT t.row_id, \(TransactionTable.signed, of: "t"), \(TransactionTable.terms, of: "t"), t.state, \
            o.id AS order_id, o.transaction_id AS paid_by, \
            coalesce(h.customer_id, g.customer_id, o.customer_id) AS customer_id \
            FROM transactions t LEFT JOIN grants g ON g.transaction_row_id = t.row_id LEFT JOIN grant_owners h \
            ON h.grant_row_id = t.row_id LEFT JOIN orders o ON o.row_id = t.order_row_id WHERE t.row_id > ?1 \
            AND +t.environment = ?2 ORDER BY t.row_id LIMIT ?3
            """, [.integer(position.row), environment.column, .integer(Self.limit)]
        ) { try Row($0, environment) }
        var (page, users) = (Page(), Users(connection))
        for row in rows {
            guard row.state != Int64(RecordedTransaction.State.quarantined.rawValue), let customer = row.customer,
                let user = try users.user(customer)
            else {
                page.leftOut += 1
                continue
            }
            var members = row.members
            members["userId"] = .string(user.text)
            if let proof = try proofs.find(transaction: row.rowID), !ProofTable.isImportedRow(proof.body) {
                switch proof.kind {
                case .signedTransaction:
                    members = [
                        "kind": "purchase", "userId": .string(user.text),
                        "signedTransaction": .string(String(decoding: proof.body, as: UTF8.self)),
                    ]
                    if let order = row.members["orderId"] { members["orderId"] = order }
                case .receipt: members["receipt"] = .string(Base64.encode(proof.body))
                }
            }
            page.lines.append(Self.line(members))
        }
        page.next = next(position, rows.last?.rowID, rows.count, then: .balances)
        return page
    }

    private func balances(_ position: Position, _ connection: any Connection) throws -> Page {
        let found = try connection.query(
            """
            SELECT n.customer_id, b.currency, b.amount FROM (SELECT DISTINCT customer_id FROM balances WHERE \
            customer_id > ?1 ORDER BY customer_id LIMIT ?3) AS n JOIN balances b ON b.customer_id = n.customer_id \
            WHERE b.environment = ?2 ORDER BY n.customer_id, b.currency
            """, [.integer(position.row), environment.column, .integer(Self.limit)]
        ) { ($0.integer("customer_id"), $0.text("currency"), $0.integer("amount")) }
        var position = position
        let statedAt = try position.statedAt ?? max(statedAt, newestPurchase(connection))
        position.statedAt = statedAt
        var (page, users) = (Page(), Users(connection))
        for (customer, currency, amount) in found {
            guard let user = try users.own(customer) else { continue }
            page.lines.append(
                Self.line([
                    "kind": "balance", "userId": .string(user.text), "currency": .string(currency),
                    "balance": .int(amount), "at": .string(statedAt.rfc3339),
                ]))
        }
        page.next = next(position, found.last?.0, found.count, then: nil)
        return page
    }

    private func newestPurchase(_ connection: any Connection) throws -> Instant {
        let newest = try connection.first(
            "SELECT max(purchased_at) AS newest FROM transactions WHERE +environment = ?1", [environment.column]
        ) { $0.optionalInstant("newest") }
        return (newest ?? nil) ?? statedAt
    }

    private func next(_ now: Position, _ last: Int64?, _ count: Int, then part: Position.Part?) -> Position? {
        var position = now
        if let last {
            position.row = last
            return position
        }
        guard let part else { return nil }
        (position.part, position.row) = (part, 0)
        return position
    }

    private static func line(_ members: [String: JSONValue]) -> String { JSONValue.object(members).encoded() }

    /// A purchase as its row shows it.
    private struct Row {
        let rowID: Int64
        let state: Int64
        let customer: Int64?
        let members: [String: JSONValue]

        init(_ row: any TillSQL.Row, _ environment: StoreEnvironment) throws {
            rowID = row.integer("row_id")
            state = row.integer("state")
            customer = row.optionalInteger("customer_id")
            let id = row.text("id")
            var members: [String: JSONValue] = [
                "kind": "purchase", "transactionId": .string(id),
                "originalTransactionId": .string(row.text("original_id")), "productId": .string(row.text("product")),
                "quantity": .int(row.integer("quantity")), "environment": .string(environment.rawValue),
                "purchasedAt": .string(row.instant("purchased_at").rfc3339),
                "isRenewal": .bool(row.integer("is_renewal") == 1),
            ]
            if !row.isNull("order_id"), row.optionalText("paid_by") == id {
                members["orderId"] = .string(try row.uniqueID("order_id").description)
            }
            if let expires = row.optionalInstant("expires_at") { members["expiresAt"] = .string(expires.rfc3339) }
            if let revoked = row.optionalInstant("revoked_at") { members["revokedAt"] = .string(revoked.rfc3339) }
            if let storefront = row.optionalText("storefront") { members["storefront"] = .string(storefront) }
            if row.terms().isFamilyShared { members["isFamilyShared"] = .bool(true) }
            if let price = row.signedPrice()?.money {
                members["price"] = .int(price.amount)
                members["currency"] = .string(price.currency.text)
            }
            self.members = members
        }
    }

    /// The user ids of customers; nil for erased ones.
    private struct Users {
        private let customers: CustomerTable
        private var known: [Int64: UserID?] = [:]

        init(_ connection: any Connection) { customers = CustomerTable(connection) }

        /// The account of a guest that was merged.
        mutating func user(_ customer: Int64) throws -> UserID? {
            if let found = known[customer] { return found }
            let user = try own(customer)
            let account = try user.flatMap { try customers.account(of: $0) } ?? user
            known[customer] = account
            return account
        }

        func own(_ customer: Int64) throws -> UserID? {
            guard let user = try customers.user(customer), !user.isPseudonym else { return nil }
            return user
        }
    }
}
