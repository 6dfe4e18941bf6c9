import Foundation
import Testing
import TillHTTP
import TillLedger
import TillServer
import TillTestDatabases
import TillThreads

@Suite("Two servers on one PostgreSQL ledger, statement by statement", .enabled(if: PostgresCluster.isInstalled))
struct InterleavingTests {
    /// Seeds of `make test-all`; `TILL_STEP_SEED` runs one of them.
    private static let chosen = ProcessInfo.processInfo.environment["TILL_STEP_SEED"].flatMap { UInt64($0) }

    @Test("Races of purchases, wallets, merges and jobs end as if one came after the other: a few seeds")
    func fewSeeds() async throws { try await run(Self.chosen.map { [$0] } ?? Array(1...22)) }

    @Test("Races of purchases, wallets, merges and jobs end as if one came after the other: a thousand seeds", .slow)
    func thousandSeeds() async throws { try await run(Array(1...1_000)) }

    private func run(_ seeds: [UInt64]) async throws {
        try await SharedLedgerWorld.open { world in
            var (statements, blocked) = (0, 0)
            for seed in seeds {
                let run = try await SeedRun.run(seed, in: world)
                statements += run.statements
                blocked += run.blocked
                guard run.problems.isEmpty else {
                    Issue.record("\(run.report)")
                    return
                }
                if seed % 50 == 0 || seed == seeds.last {
                    let found = try await SeedRun.audit(world)
                    #expect(found.isEmpty, "up to seed \(seed): \(found)")
                    if !found.isEmpty { return }
                }
            }
            #expect(seeds.count < 10 || blocked > seeds.count / 2, "bodies wait for each other")
            if SlowTests.areRun { print("\(seeds.count) seeds, \(statements) statements, \(blocked) waits for locks") }
        }
    }

    @Test("Without the locks of its keys, the driver would fail within a few seeds")
    func plantedMistake() async throws {
        try await SharedLedgerWorld.open(hasKeys: false) { world in
            for seed in 1...60 as ClosedRange<UInt64> {
                if try await !SeedRun.run(seed, in: world).problems.isEmpty { return }
            }
            Issue.record("60 seeds found nothing")
        }
    }
}

/// Some races at once, on two servers, in an order that the seed chooses.
struct SeedRun {
    let seed: UInt64
    let statements: Int
    let blocked: Int
    let problems: [String]
    let trace: [String]

    /// With the statements in their order, and how to run them again.
    var report: String {
        (["seed \(seed): TILL_STEP_SEED=\(seed) make test FILTER=InterleavingTests"] + problems + trace)
            .joined(separator: "\n")
    }

    static func run(_ seed: UInt64, in world: SharedLedgerWorld) async throws -> SeedRun {
        world.advance(seconds: 120)
        var random = SeededRandom(seed: seed)
        // Each kind comes first once in as many seeds as there are kinds, beside one or two others.
        let kinds = [Int(seed) % Cast.all.count] + (0...random.below(2)).map { _ in random.below(Cast.all.count) }
        let races = try kinds.enumerated().map { try Cast.all[$1](Cast(world: world, seed: seed, race: $0)) }
        let pair = world.pairs[random.chance(0.7) ? 0 : 1]
        var problems: [String] = []
        for race in races {
            for (index, request) in race.setup.enumerated() {
                let answer = await Answer.repeating { await pair[index % 2].respond(to: request) }
                if answer.status >= 300 { problems.append("\(race.name), before it: \(request.path) got \(answer)") }
            }
        }
        guard problems.isEmpty else {
            return SeedRun(seed: seed, statements: 0, blocked: 0, problems: problems, trace: [])
        }
        let answers = Locked<[[Answer?]]>(races.map { race in race.work.map { _ in nil } })
        var work: [(name: String, body: @Sendable () async -> Void)] = []
        let isTurned = random.chance(0.5)
        for (index, race) in races.enumerated() {
            for (place, one) in race.work.enumerated() {
                let server = (one.server + (isTurned ? 1 : 0)) % 2
                work.append(
                    (
                        "\(server):\(index).\(place) \(one.name)",
                        { [pair] in
                            let answer = await one.body(pair[server])
                            answers.withLock { $0[index][place] = answer }
                        }
                    ))
            }
        }
        let run = await world.stepper.run(work, seed: random.next())
        if run.isStuck { problems.append("nothing went on") }
        for (race, answers) in zip(races, answers.withLock { $0 }) {
            let answers = answers.map { $0 ?? Answer(status: 599, body: "none") }
            problems += answers.filter { $0.status >= 500 }.map { "\(race.name): an answer is \($0)" }
            do {
                problems += try race.check(answers).map { "\(race.name): \($0)" }
            } catch {
                problems.append("\(race.name): \(error)")
            }
        }
        problems += try await LedgerFindings.all(world, seed: seed, through: pair[0])
        return SeedRun(
            seed: seed, statements: run.statements, blocked: run.blocked, problems: problems, trace: run.trace)
    }

    static func audit(_ world: SharedLedgerWorld) async throws -> [String] {
        try await world.pairs[0][0].database.read { try LedgerAudit.violations($0) }.map { "\($0)" }
    }
}

/// What must be true after every seed, whatever its races were.
enum LedgerFindings {
    static func all(_ world: SharedLedgerWorld, seed: UInt64, through server: Server) async throws -> [String] {
        try await server.ledger.placeEvents()
        let own = "customer_id IN (SELECT customer_id FROM customers WHERE user_id LIKE 's\(seed)r%')"
        let rules: [(String, String)] = [
            (
                "a balance differs from its postings",
                """
                SELECT customer_id, currency, coalesce(b.amount, 0), coalesce(p.amount, 0) FROM \
                (SELECT * FROM balances WHERE \(own)) b FULL JOIN (SELECT customer_id, currency, environment, \
                sum(amount) AS amount FROM postings WHERE \(own) GROUP BY 1, 2, 3) p \
                USING (customer_id, currency, environment) WHERE coalesce(b.amount, 0) <> coalesce(p.amount, 0)
                """
            ),
            (
                "a user's event numbers have gaps",
                """
                SELECT c.user_id, c.last_event, count(o.row_id), max(o.user_sequence) FROM customers c \
                LEFT JOIN outbox o USING (customer_id) WHERE c.\(own) GROUP BY 1, 2 \
                HAVING count(o.row_id) <> c.last_event OR \
                coalesce(max(o.user_sequence), 0) <> c.last_event OR count(DISTINCT o.user_sequence) <> count(o.row_id)
                """
            ),
            ("an event has no position", "SELECT * FROM unplaced_events"),
            (
                "positions have gaps",
                "SELECT count(*), max(position) FROM event_positions HAVING count(*) <> coalesce(max(position), 0)"
            ),
            (
                "an event is in the feed before an earlier one of its user",
                """
                SELECT * FROM (SELECT o.customer_id, p.position, lag(p.position) OVER (PARTITION BY o.customer_id \
                ORDER BY o.user_sequence) AS before FROM outbox o JOIN event_positions p ON p.event_row_id = o.row_id \
                WHERE o.\(own)) s WHERE before > position
                """
            ),
            (
                "a transaction was granted twice",
                """
                SELECT transaction_row_id, count(*) FROM outbox WHERE type = 'grant.created' AND \(own) \
                GROUP BY 1 HAVING count(*) > 1
                """
            ),
        ]
        return try rules.flatMap { rule, query in try world.sql(query).map { "\(rule): \($0)" } }
    }
}
