import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillThreads

@testable import TillLedger
@testable import TillServer

@Suite("Rows of callers without a purchase, in the metrics and in the log (R1)") struct UnpaidRowTests {
    @Test("Before the first pass the sizes are unknown, and not absent; afterwards they are exact")
    func metrics() async throws {
        try await DashboardServer.open { dashboardServer in
            let server = dashboardServer.server
            let lines = Locked<[Log.Line]>([])
            let watched = try Server(
                configuration: server.configuration, database: dashboardServer.ledger,
                clock: { dashboardServer.time.now }, entropy: RandomBytes.make,
                log: Log(isWritten: { _ in true }, sink: { line in lines.withLock { $0.append(line) } }))
            func text() async -> String {
                var request = HTTPRequest(method: .get, path: "/metrics", client: "127.0.0.1")
                request.headers.add("Authorization", "Bearer \(DashboardServer.operatorToken)")
                return String(decoding: await watched.respond(to: request).body, as: UTF8.self)
            }
            let unknown = await text()
            for table in ["refused_proofs", "foreign_notifications", "idempotency_keys", "orders", "claims"] {
                #expect(unknown.contains("till_unpaid_rows{table=\"\(table)\"} NaN\n"), "\(table)")
            }
            #expect(unknown.contains("till_pruned_rows_total{table=\"refused_proofs\"} 0\n"))
            try await dashboardServer.openOrder(user: "ann")
            for number in 0..<3 {
                _ = try await dashboardServer.call(
                    .post, "/v1/notifications/apple", ["signedPayload": .string("\(number)")])
            }
            try await watched.prune()
            let known = await text()
            #expect(known.contains("till_unpaid_rows{table=\"refused_proofs\"} 3\n"))
            #expect(known.contains("till_unpaid_rows{table=\"orders\"} 1\n"))
            #expect(lines.withLock { $0 }.allSatisfy { $0.event != .rowsPruned })
            dashboardServer.time.advance(seconds: 31 * 86_400)
            try await watched.prune()
            let pruned = await text()
            #expect(pruned.contains("till_unpaid_rows{table=\"refused_proofs\"} 0\n"))
            #expect(pruned.contains("till_pruned_rows_total{table=\"refused_proofs\"} 3\n"))
            let line = try #require(lines.withLock { $0.first { $0.event == .rowsPruned } })
            #expect(line["table"] == .text("refused_proofs") && line["pruned"] == .integer(3))
        }
    }

    @Test("The job that prunes is one of the background jobs")
    func job() async throws {
        try await DashboardServer.open { dashboardServer in
            let jobs = BackgroundJobs(dashboardServer.server) { _ in }
            let job = try #require(jobs.all.first { $0.name == "pruning" })
            #expect(job.interval == 600_000)
            try await job.walk(dashboardServer.server)
            let samples = dashboardServer.server.unpaidRows.metrics.flatMap(\.samples)
            #expect(!samples.isEmpty && samples.allSatisfy { !$0.value.isNaN })
        }
    }
}
