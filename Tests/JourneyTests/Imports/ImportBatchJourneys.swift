import Testing
import TillAppStore
import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillTestDatabases

@testable import TillServer

/// Rows of one batch depend on each other: the same transaction twice, a renewal before its purchase, an opening
/// balance after purchases, one order for two of them.
@Suite("A batch of an import") struct ImportBatchJourneys {
    private static let monthly = "com.example.learn.monthly"
    private static let users = ["ann", "ben", "cat", "dan", "eve", "fay", "gus", "hal", "thief"]

    private static func terms(_ configuration: inout ServerConfiguration) {
        let monthly = CatalogProduct(
            id: ProductID(monthly), type: .autoRenewable, names: LocalizedText(en: "Monthly", zh: "月度"),
            price: Money(amount: 1_200, currency: Currency("CNY")), entitlement: "member")
        configuration.catalog = Catalog(products: configuration.catalog.products + [monthly])
    }

    /// What the ledger holds about each transaction, apart from ids that are random.
    private func contents(_ shop: Shop) async throws -> [String] {
        try await shop.ledger.read { connection in
            let transactions = try connection.query(
                """
                SELECT t.id, t.original_id, t.product, t.state, t.purchased_at, o.id_source, o.status, o.moves, \
                u.user_id, b.basis, i.line, i.is_signed, (SELECT count(*) FROM evidence e WHERE \
                e.transaction_row_id = t.row_id) AS notes, (SELECT count(*) FROM transactions x WHERE \
                x.order_row_id = t.order_row_id) AS paid, (SELECT \
                count(*) FROM subscription_periods p WHERE p.transaction_row_id = t.row_id) AS periods, (SELECT \
                CAST(coalesce(sum(p.amount), 0) AS BIGINT) FROM postings p WHERE p.grant_row_id = t.row_id) AS points \
                FROM transactions t LEFT JOIN orders o ON o.row_id = t.order_row_id LEFT JOIN grants g ON \
                g.transaction_row_id = t.row_id LEFT JOIN customers u ON u.customer_id = g.customer_id LEFT JOIN \
                ownership_basis b ON b.grant_row_id = t.row_id LEFT JOIN imported_purchases i ON \
                i.transaction_row_id = t.row_id ORDER BY t.id
                """, []
            ) { row in
                let texts = [row.text("id"), row.text("original_id"), row.text("product"), row.text("user_id")]
                let numbers = [
                    row.integer("state"), row.integer("purchased_at"), row.integer("id_source"), row.integer("status"),
                    row.integer("moves"), row.integer("line"), row.integer("is_signed"), row.integer("notes"),
                    row.integer("paid"), row.integer("periods"), row.integer("points"),
                ]
                return "\(texts) \(numbers) \(row.optionalText("basis") ?? "token")"
            }
            let wallets = try connection.query(
                """
                SELECT c.user_id, c.kind, (SELECT count(*) FROM postings p WHERE p.customer_id = c.customer_id) AS \
                entries, (SELECT CAST(coalesce(sum(b.amount), 0) AS BIGINT) FROM balances b WHERE b.customer_id = \
                c.customer_id) AS points, (SELECT count(*) FROM imported_tokens t WHERE t.customer_id = \
                c.customer_id) AS tokens FROM \
                customers c ORDER BY c.user_id
                """, []
            ) { row in
                "\(row.text("user_id")) \(row.integer("kind")) \(row.integer("entries")) "
                    + "\(row.integer("points")) \(row.integer("tokens"))"
            }
            return transactions + wallets
        }
    }

    private func stated(
        _ id: String, _ user: String, _ product: String = Shop.points60, _ more: [String: JSONValue] = [:]
    ) -> JSONValue {
        var row: [String: JSONValue] = [
            "userId": .string(user), "transactionId": .string(id), "productId": .string(product),
            "purchasedAt": "2026-01-02T03:04:05Z",
        ]
        row.merge(more) { $1 }
        return .object(row)
    }

    private func period(_ number: Int, of original: String, _ user: String) -> JSONValue {
        let id = number == 0 ? original : "\(original)\(number)"
        return stated(
            id, user, Self.monthly,
            [
                "originalTransactionId": .string(original), "purchasedAt": .string("2026-0\(number + 1)-02T00:00:00Z"),
                "expiresAt": .string("2026-0\(number + 2)-02T00:00:00Z"),
            ])
    }

    private func rows(_ shop: Shop) async throws -> [JSONValue] {
        let token = UniqueID(high: 3, low: 9)
        let (one, two) = (try await shop.pay(token: nil), try await shop.pay(token: nil))
        let named = try await shop.pay(token: token)
        let (shared, other) = (UniqueID(high: 8, low: 1), UniqueID(high: 8, low: 2))
        let at = JSONValue.string(shop.time.now.rfc3339)
        func balance(_ user: String, _ amount: Int64) -> JSONValue {
            ["kind": "balance", "userId": .string(user), "currency": "points", "balance": .int(amount), "at": at]
        }
        func order(_ id: OrderID) -> [String: JSONValue] { ["orderId": .string(id.description)] }
        return [
            ImportShop.signed(one, "ann"), ImportShop.signed(one, "thief"), ImportShop.signed(one, "ann"),
            ImportShop.signed(two, "ann"), balance("ann", 25),
            period(2, of: "7000", "ben"), period(0, of: "7000", "ben"), period(1, of: "7000", "ben"),
            period(1, of: "7100", "cat"), period(1, of: "7100", "dan"),
            stated("9001", "eve"), stated("9002", "eve", Shop.points300), balance("eve", 100), stated("9003", "eve"),
            balance("eve", 100), balance("eve", 101),
            stated("9100", "fay", Shop.points60, order(shared)), stated("9101", "fay", Shop.points60, order(shared)),
            stated("9102", "gus", Shop.points60, order(shared)), stated("9103", "gus", Shop.points60, order(other)),
            ["kind": "accountToken", "userId": "hal", "token": .string(token.description)],
            ImportShop.signed(named, "hal"), ImportShop.signed(named, "gus"),
            ["kind": "accountToken", "userId": "gus", "token": .string(token.description)],
            stated("9200", "dan", Shop.points60, ["originalTransactionId": "9200"]),
            stated("9200", "cat", Shop.points60, ["originalTransactionId": "9201"]),
            stated("9300", "ben", "com.example.learn.nothing"), "no row",
            stated("9301", "ben", Self.monthly), stated("9302", "fay", "com.example.learn.pro"),
        ]
    }

    private func imported(
        _ rows: [JSONValue], by count: Int, root: [UInt8], at time: TestClock
    ) async throws -> (outcomes: [String], contents: [String]) {
        var (outcomes, all): ([String], [String]) = ([], [])
        try await Shop.open(
            change: {
                $0.apple.roots.append(root)
                Self.terms(&$0)
            }, time: time
        ) { shop in
            let work = try ImportShop(shop: shop).work
            let file = ImportedFile(format: .till, name: "orders", sha256: [UInt8](repeating: 1, count: 32))
            let run = try await work.begin(file, by: "till")
            let entries = ImportShop.entries(rows)
            var counts = ImportCounts()
            for start in stride(from: 0, to: entries.count, by: count) {
                let batch = Array(entries[start..<min(start + count, entries.count)])
                for outcome in try await work.record(batch, into: run, by: "till") {
                    counts.add(outcome.result)
                    let end =
                        switch outcome.result {
                        case .imported: "imported"
                        case .unchanged: "unchanged"
                        case .refused(let why): why.code
                        case .waiting: "waiting"
                        }
                    outcomes.append("\(outcome.line) \(outcome.subject ?? "") \(outcome.user?.text ?? "") \(end)")
                }
            }
            let ended = try await work.end(run, counts)
            #expect(ended.imported == counts.imported)
            all = try await contents(shop)
            try await ImportShop(shop: shop).audit()
            // Undone as a whole, it leaves no points.
            let page = try await ImportShop(shop: shop).undo(ended, isForced: true)
            #expect(page.undone == counts.imported)
            for user in Self.users { #expect(try await shop.points(of: user) == 0) }
        }
        return (outcomes, all)
    }

    @Test("A batch whose rows depend on each other ends as the same rows one by one (R7)", arguments: UInt64(0)...2)
    func dependent(_ seed: UInt64) async throws {
        let time = TestClock()
        var (all, root): ([JSONValue], [UInt8]) = ([], [])
        try await Shop.open(change: Self.terms, time: time) { shop in
            all = try await rows(shop)
            root = shop.emulator.issuer.rootCertificate
        }
        var order = Shuffle(state: seed)
        // The first order is that of the list, the others are any.
        if seed > 0 { all.shuffle(using: &order) }
        let together = try await imported(all, by: all.count, root: root, at: time)
        let alone = try await imported(all, by: 1, root: root, at: time)
        #expect(together.outcomes == alone.outcomes)
        #expect(together.contents == alone.contents)
        #expect(Set(together.outcomes.map { $0.split(separator: " ").last ?? "" }).count >= 6)
    }

    private struct Shuffle: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }
}
