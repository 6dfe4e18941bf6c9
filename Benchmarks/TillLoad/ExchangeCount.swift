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
        for number in 0...last { try await open(number, of: number, router) }
        var start = database.figures.exchanges
        for number in 0..<last {
            if number == Self.warmUp { start = database.figures.exchanges }
            try CountedPurchase.check(await router.respond(to: CountedPurchase.post(issuer.proof(number), of: number)))
        }
        let exchanges = Double(database.figures.exchanges - start) / Double(Self.counted)
        isListing.withLock { $0 = true }
        try CountedPurchase.check(await router.respond(to: CountedPurchase.post(issuer.proof(last), of: last)))
        isListing.withLock { $0 = false }
        let later = try await repeated(issuer, router, database, after: last)
        await database.close()
        if !listsStatements { print(exchanges, later) }
    }

    private func open(_ number: Int, of user: Int, _ router: Router) async throws {
        let opened = await router.respond(to: CountedPurchase.openOrder(number, of: user))
        guard opened.status == 201 else { throw LoadError("the order was answered \(opened.status)") }
    }

    /// Further purchases of one customer, whom the server knows.
    private func repeated(
        _ issuer: LoadIssuer, _ router: Router, _ database: PostgresDatabase, after last: Int
    ) async throws -> Double {
        let numbers = (last + 1)...(last + Self.counted)
        for number in numbers { try await open(number, of: 0, router) }
        let start = database.figures.exchanges
        for number in numbers {
            try CountedPurchase.check(await router.respond(to: CountedPurchase.post(issuer.proof(number), of: 0)))
        }
        return Double(database.figures.exchanges - start) / Double(Self.counted)
    }
}
