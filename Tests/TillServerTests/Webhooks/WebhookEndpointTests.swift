import Testing
import TillAPI
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillSQL

@testable import TillServer

@Suite("Endpoints, each at its own pace") struct WebhookEndpointTests {
    @Test("A new endpoint starts with the server that knows it, or at its configured time; later at its own position")
    func beginning() async throws {
        try await WebhookReceiver.open { receiver in
            // Before the first pass, but after the server started.
            try await receiver.happen("u1")
            #expect(try await receiver.passed() == "u1#1")
            receiver.time.advance(seconds: 100)
            try await receiver.happen("u1")
            #expect(try await receiver.passed() == "u1#2")
            receiver.time.advance(seconds: 100)

            func deliver(to endpoint: WebhookEndpoint) async throws -> Int {
                var configuration = receiver.server.configuration
                configuration.webhooks.endpoints = [endpoint]
                let server = try Server(
                    configuration: configuration, database: receiver.ledger, clock: { receiver.time.now },
                    entropy: { [UInt8](repeating: 0, count: $0) },
                    webhookSend: { _, _ async throws(HTTPError) in HTTPResponse(status: 200) })
                return try await WebhookDeliveries(server).deliverAll()
            }
            #expect(try await deliver(to: try WebhookReceiver.endpoint("now")) == 0)
            var early = try WebhookReceiver.endpoint("early")
            early.start = receiver.time.now.adding(seconds: -100)
            #expect(try await deliver(to: early) == 1)
            early.start = receiver.time.now.adding(seconds: -1_000)
            #expect(try await deliver(to: early) == 0, "once it has a position, that counts")
            var first = try WebhookReceiver.endpoint("first")
            first.start = Instant(seconds: 0)
            #expect(try await deliver(to: first) == 2)
        }
    }

    @Test("Each endpoint has its own types, secrets and faults; a disabled endpoint waits")
    func several() async throws {
        var picky = try WebhookReceiver.endpoint("picky")
        picky.types = ["service.expired"]
        var off = try WebhookReceiver.endpoint("off")
        off.isDisabled = true
        let rotating = try WebhookReceiver.endpoint(
            "rotating", secrets: [WebhookReceiver.secret, WebhookReceiver.olderSecret])
        try await WebhookReceiver.open([try WebhookReceiver.endpoint("down"), picky, off, rotating]) { receiver in
            try await receiver.pass()
            receiver.answer { attempt async throws(HTTPError) in
                if attempt.url.contains("down") { throw HTTPError(.timedOut, "15 s") }
                return HTTPResponse(status: 200)
            }
            try await receiver.happen("u1", "u1")
            try await receiver.happen("u1", type: "service.expired")
            try await receiver.pass()
            var came: [String: [String]] = [:]
            for attempt in receiver.received() {
                came[String(attempt.url.dropFirst(8).prefix { $0 != "." }), default: []].append(attempt.name)
                let count = attempt.request.headers["webhook-signature"]?.split(separator: " ").count
                #expect(count == (attempt.url.contains("rotating") ? 2 : 1))
            }
            #expect(came == ["down": ["u1#1"], "picky": ["u1#3"], "rotating": ["u1#1", "u1#2", "u1#3"]])
            #expect(try await receiver.state("off")["state"] == "disabled")
            #expect(try await receiver.state("off")["behind"] == 3)
            #expect(try await receiver.state("picky")["position"] == 3)
            #expect(try await receiver.state("picky")["types"] == ["service.expired"])
            #expect(try await receiver.state("down")["waiting"] == 3)
        }
    }

    @Test("A span of time is sent again beside new events, under the same ids; another endpoint gets nothing")
    func replay() async throws {
        try await WebhookReceiver.open([try WebhookReceiver.endpoint("a"), try WebhookReceiver.endpoint("b")]) {
            receiver in
            try await receiver.pass()
            var ids: [String] = []
            for _ in 0..<5 {
                try await receiver.happen("u1")
                try await receiver.pass()
                ids.append(try #require(receiver.received().first?.id))
                receiver.time.advance(seconds: 60)
            }
            let now = receiver.time.now
            let span: JSONValue = [
                "from": .string(now.adding(seconds: -240).rfc3339), "to": .string(now.adding(seconds: -60).rfc3339),
                "endpoint": "a",
            ]
            let (status, made) = try await receiver.call(.post, Paths.webhookReplays, span)
            #expect(status == 201 && made["data"]?.array?.count == 1)
            try await receiver.happen("u1")
            try await receiver.pass()
            let again = receiver.received().filter { $0.name != "u1#6" }
            #expect(again.map(\.id) == Array(ids[1...3]))
            #expect(again.allSatisfy { $0.url.contains("//a.") })
            let (_, list) = try await receiver.call(.get, Paths.webhookReplays)
            #expect(list["data"]?.array?.first?["count"] == 3)
            #expect(list["data"]?.array?.first?["endedAt"] != nil)
            #expect(try await receiver.passed() == "")
            var all = span.object ?? [:]
            all["endpoint"] = "c"
            #expect(try await receiver.call(.post, Paths.webhookReplays, .object(all)).0 == 404)
            all["endpoint"] = nil
            #expect(try await receiver.call(.post, Paths.webhookReplays, .object(all)).1["data"]?.array?.count == 2)
            #expect(try await receiver.pass() == 6)
        }
    }

    @Test("A test event is sent at once and its result returned; none of it is kept")
    func test() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            let (status, good) = try await receiver.call(.post, "/v1/webhooks/backend/test")
            #expect(status == 200 && good["delivered"] == true && good["status"] == 204)
            let sent = try #require(receiver.received().first)
            #expect(sent.event["type"] == "webhook.test" && sent.id == good["eventId"]?.string)
            receiver.answer(500)
            let (_, bad) = try await receiver.call(.post, "/v1/webhooks/backend/test")
            #expect(bad["delivered"] == false && bad["error"] == "answered 500")
            #expect(try await receiver.deliveries() == [])
            #expect(try await receiver.call(.get, Paths.events).1["data"]?.array?.isEmpty == true)
        }
    }

    @Test("The feed has the pushed events, in pages, of all users or of one; a reader at the end keeps its position")
    func feed() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            try await receiver.happen("u1", "u2", nil, "u1", "u2", "u1")
            try await receiver.pass()
            let pushed = receiver.received().map(\.event)
            var (cursor, fetched): (String, [JSONValue]) = ("0", [])
            for _ in 0..<3 {
                let (_, page) = try await receiver.call(.get, "/v1/events?limit=2&after=\(cursor)")
                fetched += page["data"]?.array ?? []
                cursor = page["nextCursor"]?.string ?? ""
                #expect(page["hasMore"]?.bool == (fetched.count < 6))
            }
            #expect(fetched.count == 6)
            for event in fetched { #expect(pushed.contains(event)) }
            #expect(fetched.compactMap { $0["sequence"]?.int } == [1, 2, 3, 4, 5, 6])
            let (_, end) = try await receiver.call(.get, "/v1/events?after=\(cursor)")
            #expect(end["data"] == [] && end["nextCursor"] == .string(cursor) && end["hasMore"] == false)
            let (_, first) = try await receiver.call(.get, "/v1/events?user=u1&limit=1")
            let next = first["nextCursor"]?.string ?? ""
            let (_, one) = try await receiver.call(.get, "/v1/events?user=u1&after=\(next)")
            #expect(one["data"]?.array?.compactMap { $0["userSequence"]?.int } == [2, 3])
            for wrong in ["x", "6", "-1", "MS4tMQ", "MQ", String(repeating: "A", count: 2_000)] {
                #expect(try await receiver.call(.get, "/v1/events?after=\(wrong)").0 == 400, "\(wrong)")
            }
        }
    }

    @Test("Successful deliveries are deleted after thirty days, events are kept, and no number is used twice")
    func pruned() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            try await receiver.happen("u1", "u2")
            try await receiver.pass()
            receiver.time.advance(seconds: 30 * 86_400 + 1)
            try await receiver.pass()
            #expect(try await receiver.deliveries() == [])
            #expect(try await receiver.call(.get, Paths.events).1["data"]?.array?.count == 2)
            try await receiver.happen("u2")
            _ = receiver.received()
            try await receiver.pass()
            let next = try #require(receiver.received().first)
            #expect(next.name == "u2#2" && next.event["sequence"] == 3)
            for sql in ["DELETE FROM outbox", "UPDATE outbox SET at = 0"] as [SQL] {
                await #expect(throws: DatabaseError.self) {
                    try await receiver.ledger.write { try $0.execute(sql, []) }
                }
            }
        }
    }
}
