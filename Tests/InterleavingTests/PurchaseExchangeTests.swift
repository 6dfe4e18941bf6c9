import Testing
import TillCrypto
import TillHTTP
import TillPostgres
import TillServer
import TillTestDatabases

/// Each exchange with the database is a round trip, which decides how fast a distant database is.
@Suite("Round trips of a request", .enabled(if: PostgresCluster.isInstalled))
struct PurchaseExchangeTests {
    private static let repetitions = 12
    private static let many = 64

    /// The fewest exchanges of one request among several: the first ones also learn how many row ids they need.
    private func fewest(
        _ server: Server, _ database: PostgresDatabase, _ status: Int, _ request: (Int) throws -> HTTPRequest
    ) async throws -> Int64 {
        var fewest = Int64.max
        for number in 1...Self.repetitions {
            let request = try request(number)
            let start = database.figures.exchanges
            #expect(await server.respond(to: request).status == status)
            fewest = min(fewest, database.figures.exchanges - start)
        }
        return fewest
    }

    @Test("The first purchases of a new certificate, many at once on two servers, do not block each other")
    func firstPurchases() async throws {
        try await SharedLedgerWorld.open { world in
            let cast = Cast(world: world, seed: 1, race: 0)
            let servers = Array(world.pairs.joined())
            for number in 1...Self.many {
                #expect(await servers[0].respond(to: cast.open(UInt64(number), for: "u\(number)")).status == 201)
            }
            let purchases = try (1...Self.many).map { number in
                let (id, token) = (cast.transaction(UInt64(number)), cast.order(UInt64(number)))
                let paid = Cast.Paid(id: id, token: token)
                // A notification names no customer, so the body finds that key first.
                return number.isMultiple(of: 2)
                    ? try cast.notify(paid, index: UInt64(number)) : try cast.submit(paid, as: "u\(number)")
            }
            let statuses = await withTaskGroup(of: Int.self) { group in
                for (number, purchase) in purchases.enumerated() {
                    group.addTask { await servers[number % 2].respond(to: purchase).status }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: Self.many))
            // Sessions report what they counted at their end.
            try world.sql(
                """
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()
                    AND application_name = 'till serve' AND pid <> pg_backend_pid()
                """)
            try world.sql("SELECT pg_stat_clear_snapshot()")
            #expect(
                try world.count("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0)
        }
    }

    @Test("A purchase and a debit take two exchanges with their commit")
    func exchanges() async throws {
        try await SharedLedgerWorld.open { world in
            let database = try #require(try world.openDatabase() as? PostgresDatabase)
            let server = try Server(
                configuration: SharedLedgerWorld.configuration(root: world.issuer.rootCertificate),
                database: database, clock: { world.now }, entropy: RandomBytes.make)
            let cast = Cast(world: world, seed: 1, race: 0)
            for number in 1...Self.repetitions {
                #expect(await server.respond(to: cast.open(UInt64(number), for: "a")).status == 201)
            }
            let purchase = try await fewest(server, database, 200) { number in
                let (id, token) = (cast.transaction(UInt64(number)), cast.order(UInt64(number)))
                return try cast.submit(.init(id: id, token: token), as: "a")
            }
            let debit = try await fewest(server, database, 201) { cast.debit(1, of: "a", $0) }
            let repetition = try await fewest(server, database, 200) { cast.debit(1, of: "a", $0) }
            await database.close()
            #expect([purchase, debit, repetition] == [2, 2, 2])
        }
    }
}
