import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillSQLite
import TillServer
import TillThreads

@Suite("What the log says about requests and work (issue 20)") struct LogJourneys {
    private static let operatorToken = "op_log_0123456789abcdef"

    // MARK: Requests

    @Test(
        "A request's line has its route, status and caller; its id stands in the answer and in a problem",
        arguments: Reach.allCases)
    func request(_ reach: Reach) async throws {
        let log = LogRecorder()
        try await Shop.open(reach, log: log) { shop in
            let order = try await shop.openOrder(as: "ann")
            let opened = try #require(log.lines(.request).last)
            #expect(opened.text("method") == "POST" && opened.text("route") == "/v1/orders")
            #expect(opened.integer("status") == 201 && opened.text("caller") == "user:ann")
            #expect(opened["code"] == nil && opened["network"] == nil && (opened.integer("ms") ?? -1) >= 0)

            // The pattern, never the path: an id in a path may be a person's name.
            let reply = try await shop.send(.get, "/v1/orders/\(order)", as: .user("eve"))
            let refused = try #require(log.lines(.request).last)
            #expect(reply.status == 404 && refused.integer("status") == 404)
            #expect(refused.text("route") == "/v1/orders/{id}" && refused.text("code") == reply.code)
            #expect(refused.text("caller") == "user:eve")
            #expect(refused.request?.requestID == reply["requestId"].text)
            #expect(reply.headers["X-Request-Id"] == reply["requestId"].text)

            let listed = try await shop.send(.get, "/v1/users/ann/orders", as: .backend)
            #expect(log.lines(.request).last?.text("caller") == "key:backend")
            #expect(listed.headers["X-Request-Id"] == log.lines(.request).last?.request?.requestID)

            let stranger = try await shop.send(.get, "/v1/users/ann/orders", as: .bearer("wrong"))
            let unauthorized = try #require(log.lines(.request).last)
            #expect(stranger.status == 401 && unauthorized.text("caller") == "anonymous")
            #expect(unauthorized.text("network") == "127.0.0.0/24" && unauthorized.text("code") == "unauthorized")

            let lost = try await shop.send(.get, "/nothing/\(Shop.secretKey)", as: .anonymous)
            #expect(lost.status == 404 && log.lines(.request).last?.text("route") == "unmatched")
            #expect(Set(log.lines(.request).compactMap(\.request?.requestID)).count == 5)
        }
    }

    @Test(
        "A caller's X-Request-Id and traceparent are taken over; malformed ones are ignored", arguments: Reach.allCases)
    func callersIDs(_ reach: Reach) async throws {
        let log = LogRecorder()
        try await Shop.open(reach, log: log) { shop in
            let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
            let taken = try await shop.send(
                .get, "/v1/orders/none", as: .user("ann"),
                headers: [("X-Request-Id", "gateway-7:42"), ("traceparent", "00-\(trace)-00f067aa0ba902b7-01")])
            let line = try #require(log.lines(.request).last?.request)
            #expect(line.requestID == "gateway-7:42" && line.traceID == trace)
            #expect(taken["requestId"].text == "gateway-7:42" && taken.headers["X-Request-Id"] == "gateway-7:42")

            for bad in [String(repeating: "a", count: 129), "a b", #"{"level":"error"}"#, "a,b"] {
                let ignored = try await shop.send(
                    .get, "/v1/orders/none", as: .user("ann"),
                    headers: [("X-Request-Id", bad), ("traceparent", "00-1-2-3")])
                let line = try #require(log.lines(.request).last?.request)
                #expect(UniqueID(line.requestID) != nil && line.traceID == nil)
                #expect(
                    ignored["requestId"].text == line.requestID && ignored.headers["X-Request-Id"] == line.requestID)
            }
        }
    }

    @Test("A problem that is answered again under its Idempotency-Key has the id of the new request")
    func replayed() async throws {
        let log = LogRecorder()
        try await Shop.open(log: log) { shop in
            let body: JSONValue = ["productId": "unknown", "quantity": 1]
            var ids: [String] = []
            for _ in 0..<2 {
                let reply = try await shop.send(
                    .post, "/v1/orders", body, as: .user("ann"), headers: [("Idempotency-Key", "k1")])
                let line = try #require(log.lines(.request).last)
                #expect(reply.status == 422 && line.text("code") == reply.code)
                #expect(reply["requestId"].text == line.request?.requestID)
                ids.append(reply["requestId"].text)
            }
            #expect(ids[0] != ids[1])
        }
    }

    @Test("A request that breaks HTTP's rules has a line with its code")
    func unread() async throws {
        let log = LogRecorder()
        try await Shop.open(log: log) { shop in
            let response = shop.server.response(to: .headerTooLarge, acceptLanguage: "en")
            let line = try #require(log.lines(.requestUnread).last)
            #expect(line.integer("status") == 431 && line.text("code") == ListenerRefusal.headerTooLarge.code)
            let problem = try Reply(response)
            #expect(problem["requestId"].text == line.request?.requestID)
            #expect(problem.headers["X-Request-Id"] == line.request?.requestID)
        }
    }

    // MARK: Purchases

    @Test("A purchase, its refund and the reversal each have a line; a repetition has none", arguments: Reach.allCases)
    func purchase(_ reach: Reach) async throws {
        let log = LogRecorder()
        try await Shop.open(reach, log: log) { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            for _ in 0..<2 { _ = try await shop.submit(payment.signed, as: .user("ann")) }
            let granted = log.lines(.purchaseGranted)
            #expect(granted.count == 1 && granted[0].text("orderId") == order.description)
            #expect(granted[0].text("transactionId") == payment.id && granted[0].text("user") == "ann")
            #expect(granted[0].text("productId") == Shop.points60 && granted[0].text("match") == "token")
            #expect(granted[0].text("source") == "app" && granted[0].text("environment") == "Sandbox")
            #expect(granted[0].request?.requestID == log.lines(.request).dropLast().last?.request?.requestID)

            _ = try await shop.refund(payment.id, by: "ann")
            _ = try await shop.refund(payment.id, reversal: true, by: "ann")
            #expect(log.lines(.purchaseRefunded).map { $0.text("transactionId") } == [payment.id])
            #expect(log.lines(.refundReversed).map { $0.text("transactionId") } == [payment.id])

            let stray = try await shop.pay(token: nil)
            for _ in 0..<2 { _ = try await shop.submit(stray.signed, as: .user("ann")) }
            let quarantined = log.lines(.purchaseQuarantined)
            #expect(quarantined.map { $0.text("reason") } == ["no_owner"] && quarantined[0]["user"] == nil)
        }
    }

    @Test("A purchase that an order releases, and a renewal that waited, have lines of their own")
    func released() async throws {
        let log = LogRecorder()
        try await Shop.open(log: log) { shop in
            let token = ProvenOrder(of: "ann", 1)
            let payment = try await shop.pay(token: token.id)
            #expect(try await shop.submit(payment.signed, as: .backend)["outcome"].text == "quarantined")
            log.clear()
            _ = try await shop.send(
                .post, "/v1/orders", token.opening(["productId": .string(Shop.points60)]), as: .user("ann"))
            #expect(log.lines(.purchaseGranted).map { $0.text("transactionId") } == [payment.id])
            #expect(log.lines(.purchaseGranted).first?.text("source") == "claim")
        }
    }

    // MARK: Refusals

    @Test("A forged proof is a warning with its code, its source and its sender", arguments: Reach.allCases)
    func forged(_ reach: Reach) async throws {
        let log = LogRecorder()
        try await Shop.open(reach, log: log) { shop in
            let order = try await shop.openOrder(as: "eve")
            let payment = try await shop.pay(token: order)
            let forged = try #require(
                try Issuer.forged(payment.signed, at: shop.time.now) { RandomBytes.make(16) })
            let reply = try await shop.submit(forged, as: .user("eve"))
            let line = try #require(log.lines(.proofRefused).last)
            #expect(line.event.level == .warning && line.text("code") == reply.code && reply.code == "chain_untrusted")
            #expect(line.text("source") == "app" && line.text("caller") == "user:eve")
            #expect(line.request?.requestID == reply["requestId"].text && line["isRecorded"] == .bool(true))

            // A notification proves nothing about its sender, so its line names the network.
            let notification = try await shop.send(
                .post, "/v1/notifications/apple", ["signedPayload": .string(forged)], as: .anonymous)
            let stranger = try #require(log.lines(.proofRefused).last)
            #expect(notification.status >= 400 && stranger.text("source") == "notification")
            #expect(stranger.text("network") == "127.0.0.0/24" && stranger["caller"] == nil)
            #expect(!log.text.contains(forged))
        }
    }

    @Test("A wrong operator token is a warning with the network, and never with the token")
    func operators() async throws {
        let log = LogRecorder()
        try await Shop.open(change: { $0.operators = [Self.key("anna", Self.operatorToken)] }, log: log) { shop in
            let wrong = try await shop.status(.get, "/metrics", as: .bearer("op_guessed_0123456789"))
            #expect(wrong == 401)
            #expect(log.lines(.operatorRefused).map { $0.text("code") } == ["unauthorized"])
            #expect(log.lines(.operatorRefused).first?.text("network") == "127.0.0.0/24")
            let right = try await shop.status(.get, "/metrics", as: .bearer(Self.operatorToken))
            #expect(right == 200)
            #expect(log.lines(.request).last?.text("caller") == "operator:anna")
            #expect(!log.text.contains("op_guessed") && !log.text.contains(Self.operatorToken))
        }
    }

    @Test("An error of the server's own has its cause in the log, which the caller never sees")
    func serverError() async throws {
        let log = LogRecorder()
        try await Shop.open(log: log) { shop in
            try await withDeadServer(of: shop, log) { server in
                let reply = try Reply(
                    await server.respond(to: shop.made(.get, "/v1/users/ann/wallet", nil, as: .backend)))
                let line = try #require(log.lines(.serverError).last)
                #expect(reply.status >= 500 && line.text("code") == reply.code && line.event.level == .error)
                #expect(line.text("cause")?.hasPrefix("closed") == true, "\(line)")
                #expect(line.request?.requestID == reply["requestId"].text)
                #expect(!"\(reply.body)".contains("closed"))
            }
        }
    }

    // MARK: Work

    @Test("A job that fails is a warning with its cause, and a pass that succeeds a debug line")
    func jobs() async throws {
        let log = LogRecorder()
        try await Shop.open(log: log) { shop in
            let pause: @Sendable (Int64) async -> Void = { _ in try? await Task.sleep(for: .milliseconds(10)) }
            try await BackgroundJobs(shop.server, pause: pause).whileRunning {
                #expect(await eventually { log.lines(.jobRun).contains { $0.text("job") == "reminders" } })
            }
            #expect(log.lines(.jobFailed).isEmpty && log.lines(.jobRun).allSatisfy { $0.event.level == .debug })
            try await withDeadServer(of: shop, log) { server in
                try await BackgroundJobs(server, pause: pause).whileRunning {
                    #expect(await eventually { log.lines(.jobFailed).contains { $0.text("job") == "reminders" } })
                }
                let line = try #require(log.lines(.jobFailed).first { $0.text("job") == "reminders" })
                #expect(line.event.level == .warning && line.text("cause")?.hasPrefix("closed") == true)
            }
        }
    }

    @Test("While Apple is away, each request and each task for Apple says so; a refused key gives its status")
    func appleAway() async throws {
        let (log, line) = (LogRecorder(), AppleProxy())
        try await Shop.open(line: line, log: log) { shop in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            _ = try await shop.submit(payment.signed, as: .user("ann"))
            shop.time.advance(seconds: 600)
            line.outage = AppleConnectionError(.timedOut)
            _ = try await AppleTaskRuns(shop.server.ledger).runAll()
            let away = try #require(log.lines(.appleRequestFailed).last)
            #expect(away.text("code") == "timedOut" && away.text("host") == "store.test")
            #expect(away.text("path")?.contains(payment.id) == false && away.text("path")?.contains("{id}") == true)
            let task = try #require(log.lines(.appleTaskRetried).last)
            #expect(task.text("transactionId") == payment.id && task.integer("attempts") == 1)
            #expect(task.text("cause")?.hasPrefix("outage") == true && task.text("nextAt") != nil)

            line.outage = nil
            line.answer = AppleResponse(status: 401)
            shop.time.advance(seconds: 3_600)
            _ = try await AppleTaskRuns(shop.server.ledger).runAll()
            #expect(log.lines(.appleRequestFailed).last?.integer("status") == 401)
            #expect(log.lines(.appleTaskRetried).last?.text("cause")?.hasPrefix("unauthorized") == true)

            // That Apple doesn't know a transaction is an answer; the task is given up.
            line.answer = AppleProxy.notFound
            shop.time.advance(seconds: 7_200)
            let failures = log.lines(.appleRequestFailed).count
            _ = try await AppleTaskRuns(shop.server.ledger).runAll()
            #expect(log.lines(.appleRequestFailed).count == failures)
            #expect(log.lines(.appleRequest).last?.integer("code") == 4_040_010)
            #expect(log.lines(.appleTaskGivenUp).last?.text("transactionId") == payment.id)
            #expect(log.lines(.appleTaskGivenUp).last?.event.level == .error)
        }
    }

    @Test("A webhook endpoint that refuses gives a warning for each attempt, and an error after the last")
    func deadWebhook() async throws {
        let log = LogRecorder()
        let bytes = Base64.encode([UInt8](repeating: 7, count: 32))
        let secret = try #require(WebhookSecret(WebhookSecret.prefix + bytes))
        let url = try WebhookURL("https://backend.example/hook?key=in-the-url", allowsPlain: false)
        try await Shop.open(log: log) { shop in
            var configuration = shop.server.configuration
            configuration.webhooks.endpoints = [WebhookEndpoint(id: "backend", url: url, secrets: [secret])]
            let server = try Server(
                configuration: configuration, database: shop.ledger, clock: { shop.time.now },
                entropy: RandomBytes.make,
                log: log.log,
                webhookSend: { _, request async throws(HTTPError) in
                    HTTPResponse(status: 500, body: Array("refused: ".utf8) + request.body)
                })
            let deliveries = WebhookDeliveries(server)
            _ = try await deliveries.deliverAll()
            _ = try await shop.purchase(as: "ann")
            for _ in 0..<12 {
                _ = try await deliveries.deliverAll()
                shop.time.advance(seconds: 2 * 86_400)
            }
            let failed = log.lines(.webhookFailed)
            #expect(failed.map { $0.integer("attempts") } == (1...9).map { Int64($0) })
            #expect(failed.allSatisfy { $0.text("endpoint") == "backend" && $0.integer("status") == 500 })
            #expect(failed.allSatisfy { $0.text("cause") == "answered 500" && $0.text("nextAt") != nil })
            let dead = log.lines(.webhookDead)
            #expect(dead.count == 1 && dead[0].integer("attempts") == 10 && dead[0].event.level == .error)
            #expect(!log.text.contains("in-the-url") && !log.text.contains("refused:") && !log.text.contains(bytes))
        }
    }

    // MARK: -

    private static func key(_ id: String, _ token: String) -> SecretKey {
        SecretKey(id: id, sha256: Digest.sha256.hash(token.utf8))
    }

    /// A server like the shop's whose ledger is closed.
    private func withDeadServer(
        of shop: Shop, _ log: LogRecorder, _ body: (Server) async throws -> Void
    ) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString).db").path
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) } }
        let dead = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
        await dead.close()
        let server = try Server(
            configuration: shop.server.configuration, database: dead, clock: { shop.time.now },
            entropy: RandomBytes.make, log: log.log)
        try await body(server)
    }
}
