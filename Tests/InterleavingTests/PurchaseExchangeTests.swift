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
