import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillServer

/// The background jobs: a stalled queue delays no other queue, and shows in the metrics.
@Suite("Jobs beside the requests") struct JobJourneys {
    private static let token = "op_jobs_0123456789abcdef"

    private static func watched(_ configuration: inout ServerConfiguration) {
        configuration.operators = [SecretKey(id: "anna", sha256: Digest.sha256.hash(token.utf8))]
        configuration.delivery.order = .saveThenFinish
    }

    private func post(
        _ payment: Payment, to shop: Shop, product: String = Shop.points60
    ) async throws -> Reply {
        try await shop.send(
            .post, "/v1/transactions",
            [
                "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                "productId": .string(product),
            ], as: .user("ann"))
    }

    private static let shortPause: @Sendable (Int64) async -> Void = { _ in
        try? await Task.sleep(for: .milliseconds(10))
    }

    private func figures(_ shop: Shop) async throws -> [String: Double] {
        var request = HTTPRequest(method: .get, path: "/metrics", peer: "127.0.0.1")
        request.headers.add("Authorization", "Bearer \(Self.token)")
        let lines = String(decoding: await shop.server.respond(to: request).body, as: UTF8.self).split(separator: "\n")
        let pairs = lines.filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ").map(String.init) }
        return Dictionary(uniqueKeysWithValues: pairs.map { ($0[0], Double($0[1]) ?? -1) })
    }

    // MARK: Environments

    @Test("While Apple's sandbox answers slowly, a production receipt that arrives meanwhile is processed (U7)")
    func sandboxReceipt() async throws {
        let line = AppleProxy()
        try await Shop.open(environments: [.production, .sandbox], line: line) { shop in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            line.outage = AppleConnectionError(.timedOut)
            #expect(try await post(payment, to: shop)["outcome"].text == "accepted")
            line.outage = nil
            line.isHeld = { $0.hasSuffix(payment.id) }
            shop.time.advance(seconds: 60)
            try await BackgroundJobs(shop.server, pause: Self.shortPause).whileRunning {
                #expect(await eventually { line.asked.count { $0.hasSuffix(payment.id) } == 2 })
                let now = shop.time.now
                try await shop.ledger.write { connection in
                    try WaitingProofTable(connection).insert(
                        TransactionID("9"), in: .production,
                        by: WaitingProofTable.Submitter(name: "user:ben", namedUser: nil, claimedOrder: nil),
                        receipt: [1], digest: Array(repeating: 1, count: 32), at: now, due: now, detail: "saved")
                }
                #expect(
                    try await eventually(within: 5) {
                        let rows = try await shop.ledger.read { connection in
                            try WaitingProofTable(connection).list(TransactionID("9"), in: .production)
                        }
                        return rows.first?.attempts == 1
                    }, "it was looked at, and is no receipt")
                line.isHeld = nil
            }
        }
    }

    @Test("While Apple's sandbox answers slowly, production purchases are finished (U2)")
    func sandboxTask() async throws {
        let line = AppleProxy()
        try await Shop.open(environments: [.production, .sandbox], line: line) { shop in
            shop.willChangeRows()
            var payments: [Payment] = []
            for _ in 0..<2 { payments.append(try await shop.pay(token: try await shop.openOrder(as: "ann"))) }
            for payment in payments { _ = try await shop.submit(payment.signed, as: .user("ann")) }
            let (slow, real) = (payments[0].id, payments[1].id)
            line.isHeld = { $0.hasSuffix("\(slow)/finish") }
            shop.time.advance(seconds: 600)
            try await BackgroundJobs(shop.server, pause: Self.shortPause).whileRunning {
                #expect(await eventually { line.asked.contains { $0.hasSuffix("\(slow)/finish") } })
                _ = try await shop.ledger.write { connection in
                    try connection.execute("UPDATE transactions SET environment = 1 WHERE id = ?1", [.text(real)])
                }
                #expect(await eventually(within: 5) { line.asked.contains { $0.hasSuffix("\(real)/finish") } })
                line.isHeld = nil
            }
        }
    }

    // MARK: Stalled work

    @Test("A row that the ledger refuses permanently is postponed, and the receipt behind it is granted (G5)")
    func refusedRow() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            line.outage = AppleConnectionError(.timedOut)
            let bad = try await shop.pay(Shop.points300, token: try await shop.openOrder(Shop.points300, as: "ann"))
            #expect(try await post(bad, to: shop, product: Shop.points300)["outcome"].text == "accepted")
            let good = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            #expect(try await post(good, to: shop)["outcome"].text == "accepted")
            line.outage = nil
            try await shop.change(
                sqlite: """
                    CREATE TRIGGER bad_row BEFORE INSERT ON transactions \
                    WHEN NEW.product = 'com.example.learn.points300' BEGIN SELECT RAISE(ABORT, 'never'); END
                    """,
                postgres: """
                    CREATE TRIGGER bad_row BEFORE INSERT ON transactions FOR EACH ROW
                    WHEN (NEW.product = 'com.example.learn.points300') EXECUTE FUNCTION refuse_change('never')
                    """)
            shop.time.advance(seconds: 60)
            #expect((try? await WaitingReceipts(shop.server.ledger).askAll()) == 1)
            #expect(try await shop.points(of: "ann") == 60)
            let rows = try await shop.ledger.read { connection in
                try WaitingProofTable(connection).list(TransactionID(bad.id), in: .sandbox)
            }
            #expect(rows.map(\.attempts) == [1] && rows.first?.detail.contains("never") == true, "\(rows)")
        }
    }

    @Test("A failing job is in the log with its cause, and the age of its last success grows")
    func failingJob() async throws {
        let (line, log) = (AppleProxy(), LogRecorder())
        try await Shop.open(change: Self.watched, line: line, log: log) { shop in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            #expect(try await post(payment, to: shop)["finish"] == true)
            try await shop.change(
                sqlite: "CREATE TRIGGER kept BEFORE DELETE ON saved_proofs BEGIN SELECT RAISE(ABORT, 'kept'); END",
                postgres: """
                    CREATE TRIGGER kept BEFORE DELETE ON saved_proofs FOR EACH ROW
                    EXECUTE FUNCTION refuse_change('kept')
                    """)
            let jobs = BackgroundJobs(shop.server, pause: Self.shortPause)
            try await jobs.whileRunning {
                #expect(await eventually { log.lines(.jobFailed).count > 1 })
                let failed = log.lines(.jobFailed)
                #expect(failed.allSatisfy { $0.text("job") == "savedProofs" }, "\(failed)")
                #expect(failed.allSatisfy { $0.text("cause")?.hasPrefix("constraint: ") == true }, "\(failed)")
                shop.time.advance(seconds: 61)
                let figures = try await figures(shop)
                let (failing, other) = (#"{background_job="savedProofs"}"#, #"{background_job="reminders"}"#)
                #expect(figures["till_job_last_success_age_seconds" + failing].map { $0 >= 61 } == true)
                #expect(figures["till_job_failures_total" + failing].map { $0 >= 2 } == true)
                #expect(
                    await eventually {
                        (try? await self.figures(shop))?["till_job_last_success_age_seconds" + other] == 0
                    })
            }
        }
    }

    @Test("Metrics show how many proofs are saved but not granted, the oldest one's age, and each job's last success")
    func watchedQueues() async throws {
        let line = AppleProxy()
        try await Shop.open(change: Self.watched, line: line) { shop in
            let empty = try await figures(shop)
            #expect(empty["till_saved_proofs"] == 0 && empty["till_oldest_saved_proof_age_seconds"] == 0)
            #expect(empty["till_oldest_waiting_receipt_age_seconds"] == 0)
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            #expect(try await post(payment, to: shop)["finish"] == true)
            shop.time.advance(seconds: 40)
            let saved = try await figures(shop)
            #expect(saved["till_saved_proofs"] == 1 && (saved["till_oldest_saved_proof_age_seconds"] ?? 0) >= 40)
            line.outage = AppleConnectionError(.timedOut)
            _ = try await SavedProofs(shop.server.ledger).processAll()
            shop.time.advance(seconds: 50)
            let waiting = try await figures(shop)
            #expect(waiting["till_saved_proofs"] == 0 && waiting["till_waiting_receipts"] == 1)
            #expect((waiting["till_oldest_waiting_receipt_age_seconds"] ?? 0) >= 50)
            try await BackgroundJobs(shop.server, pause: Self.shortPause).whileRunning {
                let name = #"till_job_last_success_age_seconds{background_job="savedProofs"}"#
                #expect(await eventually { (try? await figures(shop))?[name] == 0 })
            }
        }
    }
}
