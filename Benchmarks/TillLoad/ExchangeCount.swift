import TillCrypto
import TillHTTP
import TillLedger
import TillPostgres
import TillSQL
import TillServer
import TillThreads

/// Counts the round trips of one granted consumable to a PostgreSQL database, or lists their statements.
struct ExchangeCount {
    let address: String
    let listsStatements: Bool

    /// Purchases before the count: until then statements are prepared.
    private static let warmUp = 20
    private static let counted = 50

    func run() async throws {
        let issuer = try LoadIssuer()
        var options = PostgresDatabase.Options(.ledger)
        (options.connections, options.readers) = (1, 1)
        let isListing = Locked(false)
        if listsStatements {
            options.step = { _, statement in if isListing.withLock({ $0 }) { print(statement) } }
        }
        let database = try PostgresDatabase.open(address: address, role: .server, options: options)
        let router = try Server(
            configuration: CountedPurchase.configuration(root: issuer.root), database: database,
            clock: CountedPurchase.now, entropy: RandomBytes.make
        ).router
        let last = Self.warmUp + Self.counted
        for number in 0...last {
            let opened = await router.respond(to: CountedPurchase.openOrder(number))
            guard opened.status == 201 else { throw LoadError("the order was answered \(opened.status)") }
        }
        var start = database.figures.exchanges
        for number in 0..<last {
            if number == Self.warmUp { start = database.figures.exchanges }
            try CountedPurchase.check(await router.respond(to: CountedPurchase.post(issuer.proof(number), of: number)))
        }
        let exchanges = Double(database.figures.exchanges - start) / Double(Self.counted)
        isListing.withLock { $0 = true }
        try CountedPurchase.check(await router.respond(to: CountedPurchase.post(issuer.proof(last), of: last)))
        isListing.withLock { $0 = false }
        await database.close()
        if !listsStatements { print(exchanges) }
    }
}
