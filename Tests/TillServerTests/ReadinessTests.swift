import Testing
import TillBilling
import TillThreads

@testable import TillServer

@Suite("Readiness for unauthenticated callers: whether the ledger can be written")
struct ReadinessTests {
    private static let now = Instant(seconds: 1_790_000_000)

    @Test("A good result is cached for a second, and a bad one is shared only with those who asked meanwhile")
    func memory() async {
        let check = ReadinessCheck()
        let checks = Locked(0)
        func ask(_ milliseconds: Int64, _ fault: String? = nil) async -> String? {
            await check.result(at: Self.now.adding(milliseconds: milliseconds), within: Monitoring().within) {
                checks.withLock { $0 += 1 }
                return (fault, nil)
            }.fault
        }
        #expect(await ask(0) == nil)
        for milliseconds in Int64(1)..<1_000 where milliseconds % 100 == 0 {
            #expect(await ask(milliseconds, "full") == nil)
        }
        #expect(checks.withLock { $0 } == 1)
        #expect(await ask(1_000, "full") == "full")
        #expect(await ask(1_001, "full") == "full")
        #expect(await ask(1_002) == nil)
        #expect(checks.withLock { $0 } == 4)
        #expect(await ask(-5_000, "full") == "full", "a clock that was set back is no reason to trust it")
    }

    @Test("A hundred callers at the same time share one check of the ledger", arguments: [nil, "full"])
    func together(fault: String?) async {
        let check = ReadinessCheck()
        let checks = Locked(0)
        let faults = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    await check.result(at: Self.now, within: Monitoring().within) {
                        checks.withLock { $0 += 1 }
                        // Long enough for the others to arrive during the check.
                        for _ in 0..<1_000 { await Task.yield() }
                        return (fault, nil)
                    }.fault
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(faults.allSatisfy { $0 == fault })
        #expect(checks.withLock { $0 } < 10)
    }

    @Test("Through the address the ledger is written at most once a second")
    func heartbeat() async throws {
        try await DashboardServer.open { dashboardServer in
            func beat() async throws -> Int64? {
                let reply = await dashboardServer.server.respond(
                    to: .init(method: .get, path: "/readyz", peer: "127.0.0.1"))
                #expect(reply.status == 200)
                return try await dashboardServer.ledger.read { connection in
                    try connection.first("SELECT at FROM heartbeat", []) { $0.integer("at") }
                }
            }
            #expect(try await beat() == dashboardServer.time.now.milliseconds)
            try await dashboardServer.ledger.write { connection in
                _ = try connection.execute("UPDATE heartbeat SET at = 7", [])
            }
            #expect(try await beat() == 7, "not written again")
            dashboardServer.time.advance(seconds: 1)
            #expect(try await beat() == dashboardServer.time.now.milliseconds)
        }
    }
}
