import Testing
import TillAppStore
import TillBilling
import TillLedger
import TillSQL

/// All that a year comes to at a server, one fact a line: what each user may use and has, what became of each
/// transaction and of each order.
struct YearBooks {
    let name: String
    let lines: [String]
    /// Chains in which something was paid that is nobody's yet, by their original transactions, and orders that nobody
    /// has paid for: what is known later may settle them.
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
                // Points that were given and taken back leave a balance of nothing, or none.
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
        lines += try await server.ledger.read { session in
            try Self.orders(session, known) + Self.transactions(session) + Self.terms(session) + Self.sums(session)
        }
        self.lines = lines.sorted()
        openEnds = try await server.ledger.read { session in
            let chains = try session.query("SELECT original_id FROM transactions WHERE state = 2", []) { $0.text(0) }
            let orders = try session.query("SELECT id FROM orders WHERE transaction_id IS NULL", []) {
                UniqueID(bytes: $0.blob(0))?.description ?? ""
            }
            return Set(chains + orders)
        }
        name = server.name
        arrivals = server.arrivals
    }

    /// The orders that customers opened; one that was made for a transaction stands beside it. A customer who comes
    /// back outside the app pays under the token of before: then the order is whichever purchase's came first, and the
    /// other has one of its own (DESIGN §1). Both are the same customer's, and which one it is nobody compares.
    private static func orders(_ session: any Connection, _ known: Set<OrderID>) throws -> [String] {
        try session.query(
            """
            SELECT id, user, product, quantity, status, transaction_id FROM orders WHERE id NOT IN \
            (SELECT token FROM transactions WHERE token IS NOT NULL AND is_renewal = 0 \
            GROUP BY token HAVING count(*) > 1)
            """, []
        ) { row -> String? in
            guard let id = UniqueID(bytes: row.blob(0)), known.contains(id) else { return nil }
            let paid = row.isNull(5) ? "nothing" : row.text(5)
            return
                "order \(id) of \(row.text(1)): \(row.text(2)) x\(row.integer(3)) status \(row.integer(4)) by \(paid)"
        }.compactMap { $0 }
    }

    private static func transactions(_ session: any Connection) throws -> [String] {
        try session.query(
            """
            SELECT t.id, t.original_id, t.product, t.quantity, t.state, coalesce(t.quarantine, ''), \
            coalesce(o.user, 'nobody'), coalesce(g.user, 'nobody'), coalesce(t.revoked_at, 0), t.purchased_at, \
            coalesce(t.price, 0), coalesce(t.currency, '') FROM transactions t \
            LEFT JOIN orders o ON o.sequence = t.order_sequence \
            LEFT JOIN grants g ON g.transaction_sequence = t.sequence
            """, []
        ) { row in
            // What was taken back before it was granted has no grant, and needs none.
            let states = ["", "granted to \(row.text(7))", "quarantined", "revoked"]
            return "transaction \(row.text(0)) of \(row.text(1)): \(row.text(2)) x\(row.integer(3)) "
                + "\(states[Int(row.integer(4))]) \(row.text(5)) order's \(row.text(6)) "
                + "revoked \(row.integer(8)) bought \(row.integer(9)) for \(row.integer(10)) \(row.text(11))"
        }
    }

    private static func terms(_ session: any Connection) throws -> [String] {
        try session.query(
            """
            SELECT id, coalesce(type, 0), coalesce(expires_at, 0), is_renewal, is_upgraded, is_shared, \
            coalesce(group_id, ''), coalesce(storefront, ''), coalesce(offer_type, 0), coalesce(offer_id, ''), \
            coalesce(offer_discount, ''), coalesce(revocation_type, ''), coalesce(revocation_percentage, 0), \
            hex(coalesce(token, '')) FROM transactions
            """, []
        ) { row in
            let numbers = [1, 2, 3, 4, 5, 8, 12].map { String(row.integer($0)) }
            let texts = [6, 7, 9, 10, 11, 13].map { row.text($0) }
            return "terms \(row.text(0)): \((numbers + texts).joined(separator: " "))"
        }
    }

    /// What each grant comes to, however often it was taken back and given again.
    private static func sums(_ session: any Connection) throws -> [String] {
        try session.query(
            """
            SELECT t.id, p.user, p.currency, sum(p.amount) FROM postings p \
            JOIN transactions t ON t.sequence = p.grant_sequence GROUP BY t.id, p.user, p.currency \
            HAVING sum(p.amount) <> 0
            """, []
        ) { "points of \($0.text(1)) for \($0.text(0)): \($0.integer(3)) \($0.text(2))" }
    }

    // MARK: Comparing

    /// What differs from the other's, with the copies of the last transactions that the lines name, in the order in
    /// which each of the two had them; nil if nothing differs.
    func difference(from other: YearBooks, _ isCompared: (String) -> Bool = { _ in true }) throws -> String? {
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
