import Testing
import TillAppStore
import TillBilling
import TillEmulator
import TillHTTP
import TillLedger
import TillSQL
import TillServer

/// A shop whose server does not get the store's notifications, and a line on which it may ask the store.
struct SilentShop: Sendable {
    static let day: Int64 = 86_400

    let shop: Shop
    let line: AppleProxy
    let api: ServerAPI

    static func open(_ journey: (SilentShop) async throws -> Void) async throws {
        let line = AppleProxy()
        let change = { (configuration: inout ServerConfiguration) in configuration.catalog = CloudShop.catalog }
        try await Shop.open(change: change, line: line) { shop in
            try await CloudShop.stock(shop)
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            shop.intercept { _ in HTTPResponse(status: 503) }
            let api = try await line.serverAPI(of: shop.emulator, time: shop.time)
            try await journey(SilentShop(shop: shop, line: line, api: api))
        }
    }

    /// The reconciliations of a process that has just started.
    var reconciliations: Reconciliations { Reconciliations(shop.server.ledger, asking: api) }

    /// Pays; the server knows only the order.
    func buy(_ product: String, as user: String, withToken: Bool = true) async throws -> Payment {
        let id = CloudShop.prefix + product
        let order = try await shop.openOrder(id, as: user)
        let payment = try await shop.pay(id, token: withToken ? order : nil, account: user)
        await shop.emulator.sendDueNotifications()
        return payment
    }

    func buyAndSubmit(_ product: String, as user: String) async throws -> Payment {
        let payment = try await buy(product, as: user)
        #expect(try await shop.submit(payment.signed, as: .user(user)).status == 200)
        return payment
    }

    func refund(_ payment: Payment) async throws {
        #expect(try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund").status == 200)
        await shop.emulator.sendDueNotifications()
    }

    /// Time passes, and the store does what is due.
    func pass(days: Int64) async throws {
        shop.time.advance(seconds: days * Self.day)
        #expect(try await shop.ask(.get, "/emulator/state").status == 200)
        await shop.emulator.sendDueNotifications()
    }

    /// A whole run, started now.
    @discardableResult
    func reconcile(since start: Instant? = nil) async throws -> Found {
        let run = try await reconciliations.request(by: "test", since: start)
        let ended = try await reconciliations.advance()
        try #require(ended?.state == .finished, "\(String(describing: ended))")
        return try await found(by: run.rowID)
    }

    struct Found: Sendable {
        let kinds: [String]
        let counts: [String: Int64]
        let differences: [Difference]

        func count(_ kind: Difference.Kind) -> Int { kinds.count { $0 == kind.rawValue } }
    }

    func found(by run: Int64) async throws -> Found {
        try await shop.ledger.read { connection in
            let differences = try DifferenceTable(connection).list(run: run, after: 0, limit: 1_000).map(\.difference)
            let counts = try ReconciliationTable(connection).counts(of: run)
            return Found(
                kinds: differences.map(\.kind.rawValue),
                counts: Dictionary(counts.map { ($0.name, $0.count) }) { $0 + $1 }, differences: differences)
        }
    }

    func compare() async throws -> LedgerComparison { try await shop.server.ledger.compareWithApple(asking: api) }

    /// Everything in the ledger that processing or a reconciliation could change, in one line.
    func digest() async throws -> String {
        let queries: [SQL] = [
            """
            SELECT count(*) || ' ' || coalesce(sum(state), 0) || ' ' || coalesce(sum(signed_at), 0) AS count \
            FROM transactions
            """,
            "SELECT count(*) || ' ' || coalesce(sum(status), 0) || ' ' || coalesce(sum(moves), 0) AS count FROM orders",
            """
            SELECT count(*) AS count FROM grants UNION ALL SELECT count(*) FROM postings UNION ALL SELECT count(*) \
            FROM evidence UNION ALL SELECT count(*) FROM outbox UNION ALL SELECT count(*) FROM notifications \
            UNION ALL SELECT count(*) FROM refused_proofs UNION ALL SELECT count(*) FROM reminders UNION ALL \
            SELECT count(*) FROM reconciliations UNION ALL SELECT count(*) FROM differences UNION ALL \
            SELECT count(*) FROM apple_chains UNION ALL SELECT count(*) FROM server_activity
            """,
            "SELECT count(*) || ' ' || coalesce(sum(amount), 0) AS count FROM balances",
            "SELECT count(*) || ' ' || coalesce(sum(updated_at), 0) AS count FROM subscriptions",
            "SELECT count(*) || ' ' || coalesce(sum(length(body)), 0) AS count FROM proofs",
        ]
        return try await shop.ledger.read { connection in
            try queries.flatMap { try connection.query($0, []) { $0.text("count") } }.joined(separator: "; ")
        }
    }
}
