import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillServer
import TillThreads

/// Events about ends of service, as a backend's own HTTP endpoint receives them.
@Suite("service.expiring and service.expired reach a backend's HTTP endpoint (C10)") struct ServiceEventJourneys {
    private static let day: Int64 = 86_400

    /// A backend that listens on a socket, and the server's deliveries to it.
    private final class Backend: Sendable {
        let got = Locked<[HTTPRequest]>([])
        /// The status of its answers.
        let status = Locked(204)
        private let listener: Listener
        private let fetch: Fetch
        private let secret = [UInt8](repeating: 7, count: 32)
        let server: Server
        let deliveries: WebhookDeliveries

        init(of shop: Shop) throws {
            let (got, status) = (got, status)
            listener = try Listener(bodyLimit: { _, _ in 1 << 20 }) { request in
                got.withLock { $0.append(request) }
                return HTTPResponse(status: status.withLock { $0 })
            }
            var settings = FetchConfiguration()
            settings.addresses = .internetAndOwnNetworks
            fetch = try Fetch(configuration: settings)
            var configuration = shop.server.configuration
            let secret = try #require(WebhookSecret(WebhookSecret.prefix + Base64.encode(secret)))
            let url = try WebhookURL("http://127.0.0.1:\(listener.port)/till", allowsPlain: true)
            var endpoint = WebhookEndpoint(id: "backend", url: url, secrets: [secret])
            endpoint.types = ["service.expiring", "service.expired"]
            configuration.webhooks.endpoints = [endpoint]
            configuration.webhooks.allowsPrivate = true
            server = try Server(
                configuration: configuration, database: shop.ledger, clock: { shop.time.now },
                entropy: RandomBytes.make, webhookSend: fetch.send)
            deliveries = WebhookDeliveries(server)
        }

        /// What the jobs of a server do until nothing is due.
        func deliver() async throws {
            _ = try await DueReminders(server.ledger).recordAll()
            while try await deliveries.deliverAll() > 0 {}
        }

        /// Each accepted event: `service.expiring u1 before_P7D basic 2026-…`. Checks its signature.
        func events() throws -> [String] {
            try got.withLock { $0 }.map { request in
                let body = try JSONValue(decoding: request.body)
                let (id, time) = (request.headers["webhook-id"] ?? "", request.headers["webhook-timestamp"] ?? "")
                let code = HMACSHA256.code(for: Array("\(id).\(time).".utf8) + request.body, key: secret)
                #expect(request.headers["webhook-signature"] == "v1," + Base64.encode(code))
                #expect(request.path == "/till" && body.at("id").text == id)
                let data = body.at("data")
                return [
                    body.at("type").text, body.at("userId").text, data.at("reminder").text,
                    data.at("entitlement").text, data.at("expiresAt").text,
                ].joined(separator: " ")
            }
        }

        func stop() async {
            fetch.stop()
            await listener.stop(grace: 1)
        }
    }

    private func open(_ journey: (Shop, Backend) async throws -> Void) async throws {
        try await CloudShop.open { shop in
            let backend = try Backend(of: shop)
            do {
                try await backend.deliver()
                try await journey(shop, backend)
            } catch {
                await backend.stop()
                throw error
            }
            await backend.stop()
        }
    }

    /// Lets the days pass, one delivery a day.
    private func pass(days: Int64, _ shop: Shop, _ backend: Backend) async throws {
        for _ in 0..<days {
            shop.time.advance(seconds: Self.day)
            try await backend.deliver()
        }
    }

    private func after(_ start: Instant, _ days: Int64) -> String { start.adding(seconds: days * Self.day).rfc3339 }

    @Test("A week before, a day before and at the end, each once, signed, with the moment of the end")
    func three() async throws {
        try await open { shop, backend in
            let start = shop.time.now
            try await shop.buyPlan("basic_monthly", as: "u1")
            try await pass(days: 22, shop, backend)
            #expect(try backend.events() == [])
            try await pass(days: 60, shop, backend)
            let end = after(start, 30)
            #expect(
                try backend.events() == [
                    "service.expiring u1 before_P7D basic \(end)", "service.expiring u1 before_P1D basic \(end)",
                    "service.expired u1 expired basic \(end)",
                ])
            #expect(Set(backend.got.withLock { $0 }.compactMap { $0.headers["webhook-id"] }).count == 3)
        }
    }

    @Test("When the plan is extended, the events move to the new end; nothing is sent for the old one")
    func extended() async throws {
        try await open { shop, backend in
            let start = shop.time.now
            try await shop.buyPlan("basic_monthly", as: "u1")
            // Extended after the first announcement: the later ones move.
            try await pass(days: 24, shop, backend)
            try await shop.buyPlan("basic_monthly", as: "u1")
            let (old, new) = (after(start, 30), after(start, 60))
            #expect(try backend.events() == ["service.expiring u1 before_P7D basic \(old)"])
            try await pass(days: 28, shop, backend)
            #expect(try backend.events().count == 1, "day 52, a week and a day before the new end")
            try await pass(days: 40, shop, backend)
            #expect(
                try backend.events() == [
                    "service.expiring u1 before_P7D basic \(old)", "service.expiring u1 before_P7D basic \(new)",
                    "service.expiring u1 before_P1D basic \(new)", "service.expired u1 expired basic \(new)",
                ])
        }
    }

    @Test("When Apple refunds the plan, its announced end is cancelled and nothing more is sent")
    func refunded() async throws {
        try await open { shop, backend in
            let start = shop.time.now
            let id = try await shop.buyPlan("basic_monthly", as: "u1")
            try await pass(days: 24, shop, backend)
            let announced = ["service.expiring u1 before_P7D basic \(after(start, 30))"]
            #expect(try backend.events() == announced)
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(id)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))
            try await pass(days: 60, shop, backend)
            #expect(try backend.events() == announced)
        }
    }

    @Test("A change of plan moves the events to the converted end, and names the new service (C5)")
    func converted() async throws {
        try await open { shop, backend in
            let start = shop.time.now
            try await shop.buyPlan("basic_monthly", as: "u1")
            try await pass(days: 15, shop, backend)
            try await shop.buyPlan("premium_monthly", as: "u1")
            try await pass(days: 60, shop, backend)
            // Half of 2.99 is 1.495, at 0.233 a day: 6.416309 days, rounded up to a second.
            let end = start.adding(seconds: 45 * Self.day + 554_370).rfc3339
            #expect(
                try backend.events() == [
                    "service.expiring u1 before_P7D premium \(end)", "service.expiring u1 before_P1D premium \(end)",
                    "service.expired u1 expired premium \(end)",
                ])
        }
    }

    @Test("A subscription that renews is not announced; with the renewal switched off its end is (C7)")
    func renewalSwitchedOff() async throws {
        try await open { shop, backend in
            let first = try await shop.buyPlan("premium_monthly_auto", as: "u1")
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            func change(_ action: String) async throws {
                shop.time.advance(seconds: 1)
                let reply = try await shop.ask(.post, "/emulator/subscriptions/\(first)/\(action)")
                #expect(reply.status == 200, "\(reply.body)")
                await shop.emulator.sendDueNotifications()
            }
            try await change("cancel")
            try await change("resume")
            for _ in 0..<40 {
                shop.time.advance(seconds: Self.day)
                _ = try await shop.ask(.get, "/emulator/subscriptions/\(first)")
                await shop.emulator.sendDueNotifications()
                try await backend.deliver()
            }
            #expect(try backend.events() == [])
            try await change("cancel")
            let rights = try await shop.send(.get, "/v1/users/u1/entitlements", as: .user("u1"))
            let end = try #require(rights["data"].list.first).at("expiresAt").text
            try await pass(days: 40, shop, backend)
            #expect(
                try backend.events() == [
                    "service.expiring u1 before_P7D premium \(end)", "service.expiring u1 before_P1D premium \(end)",
                    "service.expired u1 expired premium \(end)",
                ])
        }
    }

    @Test("A refund that Apple reverses restores the events (U5)")
    func reversed() async throws {
        try await open { shop, backend in
            let end = after(shop.time.now, 30)
            let id = try await shop.buyPlan("basic_monthly", as: "u1")
            try await pass(days: 10, shop, backend)
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(id)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))
            try await pass(days: 5, shop, backend)
            let reversed = try await shop.ask(.post, "/emulator/transactions/\(id)/refundReversal")
            _ = try await shop.submit(reversed["signedTransaction"].text, as: .user("u1"))
            try await pass(days: 40, shop, backend)
            #expect(
                try backend.events() == [
                    "service.expiring u1 before_P7D basic \(end)", "service.expiring u1 before_P1D basic \(end)",
                    "service.expired u1 expired basic \(end)",
                ])
        }
    }

    @Test("The server's own jobs send the three events; only time passes")
    func byTheJobs() async throws {
        try await CloudShop.open { shop in
            let backend = try Backend(of: shop)
            let jobs = BackgroundJobs(backend.server) { _ in try? await Task.sleep(for: .milliseconds(5)) }
            try await jobs.whileRunning {
                func eventsArrive(_ count: Int) async -> Bool {
                    await eventually { backend.got.withLock { $0.count } >= count }
                }
                let end = after(shop.time.now, 30)
                let recorded = await eventually { (try? await Self.knowsEndpoint(shop)) == true }
                #expect(recorded, "an endpoint gets the events from its first run on")
                try await shop.buyPlan("basic_monthly", as: "u1")
                for (number, days) in [23, 6, 1].enumerated() {
                    shop.time.advance(seconds: Int64(days) * Self.day)
                    #expect(await eventsArrive(number + 1))
                }
                #expect(
                    try backend.events() == [
                        "service.expiring u1 before_P7D basic \(end)", "service.expiring u1 before_P1D basic \(end)",
                        "service.expired u1 expired basic \(end)",
                    ])
            }
            await backend.stop()
        }
    }

    private static func knowsEndpoint(_ shop: Shop) async throws -> Bool {
        try await shop.ledger.read { connection in
            try connection.first("SELECT 1 FROM webhook_endpoints", []) { _ in true } ?? false
        }
    }

    @Test("An endpoint that fails gets the event again, under the same id, and later ones after it")
    func failing() async throws {
        try await open { shop, backend in
            let start = shop.time.now
            try await shop.buyPlan("basic_monthly", as: "u1")
            backend.status.withLock { $0 = 503 }
            try await pass(days: 24, shop, backend)
            let refused = backend.got.withLock { $0 }
            #expect(!refused.isEmpty && Set(refused.compactMap { $0.headers["webhook-id"] }).count == 1)
            backend.status.withLock { $0 = 204 }
            backend.got.withLock { $0 = [] }
            try await pass(days: 10, shop, backend)
            let end = after(start, 30)
            #expect(
                try backend.events() == [
                    "service.expiring u1 before_P7D basic \(end)", "service.expiring u1 before_P1D basic \(end)",
                    "service.expired u1 expired basic \(end)",
                ])
            let first = backend.got.withLock { $0.first?.headers["webhook-id"] }
            #expect(first == refused.first?.headers["webhook-id"])
        }
    }
}
