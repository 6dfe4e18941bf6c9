import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillSQL
import TillThreads

@testable import TillServer

@Suite("Webhook deliveries") struct WebhookDeliveryTests {
    @Test("A pass gives all events their positions, however many came in a second")
    func backlog() async throws {
        try await WebhookReceiver.open([]) { receiver in
            for _ in 0..<Ledger.placedTogether / 4 + 1 { try await receiver.happen("u1", "u2", nil, "u3") }
            try await WebhookDeliveries(receiver.server).deliverAll()
            let waits = try await receiver.ledger.read { try OutboxTable($0).hasUnplaced() }
            #expect(!waits)
        }
    }

    @Test("Every event is pushed once, in order, with everything that a receiver needs to verify it")
    func pushed() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            try await receiver.happen("u1", "u2", nil, "u1")
            #expect(try await receiver.pass() == 4)
            let got = receiver.received()
            #expect(got.map(\.name).sorted() == ["nobody#3", "u1#1", "u1#2", "u2#1"])
            #expect(got.last?.name == "u1#2", "only after the first of the same user")
            let first = try #require(got.first { $0.name == "u1#1" })
            #expect(first.url == "https://backend.example/hook")
            #expect(first.request.method == .post && first.request.headers["Content-Type"] == "application/json")
            #expect(first.id == first.event["id"]?.string && first.id.wholeMatch(of: /evt_[0-9a-f]{32}/) != nil)
            #expect(first.event["type"] == "subscription.updated" && first.event["sequence"] == 1)
            #expect(first.event["timestamp"] == .string(first.at.rfc3339) && first.event["environment"] == "Sandbox")
            #expect(first.event["data"]?.object?.isEmpty == true)
            let signed = Array("\(first.id).\(first.at.seconds).".utf8) + first.request.body
            let secret = try #require(WebhookSecret(WebhookReceiver.secret))
            let code = Base64.encode(HMACSHA256.code(for: signed, key: secret.bytes))
            #expect(first.request.headers["webhook-signature"] == "v1,\(code)")
            #expect(first.request.headers["webhook-timestamp"] == String(first.at.seconds))
            #expect(try await receiver.passed() == "")
            let state = try await receiver.state()
            #expect(state["state"] == "active" && state["position"] == 4 && state["waiting"] == 0)
            #expect(state["lastSuccessAt"] == .string(receiver.time.now.rfc3339))
        }
    }

    @Test("A failing event delays only its own user's events, and is sent again on schedule")
    func order() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            receiver.answer { attempt async throws(HTTPError) in
                HTTPResponse(status: attempt.name == "u1#1" ? 500 : 200, body: Array("no\nroom".utf8))
            }
            try await receiver.happen("u1", "u1", "u2", "u2", nil)
            #expect(try await receiver.passed().split(separator: " ").sorted() == ["nobody#5", "u1#1", "u2#1", "u2#2"])
            #expect(try await receiver.state()["lastError"] == "answered 500: no room")
            // New events behind it are held back, while other users' events go out.
            try await receiver.happen("u1", "u3")
            var attempts: [Int64] = []
            let start = receiver.time.now
            for pause in WebhookSchedule.pauses.prefix(5) {
                receiver.time.advance(seconds: pause - 1)
                #expect(!(try await receiver.passed().contains("u1")))
                receiver.time.advance(seconds: 2 + pause / 10)
                try await receiver.pass()
                for attempt in receiver.received() where attempt.name.hasPrefix("u1") {
                    #expect(attempt.name == "u1#1")
                    attempts.append(attempt.at.seconds - start.seconds)
                }
            }
            #expect(attempts.count == 5 && attempts[4] > 7 * 3_600)
            receiver.answer(200)
            receiver.time.advance(seconds: 12 * 3_600)
            #expect(try await receiver.passed() == "u1#1 u1#2 u1#3")
            #expect(try await receiver.deliveries("?state=waiting") == [])
        }
    }

    @Test("Dead after ten attempts and three days: kept, listed, its user's next event goes out, and it is replayed")
    func deadLetter() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            receiver.answer { attempt async throws(HTTPError) in
                HTTPResponse(status: attempt.name == "u1#1" ? 400 : 200)
            }
            try await receiver.happen("u1", "u1")
            let start = receiver.time.now
            var ids: Set<String> = []
            var attempts = 0
            while try await receiver.deliveries("?state=dead").isEmpty, attempts < 20 {
                try await receiver.pass()
                let got = receiver.received()
                ids.formUnion(got.filter { $0.name == "u1#1" }.map(\.id))
                attempts += got.filter { $0.name == "u1#1" }.count
                receiver.time.advance(seconds: 1_800)
            }
            #expect(attempts == 10 && ids.count == 1, "always under one id")
            #expect(receiver.time.now.seconds - start.seconds > 3 * 86_400)
            #expect(try await receiver.deliveries() == ["2 delivered 1", "1 dead 10"])
            #expect(try await receiver.state()["dead"] == 1)

            receiver.answer(200)
            let (status, reply) = try await receiver.call(.post, "/v1/webhooks/backend/deliveries/1/replay")
            #expect(status == 200 && reply["state"] == "waiting" && reply["attempts"] == 0)
            #expect(try await receiver.passed() == "u1#1")
            #expect(try await receiver.deliveries() == ["2 delivered 1", "1 delivered 1"])
            #expect(try await receiver.call(.post, "/v1/webhooks/backend/deliveries/9/replay").0 == 404)
            #expect(try await receiver.call(.post, "/v1/webhooks/other/deliveries/1/replay").0 == 404)
        }
    }

    @Test("Killed between sending and recording, the server sends the event again, once, under the same id")
    func crash() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            try await receiver.happen("u1", "u1", "u2")
            let ledger = receiver.faulty
            receiver.answer { attempt async throws(HTTPError) in
                // The receiver gets the event, and then the process dies.
                if attempt.name != "u1#2" { ledger.breakDown() }
                return HTTPResponse(status: 200)
            }
            await #expect(throws: DatabaseError.self) { try await receiver.pass() }
            let before = receiver.received()
            #expect(before.map(\.name).sorted() == ["u1#1", "u2#1"])
            ledger.breakDown(false)
            receiver.restart()
            receiver.answer(200)
            receiver.time.advance(seconds: 60)
            try await receiver.pass()
            let after = receiver.received()
            #expect(after.map(\.name).sorted() == ["u1#1", "u1#2", "u2#1"])
            for attempt in before {
                let again = try #require(after.first { $0.name == attempt.name })
                #expect(again.id == attempt.id && again.request.body == attempt.request.body)
                #expect(again.request.headers["webhook-timestamp"] != attempt.request.headers["webhook-timestamp"])
            }
            #expect(try await receiver.passed() == "")
        }
    }

    @Test("Stopped while sending, the server counts no attempt: the receiver may not have got the event")
    func stopped() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            try await receiver.happen("u1")
            receiver.answer { _ async throws(HTTPError) in throw HTTPError(.stopped, "the process ends") }
            #expect(try await receiver.pass() == 0)
            #expect(try await receiver.deliveries() == ["1 waiting 0"])
            receiver.answer(200)
            #expect(try await receiver.passed() == "u1#1")
            #expect(try await receiver.deliveries() == ["1 delivered 1"])
        }
    }

    @Test("While the receiver is unreachable, each pass tries one event; all go out once it is reachable again")
    func silence() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            receiver.answer { _ async throws(HTTPError) in throw HTTPError(.cannotConnect, "refused") }
            try await receiver.happen("u1", "u2", "u3", "u4", "u5")
            #expect(try await receiver.pass() == 5)
            #expect(try await receiver.state()["state"] == "silent")
            #expect(try await receiver.state()["lastError"] == "cannotConnect: refused")
            receiver.time.advance(seconds: 6)
            #expect(try await receiver.pass() == 1)
            #expect(try await receiver.pass() == 1)
            _ = receiver.received()
            receiver.answer(200)
            #expect(try await receiver.pass() == 3)
            receiver.time.advance(seconds: 400)
            #expect(try await receiver.pass() == 2)
            #expect(receiver.received().count == 5)
            #expect(try await receiver.state()["state"] == "active")
        }
    }

    @Test("429 and 503 pause all deliveries for the time they ask for; a redirect is a failure like any other")
    func rest() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            receiver.answer { _ async throws(HTTPError) in
                HTTPResponse(status: 429, headers: HTTPHeaders([("Retry-After", "120")]))
            }
            try await receiver.happen("u1")
            #expect(try await receiver.pass() == 1)
            #expect(try await receiver.state()["state"] == "resting")
            receiver.answer { _ async throws(HTTPError) in
                HTTPResponse(status: 302, headers: HTTPHeaders([("Location", "https://elsewhere.example/")]))
            }
            try await receiver.happen("u2")
            receiver.time.advance(seconds: 119)
            #expect(try await receiver.pass() == 0)
            #expect(try await receiver.state()["waiting"] == 2)
            receiver.time.advance(seconds: 1)
            #expect(try await receiver.passed().split(separator: " ").sorted() == ["u1#1", "u2#1"])
            #expect(try await receiver.state()["lastError"] == "redirected, which is not followed 302")
            // Asking for a pause of a year pauses the endpoint for an hour, and the event for a day.
            receiver.answer { _ async throws(HTTPError) in
                HTTPResponse(status: 503, headers: HTTPHeaders([("Retry-After", "31536000")]))
            }
            receiver.time.advance(seconds: 400)
            #expect(try await receiver.pass() >= 1)
            let until = try #require(try await receiver.state()["restsUntil"]?.string)
            #expect(until == receiver.time.now.adding(seconds: 3_600).rfc3339)
        }
    }

    @Test("410: nothing more is sent, and the list says so; resumed, or at another address, delivery continues")
    func gone() async throws {
        try await WebhookReceiver.open { receiver in
            try await receiver.pass()
            receiver.answer(410)
            try await receiver.happen("u1")
            #expect(try await receiver.pass() == 1)
            try await receiver.happen("u1", "u2")
            receiver.time.advance(seconds: 10 * 86_400)
            #expect(try await receiver.pass() == 0)
            let state = try await receiver.state()
            #expect(state["state"] == "gone" && state["lastError"] == "answered 410" && state["goneAt"] != nil)
            #expect(try await receiver.call(.post, "/v1/webhooks/backend/resumption").1["state"] == "active")
            receiver.answer(200)
            #expect(try await receiver.passed().split(separator: " ").sorted() == ["u1#1", "u1#2", "u2#1"])

            receiver.answer(410)
            try await receiver.happen("u1")
            try await receiver.pass()
            receiver.time.advance(seconds: 10)
            let moved = try WebhookReceiver.endpoint("backend", host: "new")
            var configuration = receiver.server.configuration
            configuration.webhooks.endpoints = [moved]
            let got = Locked<[String]>([])
            let server = try Server(
                configuration: configuration, database: receiver.ledger, clock: { receiver.time.now },
                entropy: RandomBytes.make,
                webhookSend: { url, _ async throws(HTTPError) in
                    got.withLock { $0.append(url) }
                    return HTTPResponse(status: 200)
                })
            #expect(try await WebhookDeliveries(server).deliverAll() == 1)
            #expect(got.withLock { $0 } == ["https://new.example/hook"])
        }
    }
}
