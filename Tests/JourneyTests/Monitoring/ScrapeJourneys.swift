import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillSQL
import TillSQLite
import TillThreads

@testable import TillServer
@testable import till

/// The scrape itself: complete, bounded in its labels, and answered even if the disk does not answer.
@Suite("The scrape", .timeLimit(.minutes(5))) struct ScrapeJourneys {
    @Test(
        "A new server exports every metric of the list with its labels; what it does not know yet is NaN",
        arguments: Reach.allCases)
    func complete(_ reach: Reach) async throws {
        try await Pager.open(reach) { pager in
            for _ in 0..<2 {
                let scrape = try await pager.scrape()
                let lines = scrape.text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
                let types = lines.map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") }
                #expect(types == MetricDefinition.all.map { "\($0.name) \($0.kind.rawValue)" })
                for metric in MetricDefinition.all where metric.labels != ["endpoint"] {
                    let names = metric.kind == .histogram ? metric.name + "_count" : metric.name
                    let samples = scrape.samples.keys.filter { $0 == names || $0.hasPrefix(names + "{") }
                    #expect(!samples.isEmpty, "\(metric.name) is absent")
                    for sample in samples {
                        let labels = sample.matches(of: /([a-z_]+)="/).map { String($0.output.1) }
                        #expect(labels == metric.labels, "\(sample)")
                    }
                }
                _ = try await pager.shop.purchase(as: "ann")
            }
            let scrape = try await pager.scrape()
            #expect(scrape[#"till_build_info{version="\#(Program.version)"}"#] == 1)
            #expect(scrape["till_commit_duration_seconds_count"].map { $0 > 0 } == true)
            #expect(scrape["till_commit_batch_size_sum"].map { $0 > 0 } == true)
        }
    }

    @Test("Requests count by the pattern of their route; a thousand invented addresses are one label")
    func routes() async throws {
        try await Pager.open(.inProcess, change: { $0.limits.address.burst = 2_000 }) { pager in
            let shop = pager.shop
            let order = try await shop.openOrder(as: "ann")
            _ = try await shop.send(.get, "/v1/orders/\(order)")
            let before = try await pager.scrape().samples.count
            for number in 0..<1_000 { #expect(try await shop.send(.get, "/v1/\(number)/\(order)").status == 404) }
            #expect(try await shop.send(.delete, "/v1/orders").status == 405)
            let scrape = try await pager.scrape()
            #expect(scrape[#"till_http_requests_total{method="GET",route="unmatched",status="404"}"#] == 1_000)
            #expect(scrape[#"till_http_requests_total{method="DELETE",route="unmatched",status="405"}"#] == 1)
            #expect(scrape[#"till_http_requests_total{method="GET",route="/v1/orders/{id}",status="200"}"#] == 1)
            let count = #"till_http_request_duration_seconds_count{method="POST",route="/v1/orders"}"#
            #expect(scrape[count] == 1)
            let bucket = #"till_http_request_duration_seconds_bucket{method="POST",route="/v1/orders",le="+Inf"}"#
            #expect(scrape[bucket] == 1)
            #expect(scrape.samples.count < before + 50)
            #expect(!scrape.text.contains(order.description))
        }
    }

    @Test("A purchase that waits for its place is counted until it has one", arguments: Reach.allCases)
    func waitingPurchase(_ reach: Reach) async throws {
        try await Pager.open(reach) { pager in
            #expect(try await pager.scrape()["till_purchases_waiting"] == 0)
            let limit = pager.shop.server.purchases
            var held: [TaskLimit.Place] = []
            for _ in 0..<Server.purchasesAtOnce { held.append(await limit.enter()) }
            async let purchase = pager.shop.purchase(as: "ann")
            while limit.waiting == 0 { try await Task.sleep(for: .milliseconds(1)) }
            #expect(try await pager.scrape()["till_purchases_waiting"] == 1)
            for place in held { place.leave() }
            _ = try await purchase
            #expect(try await pager.scrape()["till_purchases_waiting"] == 0)
        }
    }

    @Test("On a stalled disk readiness says so and the scrape answers, both in bounded time; recovery shows")
    func stalledDisk() async throws {
        try await Shop.open { shop in
            let token = "op_stalled_0123456789abcdef"
            var configuration = shop.server.configuration
            configuration.operators = [SecretKey(id: "prometheus", sha256: Digest.sha256.hash(token.utf8))]
            var monitoring = Monitoring()
            let ledger = StallingLedger(shop.ledger)
            // The real deadline, shortened while the disk stands still: a busy machine may miss a short one.
            monitoring.within = { deadline, work in
                await Monitoring.within(ledger.isStalled.withLock { $0 } ? 50 : deadline, work)
            }
            let server = try Server(
                configuration: configuration, database: ledger, clock: { shop.time.now }, entropy: RandomBytes.make,
                monitoring: monitoring)
            @Sendable func ask(_ path: String) async -> HTTPResponse {
                var request = HTTPRequest(method: .get, path: path, peer: "127.0.0.1")
                request.headers.add("Authorization", "Bearer \(token)")
                return await server.respond(to: request)
            }
            #expect(await ask("/readyz").status == 200)
            shop.time.advance(seconds: 2)
            ledger.isStalled.withLock { $0 = true }
            for _ in 0..<3 {
                let readiness = await ask("/readyz")
                #expect(readiness.status == 503)
                #expect(String(decoding: readiness.body, as: UTF8.self).contains(#""database":"stalled""#))
            }
            #expect(ledger.calls.withLock { $0 } == 1, "one check waits for the disk, however many ask")
            let stalled = Scrape(text: String(decoding: await ask("/metrics").body, as: UTF8.self))
            #expect(stalled["till_ready"] == 0 && stalled["till_purchases_total"]?.isNaN == true)
            #expect(stalled["till_scrape_ledger_seconds"]?.isNaN == true)
            let requests = #"till_http_requests_total{method="GET",route="/readyz",status="503"}"#
            #expect(stalled[requests] == 3, "what is in memory is still exported")
            let series = Scrape.series([stalled], holding: 15)
            #expect(
                try RuleTest.complaint([
                    RuleTest(series: series, minute: 12, firing: ["TillNotReady", "TillValuesUnknown"])
                ]) == nil)
            ledger.isStalled.withLock { $0 = false }
            #expect(await eventually { await ask("/readyz").status == 200 })
            let well = Scrape(text: String(decoding: await ask("/metrics").body, as: UTF8.self))
            #expect(well["till_purchases_total"] == 0 && well["till_ready"] == 1)
        }
    }

    @Test(
        "Apple's answers count by Apple's own code, in a bounded number of codes; the Date shows the clocks' difference"
    )
    func appleAnswers() async throws {
        let figures = AppleFigures(.apple)
        let now = Instant(seconds: 784_111_777)
        let answers = Locked<[AppleResponse]>([])
        let send = figures.counting(
            { _ async throws(AppleConnectionError) in
                guard let next = answers.withLock({ $0.popLast() }) else { throw AppleConnectionError(.unreachable) }
                return next
            }, clock: { now })
        func ask(_ host: String, _ answer: AppleResponse?) async {
            if let answer { answers.withLock { $0.append(answer) } }
            _ = try? await send(AppleRequest(.get, "https://\(host)/inApps/v1/x"))
        }
        let unknown = AppleResponse(status: 404, body: Array(#"{"errorCode":4040010,"errorMessage":"x"}"#.utf8))
        await ask("api.storekit.apple.com", unknown)
        // A proxy's answer, whose code contradicts its status.
        await ask("api.storekit.apple.com", AppleResponse(status: 502, body: Array(#"{"errorCode":4040010}"#.utf8)))
        await ask("ocsp.example", AppleResponse(status: 200))
        await ask(
            "api.storekit-sandbox.apple.com",
            AppleResponse(status: 200, headers: [.init("Date", "Sun, 06 Nov 1994 08:49:27 GMT")]))
        await ask("api.storekit-sandbox.apple.com", nil)
        for status in 500..<599 { await ask("buy.itunes.apple.com", AppleResponse(status: status)) }
        let scrape = Scrape(text: figures.metrics(at: now.adding(seconds: 90)).map(\.text).joined())
        func count(_ host: String, _ code: String) -> Double? {
            scrape[#"till_apple_answers_total{host="\#(host)",code="\#(code)"}"#]
        }
        #expect(count("api.storekit.apple.com", "4040010") == 1 && count("api.storekit.apple.com", "502") == 1)
        #expect(count("other", "200") == 1 && count("api.storekit-sandbox.apple.com", "unreachable") == 1)
        #expect((count("buy.itunes.apple.com", "other") ?? 0) > 40)
        #expect(scrape[#"till_clock_skew_seconds{host="api.storekit-sandbox.apple.com"}"#] == 10)
        #expect(scrape[#"till_apple_unanswered_seconds{host="api.storekit-sandbox.apple.com"}"#] == 90)
        #expect(scrape[#"till_apple_key_refused{host="api.storekit.apple.com"}"#] == 0)
        #expect(scrape[#"till_apple_key_refused{host="buy.itunes.apple.com"}"#] == nil, "it takes no key")
    }
}

/// A ledger on a disk that may stop to answer.
private final class StallingLedger: Database {
    let isStalled = Locked(false)
    /// Calls that came while it was stalled.
    let calls = Locked(0)
    private let inner: any Database

    init(_ inner: any Database) { self.inner = inner }

    private func waitForDisk() async {
        guard isStalled.withLock({ $0 }) else { return }
        calls.withLock { $0 += 1 }
        while isStalled.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(5)) }
    }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        await waitForDisk()
        return try await inner.write(locking: keys(), body)
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        await waitForDisk()
        return try await inner.read(body)
    }

    func close() async { await inner.close() }
}
