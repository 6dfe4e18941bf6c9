import Testing
import TillCrypto
import TillHTTP
import TillSQL
import TillThreads

@testable import TillLedger
@testable import TillServer

@Suite("The job that compresses stored proofs") struct ProofCompressionJobTests {
    private static func token(_ number: Int) -> [UInt8] {
        let payload = #"{"transactionId":"\#(2_000_000_000 + number)","bundleId":"com.example.learn","quantity":1}"#
        let parts = [Array(#"{"alg":"ES256"}"#.utf8), Array(payload.utf8), [UInt8](repeating: 7, count: 64)]
        return Array(parts.map { Base64.encode($0, .url) }.joined(separator: ".").utf8)
    }

    private static func store(_ numbers: ClosedRange<Int64>, in ledger: any Database) async throws {
        try await ledger.write { connection in
            for number in numbers {
                try connection.execute(
                    """
                    INSERT INTO transactions (row_id, environment, id, original_id, product, quantity, purchased_at, \
                    signed_at, state, received_at) VALUES (?1, 2, ?2, ?2, 'p', 1, 0, 0, 1, 0)
                    """, [.integer(number), .text("t\(number)")])
                try ProofTable(connection)
                    .insert(transaction: number, kind: .signedTransaction, body: token(Int(number)))
            }
        }
    }

    @Test("It compresses every stored proof, counts them in the metrics, and writes a line only if there were any")
    func run() async throws {
        try await DashboardServer.open { dashboardServer in
            let lines = Locked<[Log.Line]>([])
            let server = try Server(
                configuration: dashboardServer.server.configuration, database: dashboardServer.ledger,
                clock: { dashboardServer.time.now }, entropy: RandomBytes.make,
                log: Log(isWritten: { _ in true }, sink: { line in lines.withLock { $0.append(line) } }))
            let job = try #require(BackgroundJobs(server) { _ in }.all.first { $0.name == "proofCompression" })
            func compressed() -> Double? {
                server.proofCompression.metrics.first?.samples.first?.value
            }
            func written() -> [Log.Line] { lines.withLock { $0 }.filter { $0.event == .proofsCompressed } }
            #expect(job.interval == 10_000)
            try await job.walk(server)
            #expect(compressed() == 0 && written().isEmpty)
            dashboardServer.time.advance(seconds: Self.pause)
            try await Self.store(1...250, in: dashboardServer.ledger)
            try await job.walk(server)
            #expect(compressed() == 250)
            #expect(written().count == 1 && written().first?["proofs"] == .integer(250))
            let rows = try await dashboardServer.ledger.read { connection in
                try connection.first("SELECT count(*) AS count FROM proofs", []) { $0.integer("count") }
            }
            #expect(rows == 0)
            for number in [1, 100, 101, 250] {
                let found = try await dashboardServer.ledger.read {
                    try ProofTable($0).find(transaction: Int64(number))
                }
                #expect(found?.kind == .signedTransaction && found?.body == Self.token(number))
            }
            try await job.walk(server)
            #expect(written().count == 1)
        }
    }

    /// In seconds: a shared database waits this long after the start.
    private static let pause: Int64 = 3_600

    @Test("On a database that servers share it waits for an hour, while an older program may run beside it")
    func waits() async throws {
        try await DashboardServer.open { dashboardServer in
            let (server, ledger) = (dashboardServer.server, dashboardServer.ledger)
            func left() async throws -> Int64? {
                try await ledger.read { connection in
                    try connection.first("SELECT count(*) AS count FROM proofs", []) { $0.integer("count") }
                }
            }
            try await server.proofCompression.advance(server)
            dashboardServer.time.advance(seconds: Self.pause - 1)
            try await Self.store(1...3, in: ledger)
            // One server: the round of before its start is over, and the next is due in a day.
            dashboardServer.time.advance(seconds: ledger.isShared ? 0 : 86_400)
            try await server.proofCompression.advance(server)
            #expect(try await left() == (ledger.isShared ? 3 : 0))
            dashboardServer.time.advance(seconds: 1)
            try await server.proofCompression.advance(server)
            #expect(try await left() == 0)
        }
    }

    @Test("A newer copy of an old purchase is compressed within a day")
    func rounds() async throws {
        try await DashboardServer.open { dashboardServer in
            let (server, ledger) = (dashboardServer.server, dashboardServer.ledger)
            try await Self.store(1...3, in: ledger)
            try await server.proofCompression.advance(server)
            dashboardServer.time.advance(seconds: Self.pause)
            try await server.proofCompression.advance(server)
            try await ledger.write { connection in
                try ProofTable(connection).replace(transaction: 1, kind: .signedTransaction, body: Self.token(9))
            }
            func left() async throws -> Int64? {
                try await ledger.read { connection in
                    try connection.first("SELECT count(*) AS count FROM proofs", []) { $0.integer("count") }
                }
            }
            try await server.proofCompression.advance(server)
            #expect(try await left() == 1)
            dashboardServer.time.advance(seconds: 86_400)
            try await server.proofCompression.advance(server)
            #expect(try await left() == 0)
            #expect(try await ledger.read { try ProofTable($0).find(transaction: 1)?.body } == Self.token(9))
        }
    }
}
