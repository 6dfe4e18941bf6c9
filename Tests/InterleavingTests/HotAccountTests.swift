import Foundation
import Testing
import TillBilling
import TillHTTP
import TillLedger
import TillPostgres
import TillServer
import TillTestDatabases

@Suite("One account under load from three servers", .enabled(if: PostgresCluster.isInstalled))
struct HotAccountTests {
    private static let debits = 1_000

    @Test("A thousand debits of one user are each made once, and the later ones cost no more than the first")
    func thousandDebits() async throws {
        try await SharedLedgerWorld.open { world in
            let cast = Cast(world: world, seed: 1, race: 0)
            // The fourth server repeats what the others did.
            let servers = Array(world.pairs.joined())
            let bonus = world.request(
                .post, "/v1/users/\(cast.user("a"))/wallet/bonuses",
                ["currency": "points", "amount": .int(Int64(Self.debits)), "reference": "start", "reason": "a test"])
            #expect(await servers[0].respond(to: bonus).status == 201)
            var costs: [Cost] = []
            for half in 0..<2 {
                let before = try Cost(world)
                let statuses = await withTaskGroup(of: Int.self) { group in
                    for number in half * Self.debits / 2..<(half + 1) * Self.debits / 2 {
                        let server = servers[number % 3]
                        let debit = cast.debit(1, of: "a", number)
                        group.addTask { await Answer.repeating { await server.respond(to: debit) }.status }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.allSatisfy { $0 == 201 }, "\(statuses.filter { $0 != 201 }.count) debits failed")
                costs.append(try Cost(world) - before)
            }
            #expect(try cast.balance(of: "a") == 0)
            #expect(try cast.postings("debit") == Self.debits)
            let refused = await servers[3].respond(to: cast.debit(1, of: "a", Self.debits))
            #expect(refused.status == 409, "nothing is left")
            for number in [0, 499, 999] {
                #expect(await servers[3].respond(to: cast.debit(1, of: "a", number)).status == 200, "the same debit")
            }
            #expect(try await SeedRun.audit(world).isEmpty)
            let (first, second) = (costs[0], costs[1])
            #expect(first.rows > Self.debits, "the counts have arrived")
            #expect(second.rows < 2 * first.rows, "rows read: \(first.rows), then \(second.rows)")
            #expect(
                second.transactions < 2 * first.transactions,
                "transactions: \(first.transactions), then \(second.transactions)")
            if SlowTests.areRun {
                print("rows \(first.rows), \(second.rows); transactions \(first.transactions), \(second.transactions)")
            }
        }
    }

    /// What PostgreSQL did in the whole database. Each of its processes reports its counts at its end, so those of the
    /// servers are ended; the servers connect again.
    private struct Cost {
        let rows: Int
        let transactions: Int

        init(_ world: SharedLedgerWorld) throws {
            let others = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'till serve'"
            let servers = "\(others) AND pid <> pg_backend_pid() AND query NOT LIKE '%pg_stat%'"
            try world.sql("SELECT pg_terminate_backend(pid, 5000) \(servers)")
            try world.sql("SELECT pg_stat_clear_snapshot()")
            rows = try world.count("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables")
            transactions = try world.count(
                "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")
        }

        private init(rows: Int, transactions: Int) { (self.rows, self.transactions) = (rows, transactions) }

        static func - (left: Cost, right: Cost) -> Cost {
            Cost(rows: left.rows - right.rows, transactions: left.transactions - right.transactions)
        }
    }
}
