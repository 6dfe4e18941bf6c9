import Foundation
import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillSQL
import TillSQLite
import TillSimulation
import TillThreads

@testable import TillServer
@testable import till

/// Each journey breaks something, and looks at what a person on call sees within a minute: the metrics, the alert that
/// Prometheus fires on them, and `/readyz`.
@Suite("What a person on call sees") struct MonitoringJourneys {
    private func postReceipt(_ payment: Payment, to shop: Shop) async throws {
        _ = try await shop.send(
            .post, "/v1/transactions",
            [
                "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                "productId": .string(Shop.points60),
            ], as: .user("ann"))
    }

    @Test(
        "A wrong key: Apple's 401 shows by host, the alert fires, and the server is degraded", arguments: Reach.allCases
    )
    func wrongKey(_ reach: Reach) async throws {
        let line = AppleProxy()
        try await Pager.open(reach, line: line) { pager in
            let healthy = try await pager.scrape()
            #expect(healthy[#"till_apple_key_refused{host="store.test"}"#]?.isNaN == true, "not asked yet")
            #expect(try await pager.readiness()["status"].text == "ready")
            let payment = try await pager.shop.pay(token: try await pager.shop.openOrder(as: "ann"))
            line.answer = AppleResponse(status: 401)
            try await postReceipt(payment, to: pager.shop)
            let broken = try await pager.scrape()
            #expect(broken[#"till_apple_key_refused{host="store.test"}"#] == 1)
            #expect((broken[#"till_apple_answers_total{host="store.test",code="401"}"#] ?? 0) >= 1)
            #expect(pager.log.lines(.appleRequestFailed).contains { $0.integer("status") == 401 })
            try pager.expect("TillAppleRefusesKey", [healthy, broken])
            let readiness = try await pager.readiness()
            #expect(readiness.status == 200 && readiness["status"].text == "degraded")
            #expect(readiness["reasons"].list == ["apple_refuses_key"])
            #expect(broken[#"till_degraded{reason="apple_refuses_key"}"#] == 1 && broken["till_ready"] == 1)
        }
    }

    @Test("Apple is away: the silence grows, the alert fires, and the server is degraded", arguments: Reach.allCases)
    func appleAway(_ reach: Reach) async throws {
        let line = AppleProxy()
        try await Pager.open(reach, line: line) { pager in
            let healthy = try await pager.scrape()
            let payment = try await pager.shop.pay(token: try await pager.shop.openOrder(as: "ann"))
            line.outage = AppleConnectionError(.timedOut)
            try await postReceipt(payment, to: pager.shop)
            pager.shop.time.advance(seconds: 400)
            let broken = try await pager.scrape()
            #expect((broken[#"till_apple_unanswered_seconds{host="store.test"}"#] ?? 0) >= 400)
            #expect((broken[#"till_apple_answers_total{host="store.test",code="timedOut"}"#] ?? 0) >= 1)
            #expect(broken["till_waiting_receipts"] == 1)
            #expect(pager.log.lines(.appleRequestFailed).contains { $0.text("code") == "timedOut" })
            try pager.expect("TillAppleUnreachable", [healthy, broken])
            #expect(try await pager.readiness()["reasons"].list == ["apple_unreachable"])
        }
    }

    @Test("A dead webhook receiver: its backlog ages, then events are given up", arguments: Reach.allCases)
    func deadReceiver(_ reach: Reach) async throws {
        let url = try WebhookURL("https://backend.example/till", allowsPlain: false)
        let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let endpoint = WebhookEndpoint(id: "backend", url: url, secrets: [secret])
        try await Pager.open(
            reach, webhookSend: { _, _ async throws(HTTPError) in throw HTTPError(.cannotConnect, "refused") },
            change: { $0.webhooks.endpoints = [endpoint] }
        ) { pager in
            let unknown = try await pager.scrape()
            #expect(unknown[#"till_outbox_backlog{endpoint="backend"}"#]?.isNaN == true, "not registered yet")
            let deliveries = WebhookDeliveries(pager.shop.server)
            try await deliveries.deliverAll()
            let healthy = try await pager.scrape()
            #expect(healthy[#"till_outbox_oldest_age_seconds{endpoint="backend"}"#] == 0)
            _ = try await pager.shop.purchase(as: "ann")
            try await deliveries.deliverAll()
            pager.shop.time.advance(seconds: 400)
            let late = try await pager.scrape()
            #expect((late[#"till_outbox_oldest_age_seconds{endpoint="backend"}"#] ?? 0) >= 400)
            try pager.expect("TillWebhookBacklog", [healthy, late])
            #expect(pager.log.lines(.webhookFailed).contains { $0.text("endpoint") == "backend" })
            for _ in 0..<24 {
                pager.shop.time.advance(seconds: 6 * 3_600)
                try await deliveries.deliverAll()
            }
            let dead = try await pager.scrape()
            #expect((dead[#"till_outbox_dead_letters{endpoint="backend"}"#] ?? 0) >= 1)
            try pager.expect("TillWebhookDead", [healthy, dead])
            #expect(pager.log.lines(.webhookDead).contains { $0.text("endpoint") == "backend" })
            #expect(try await pager.readiness()["status"].text == "ready", "purchases are not affected")
        }
    }

    @Test("A forged proof counts by its verdict, and the alert fires at the first one", arguments: Reach.allCases)
    func forgedProof(_ reach: Reach) async throws {
        try await Pager.open(reach) { pager in
            let payment = try await pager.shop.pay(token: try await pager.shop.openOrder(as: "ann"))
            _ = try await pager.shop.submit(payment.signed, as: .user("ann"))
            let healthy = try await pager.scrape()
            #expect(healthy.sum("till_verification_failures_total") == 0)
            let forged = payment.signed.dropLast(8) + "AAAAAAAA"
            #expect(try await pager.shop.submit(String(forged), as: .user("eve")).status == 422)
            let after = try await pager.scrape()
            #expect(after[#"till_verification_failures_total{verdict="bad_signature"}"#] == 1)
            #expect(after[#"till_refusals_total{code="bad_signature"}"#] == 1)
            let refused = #"till_http_requests_total{method="POST",route="/v1/transactions",status="422"}"#
            #expect(after[refused] == 1)
            #expect(pager.log.lines(.proofRefused).map { $0.text("code") } == ["bad_signature"])
            try pager.expect("TillForgedProof", [healthy, after])
        }
    }

    @Test("A full disk: not ready with the reason, while metrics go on", arguments: Reach.allCases)
    func fullDisk(_ reach: Reach) async throws {
        let disk = CrashableDisk(seed: 23)
        var options = SQLiteDatabase.Options(.ledger)
        options.vfs = disk.vfs
        try await Pager.open(reach, ledger: options) { pager in
            let healthy = try await pager.scrape()
            #expect(healthy["till_ready"] == 1 && healthy["till_scrape_ledger_seconds"].map { $0 > 0 } == true)
            DiskFaultJourneys.Trouble.full.strike(disk)
            pager.shop.time.advance(seconds: 2)
            let readiness = try await pager.readiness()
            #expect(readiness.status == 503 && readiness["status"].text == "not_ready")
            #expect(readiness["code"].text == "unavailable" && readiness["database"].text == "full")
            let broken = try await pager.scrape()
            #expect(broken["till_ready"] == 0)
            #expect((broken[#"till_commit_failures_total{kind="full"}"#] ?? 0) >= 1)
            #expect(broken["till_purchases_total"] == 0, "the ledger can still be read")
            #expect(pager.log.lines(.serverError).contains { $0.text("cause")?.contains("full") == true })
            try pager.expect("TillNotReady", [healthy, broken])
            DiskFaultJourneys.Trouble.end(disk)
            #expect(try await pager.readiness().status == 200)
        }
    }

    @Test("Little room on the volume: degraded, and the alert fires before the disk is full", arguments: Reach.allCases)
    func littleRoom(_ reach: Reach) async throws {
        let space = Monitoring.VolumeSpace(free: 300 << 20, size: 1 << 40)
        try await Pager.open(reach, volume: space) { pager in
            let scrape = try await pager.scrape()
            #expect(scrape["till_disk_free_bytes"] == 314_572_800)
            #expect(try await pager.readiness()["reasons"].list == ["disk_low"])
            let series = Scrape.series([scrape], holding: 3)
            #expect(try RuleTest.complaint([RuleTest(series: series, minute: 1, firing: ["TillDiskLow"])]) == nil)
        }
    }

    /// Where servers share the ledger, the clock moves no faster than the jobs' lease is renewed: with an expired lease
    /// all jobs begin again.
    private func advance(_ pager: Pager, seconds: Int64) async throws {
        let age = "till_job_lease_age_seconds"
        guard try await pager.scrape()[age]?.isNaN == false else { return pager.shop.time.advance(seconds: seconds) }
        for _ in 0..<seconds / 10 {
            pager.shop.time.advance(seconds: 10)
            #expect(try await eventually { try await pager.scrape()[age] == 0 })
        }
    }

    @Test("A frozen job: its age grows while the others' does not, and the alert fires", arguments: Reach.allCases)
    func frozenJob(_ reach: Reach) async throws {
        let line = AppleProxy()
        try await Pager.open(reach, line: line) { pager in
            let shop = pager.shop
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            line.outage = AppleConnectionError(.timedOut)
            try await postReceipt(payment, to: shop)
            line.outage = nil
            line.isHeld = { $0.hasSuffix(payment.id) }
            // Apple's notifications would settle the purchase, and the job would have nothing to wait for.
            line.isCut = { $0.hasSuffix("/notifications/history") }
            shop.time.advance(seconds: 60)
            let before = try await pager.scrape()
            #expect(before[#"till_job_last_success_age_seconds{background_job="catalog"}"#]?.isNaN == true)
            let asked = line.asked.count
            let jobs = BackgroundJobs(shop.server) { _ in try? await Task.sleep(for: .milliseconds(10)) }
            try await jobs.whileRunning {
                #expect(await eventually { line.asked.dropFirst(asked).contains { $0.hasSuffix(payment.id) } })
                try await advance(pager, seconds: 2_000)
                let name = #"till_job_last_success_age_seconds{background_job="reminders"}"#
                #expect(try await eventually { try await pager.scrape()[name] == 0 })
                let frozen = try await pager.scrape()
                let job = #"{background_job="sandboxReceipts"}"#
                #expect((frozen["till_job_last_success_age_seconds" + job] ?? 0) >= 2_000)
                #expect((frozen["till_job_running_seconds" + job] ?? 0) >= 2_000)
                #expect(frozen["till_job_interval_seconds" + job] == 5)
                try pager.expect("TillJobFrozen", [before, frozen])
                // A pass of another job that began before the clock moved ends first.
                #expect(
                    await eventually { shop.server.jobHistory.frozen(at: shop.time.now) == ["sandboxReceipts"] },
                    "the doctor asks for them")
                #expect(
                    await eventually { pager.log.lines(.jobFrozen).contains { $0.text("job") == "sandboxReceipts" } })
                line.isHeld = nil
                #expect(
                    try await eventually { try await pager.scrape()["till_job_last_success_age_seconds" + job] == 0 })
            }
        }
    }

    @Test("A flood of one user's orders counts as refusals, and the alert fires", arguments: Reach.allCases)
    func flood(_ reach: Reach) async throws {
        try await Pager.open(reach, change: { $0.orders.perHour = 3 }) { pager in
            let healthy = try await pager.scrape()
            var refused = 0
            for _ in 0..<250 {
                let reply = try await pager.shop.send(
                    .post, "/v1/orders", ["productId": .string(Shop.points60)], as: .user("eve"))
                refused += reply.status == 429 ? 1 : 0
            }
            #expect(refused == 247)
            let flooded = try await pager.scrape()
            #expect(flooded[#"till_refusals_total{code="too_many_orders"}"#] == 247)
            try pager.expect("TillFlood", [healthy, flooded])
            let lines = pager.log.lines(.request).filter { $0.text("code") == "too_many_orders" }
            #expect(lines.count == 247 && lines.allSatisfy { $0.text("caller") == "user:eve" })
            #expect(pager.shop.server.requestFigures.floodRefusals(at: 0) == 247, "the doctor asks for them")
            #expect(try await pager.readiness()["status"].text == "ready")
        }
    }

    @Test("A balance that differs from its postings is found by the job, and its repair too", arguments: Reach.allCases)
    func walletDrift(_ reach: Reach) async throws {
        try await Pager.open(reach) { pager in
            let shop = pager.shop
            for user in ["ann", "ben"] { _ = try await shop.purchase(as: user) }
            let unknown = try await pager.scrape()
            #expect(
                unknown["till_wallet_drift"]?.isNaN == true && unknown["till_wallet_check_age_seconds"]?.isNaN == true)
            func check() async throws {
                for _ in 0..<2 { try await shop.server.walletCheck.advance(shop.ledger, clock: { shop.time.now }) }
            }
            func change(_ amount: Int64) async throws {
                _ = try await shop.ledger.write { connection in
                    try connection.execute("UPDATE balances SET amount = amount + ?1", [.integer(amount)])
                }
            }
            try await check()
            let healthy = try await pager.scrape()
            #expect(healthy["till_wallet_drift"] == 0 && healthy["till_wallet_check_age_seconds"] == 0)
            try await change(1)
            try await check()
            let broken = try await pager.scrape()
            #expect(broken["till_wallet_drift"] == 2)
            try pager.expect("TillWalletDrift", [healthy, broken])
            try await change(-1)
            try await check()
            #expect(try await pager.scrape()["till_wallet_drift"] == 0)
        }
    }
}
