import Testing
import TillAppStore
import TillBilling
import TillLedger
import TillSQL

/// The result of a year at a server, one fact per line: the rights and balances of each user, and the state of each
/// transaction and order.
struct YearLedger {
    let name: String
    let lines: [String]
    /// Chains with an unclaimed paid purchase, by their original transactions, and unpaid orders: later data may
    /// resolve them.
    let openEnds: Set<String>
    private let arrivals: [YearServer.Arrival]

    init(of server: YearServer) async throws {
        var lines: [String] = []
        for user in server.lived.users {
            for (word, path) in [
                ("right", "entitlements"), ("subscription", "subscriptions"), ("wallet", "wallet"),
            ] {
                let response = await server.send(.get, "/v1/users/\(user)/\(path)")
                if response.status == 404 { continue }
                let body = try Reply(response).body
                let data = body.at("data").array ?? [body]
                // Points granted and taken back leave a balance of zero, or none.
                lines += data.map { "\(word) of \(user): \($0.encoded())" }.map {
                    $0.replacing(#"{"points":0}"#, with: "{}")
                }
            }
        }
        let report = await server.send(
            .get, "/v1/finance/report", query: [("from", "2026-01-01"), ("to", "2027-01-31")], accepting: "text/csv")
        if report.status != 404 {
            try #require(report.status == 200)
            lines += String(decoding: report.body, as: UTF8.self).split(whereSeparator: \.isNewline)
                .map { "report: \($0)" }
        }
        let known = Set(server.lived.orders.map(\.proven.id))
        lines += try await server.ledger.read { connection in
            try Self.orders(connection, known) + Self.transactions(connection) + Self.terms(connection)
                + Self.sums(connection)
        }
        self.lines = lines.sorted()
        openEnds = try await server.ledger.read { connection in
            let chains = try connection.query("SELECT original_id FROM transactions WHERE state = 2", []) {
                $0.text("original_id")
            }
            let orders = try connection.query("SELECT id FROM orders WHERE transaction_id IS NULL", []) {
                UniqueID(bytes: $0.blob("id"))?.description ?? ""
            }
            return Set(chains + orders)
        }
        name = server.name
        arrivals = server.arrivals
    }

    /// The orders that customers opened, and those made for a transaction. A customer who returns outside the app pays
    /// under the earlier token: the order belongs to the purchase that arrived first, and the other has its own (DESIGN
    /// §1). Both are the same customer's, and the test does not compare which one it is.
    private static func orders(_ connection: any Connection, _ known: Set<OrderID>) throws -> [String] {
        try connection.query(
            """
            SELECT id, \(user: "orders.customer_id") AS user_id, product, quantity, status, transaction_id FROM orders \
            WHERE id NOT IN (SELECT token FROM transactions WHERE token IS NOT NULL AND is_renewal = 0 GROUP BY token \
            HAVING count(*) > 1)
            """, []
        ) { row -> String? in
            guard let id = UniqueID(bytes: row.blob("id")), known.contains(id) else { return nil }
            let paid = row.isNull("transaction_id") ? "nothing" : row.text("transaction_id")
            return
                "order \(id) of \(row.text("user_id")): \(row.text("product")) "
                + "x\(row.integer("quantity")) status \(row.integer("status")) by \(paid)"
        }.compactMap { $0 }
    }

    private static func transactions(_ connection: any Connection) throws -> [String] {
        try connection.query(
            """
            SELECT t.id, t.original_id, t.product, t.quantity, t.state, coalesce(t.quarantine, '') AS quarantine, \
            coalesce(\(user: "o.customer_id"), 'nobody') AS buyer, \
            coalesce(\(user: "g.customer_id"), 'nobody') AS owner, \
            coalesce(t.revoked_at, 0) AS revoked_at, t.purchased_at, coalesce(t.price, 0) AS price, \
            coalesce(t.currency, '') AS currency FROM transactions t LEFT JOIN orders o \
            ON o.row_id = t.order_row_id LEFT JOIN grants g ON g.transaction_row_id = t.row_id
            """, []
        ) { row in
            // A purchase refunded before its grant has no grant, and needs none.
            let states = ["", "granted to \(row.text("owner"))", "quarantined", "revoked"]
            return
                "transaction \(row.text("id")) of \(row.text("original_id")): "
                + "\(row.text("product")) x\(row.integer("quantity")) "
                + "\(states[Int(row.integer("state"))]) \(row.text("quarantine")) order's \(row.text("buyer")) "
                + "revoked \(row.integer("revoked_at")) bought \(row.integer("purchased_at")) for "
                + "\(row.integer("price")) \(row.text("currency"))"
        }
    }

    private static func terms(_ connection: any Connection) throws -> [String] {
        try connection.query(
            """
            SELECT id, type, expires_at, is_renewal, is_upgraded, ownership_type, group_id, storefront, offer_type, \
            offer_id, offer_discount, revocation_type, revocation_percentage, hex(coalesce(token, '')) AS token \
            FROM transactions
            """, []
        ) { row in
            let numbers: [StaticString] = [
                "type", "expires_at", "is_renewal", "is_upgraded", "ownership_type", "offer_type",
                "revocation_percentage",
            ]
            let texts: [StaticString] = [
                "group_id", "storefront", "offer_id", "offer_discount", "revocation_type", "token",
            ]
            let values = numbers.map { "\(row.integer($0))" } + texts.map { row.text($0) }
            return "terms \(row.text("id")): \(values.joined(separator: " "))"
        }
    }

    /// The sum of each grant's postings, over all revocations and reinstatements.
    private static func sums(_ connection: any Connection) throws -> [String] {
        try connection.query(
            """
            SELECT t.id, \(user: "p.customer_id") AS user_id, p.currency, sum(p.amount) AS sum FROM postings p JOIN \
            transactions t ON t.row_id = p.grant_row_id GROUP BY t.id, p.customer_id, p.currency HAVING \
            sum(p.amount) <> 0
            """, []
        ) { "points of \($0.text("user_id")) for \($0.text("id")): \($0.integer("sum")) \($0.text("currency"))" }
    }

    // MARK: Comparing

    /// The differences from the other's facts, with the copies of the transactions that they name, in each one's order
    /// of arrival; nil if there are none.
    func difference(from other: YearLedger, _ isCompared: (String) -> Bool = { _ in true }) throws -> String? {
        let (mine, theirs) = (Set(lines.filter(isCompared)), Set(other.lines.filter(isCompared)))
        let differing = mine.symmetricDifference(theirs)
        guard !differing.isEmpty else { return nil }
        var text = "\(name) and \(other.name) differ in \(differing.count) lines:\n"
        for line in differing.sorted().prefix(16) {
            text += (mine.contains(line) ? "\(name): " : "\(other.name): ") + line + "\n"
        }
        for books in [self, other] {
            let copies = try books.arrivals.flatMap { try ArrivedCopy.all(in: $0) }
            for id in Self.ids(in: differing).sorted().suffix(4) {
                let told = copies.filter { $0.id == id }
                text += "\(books.name), \(id) of \(told.first?.original ?? "nothing known"):\n"
                text += told.prefix(20).map { "  \($0.line)\n" }.joined()
            }
        }
        return text
    }

    private static func ids(in lines: Set<String>) -> Set<String> {
        Set(lines.flatMap { $0.split { !$0.isNumber }.filter { $0.count >= 15 }.map(String.init) })
    }
}
