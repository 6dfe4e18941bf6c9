import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillTestDatabases

@testable import TillServer

/// Ids of rows are drawn before the commit, so a row may become visible after rows with greater ids.
@Suite("A transaction that commits late, on a ledger with two servers", .enabled(if: PostgresCluster.isInstalled))
struct LateRowTests {
    private struct Page {
        let users: [String]
        let cursor: String
    }

    private func feed(_ world: SharedLedgerWorld, through server: Server, after cursor: String?) async throws -> Page {
        var request = world.request(.get, "/v1/events")
        if let cursor { request.query = [(name: "after", value: cursor)] }
        let answer = await server.respond(to: request)
        #expect(answer.status == 200)
        let body = try JSONValue(decoding: answer.body)
        let grants = (body["data"]?.array ?? []).filter { $0["type"]?.string == "grant.created" }
        return Page(
            users: grants.map { $0["data"]?["userId"]?.string ?? $0["userId"]?.string ?? "" },
            cursor: body["nextCursor"]?.string ?? "")
    }

    /// Stops server 0 between the rows of a's purchase and their commit, lets server 1 do `meanwhile`, and goes on.
    private func withLatePurchase(
        _ body: (SharedLedgerWorld, Cast, _ meanwhile: Server, _ goOn: () async throws -> Void) async throws -> Void
    ) async throws {
        try await SharedLedgerWorld.open { world in
            let cast = Cast(world: world, seed: 1, race: 0)
            let (first, second) = (world.pairs[0][0], world.pairs[0][1])
            for (index, name) in ["a", "b", "w"].enumerated() {
                #expect(await first.respond(to: cast.open(UInt64(index + 1), for: name)).status == 201)
            }
            // The first proof of a signer writes the header that all of its proofs share, and others wait for that row.
            let warm = try cast.submit(.init(id: cast.transaction(3), token: cast.order(3)), as: "w")
            #expect(await first.respond(to: warm).status == 200)
            world.stepper.holdNextEvent()
            let late = try cast.submit(.init(id: cast.transaction(1), token: cast.order(1)), as: "a")
            let answer = Task { await first.respond(to: late) }
            while !world.stepper.isHolding() { await Task.yield() }
            let early = try cast.submit(.init(id: cast.transaction(2), token: cast.order(2)), as: "b")
            #expect(await second.respond(to: early).status == 200)
            do {
                try await body(world, cast, second) {
                    world.stepper.letGo()
                    #expect(await answer.value.status == 200)
                }
            } catch {
                world.stepper.letGo()
                throw error
            }
            let ids = try world.sql("SELECT id FROM transactions ORDER BY row_id").map { $0[0] ?? "" }
            #expect(ids == [3, 1, 2].map { cast.transaction($0) }, "the late row has the smaller id")
        }
    }

    @Test("The feed and its cursor on the other server skip no late event")
    func cursor() async throws {
        try await withLatePurchase { world, cast, server, goOn in
            let before = try await feed(world, through: server, after: nil)
            #expect(before.users == [cast.user("w"), cast.user("b")])
            #expect(try await feed(world, through: server, after: before.cursor).users.isEmpty)
            try await goOn()
            #expect(try await feed(world, through: server, after: before.cursor).users == [cast.user("a")])
            #expect(try await feed(world, through: server, after: nil).users == before.users + [cast.user("a")])
        }
    }

    @Test("A webhook endpoint gets a late event after those that it has got, once")
    func webhooks() async throws {
        try await withLatePurchase { world, cast, server, goOn in
            func delivered() throws -> [String] {
                try world.sql(
                    """
                    SELECT c.user_id FROM webhook_deliveries d JOIN event_positions p ON p.position = d.event_position \
                    JOIN outbox o ON o.row_id = p.event_row_id JOIN customers c ON c.customer_id = o.customer_id \
                    WHERE o.type = 'grant.created' ORDER BY d.event_position
                    """
                ).map { $0[0] ?? "" }
            }
            let deliveries = WebhookDeliveries(server, startedAt: Instant(milliseconds: 0))
            try await deliveries.deliverAll()
            #expect(try delivered() == [cast.user("w"), cast.user("b")])
            try await goOn()
            try await deliveries.deliverAll()
            #expect(try delivered() == [cast.user("w"), cast.user("b"), cast.user("a")])
            #expect(Set(world.sentEvents).count == world.sentEvents.count)
        }
    }

    @Test("A reconciliation that has seen later purchases still finds the late one in its next run")
    func reconciliation() async throws {
        try await withLatePurchase { world, cast, server, goOn in
            func discover() async throws -> [String] {
                var position: Int64?
                repeat {
                    let last = position
                    position = try await server.database.write(locking: [.ledger("apple chains")]) {
                        try AppleChainTable($0).discover(after: last, limit: 1, at: world.now)
                    }
                } while position != nil
                return try world.sql("SELECT original_id FROM apple_chains ORDER BY 1").map { $0[0] ?? "" }
            }
            #expect(try await discover() == [cast.transaction(2), cast.transaction(3)])
            try await goOn()
            #expect(try await discover() == (1...3).map { cast.transaction($0) })
            // Once no late row can be left, a run begins where the last one ended.
            world.advance(seconds: 3_600)
            _ = try await discover()
            let last = try world.count("SELECT max(row_id) FROM transactions")
            #expect(try world.count("SELECT chains_seen FROM server_activity") == last)
        }
    }
}
