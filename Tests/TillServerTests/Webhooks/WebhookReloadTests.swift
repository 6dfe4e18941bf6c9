import Testing
import TillBilling
import TillHTTP

@testable import TillServer

/// Endpoints change while the server runs (issue 20).
@Suite("Endpoints that change without a restart") struct WebhookReloadTests {
    /// Runs one pass as the server's jobs do, and returns the events by endpoint: `a:u1#1`.
    private func pass(_ server: Server, _ receiver: WebhookReceiver) async throws -> [String] {
        _ = receiver.received()
        try await WebhookDeliveries(server, startedAt: server.changedAt).deliverAll()
        return receiver.received().map { attempt in
            let host = attempt.url.dropFirst("https://".count).prefix { $0 != "." }
            return "\(host):\(attempt.name)"
        }.sorted()
    }

    private func changed(_ server: Server, _ endpoints: [WebhookEndpoint]) async throws -> Server {
        var configuration = server.configuration
        configuration.webhooks.endpoints = endpoints
        return try await server.changed(to: configuration)
    }

    @Test("An endpoint added by a reload begins there; the others continue where they are, and nothing is sent twice")
    func added() async throws {
        let (a, b) = (try WebhookReceiver.endpoint("a"), try WebhookReceiver.endpoint("b"))
        try await WebhookReceiver.open([a]) { receiver in
            #expect(try await pass(receiver.server, receiver) == [])
            try await receiver.happen("u1")
            receiver.time.advance(seconds: 1)
            let server = try await changed(receiver.server, [a, b])
            receiver.time.advance(seconds: 1)
            try await receiver.happen("u1")
            // `a` answers slower than `b`: the queue of a user sends one event after the other.
            var all: [String] = []
            for _ in 0..<3 { all += try await pass(server, receiver) }
            #expect(all.sorted() == ["a:u1#1", "a:u1#2", "b:u1#2"])
        }
    }

    @Test("An endpoint that no pass has seen before a reload still gets the events since the server's start")
    func unseen() async throws {
        let a = try WebhookReceiver.endpoint("a")
        try await WebhookReceiver.open([a]) { receiver in
            try await receiver.happen("u1")
            receiver.time.advance(seconds: 10)
            let server = try await changed(receiver.server, [a])
            #expect(try await pass(server, receiver) == ["a:u1#1"])
        }
    }

    @Test("A removed endpoint gets nothing; added again, it continues where it was")
    func removed() async throws {
        let a = try WebhookReceiver.endpoint("a")
        try await WebhookReceiver.open([a]) { receiver in
            try await receiver.happen("u1")
            #expect(try await pass(receiver.server, receiver) == ["a:u1#1"])
            let without = try await changed(receiver.server, [])
            try await receiver.happen("u1")
            #expect(try await pass(without, receiver) == [])
            receiver.time.advance(seconds: 5)
            let again = try await changed(without, [a])
            #expect(try await pass(again, receiver) == ["a:u1#2"])
        }
    }

    @Test("A changed secret signs from the next pass on, and the event that failed before is sent under its old id")
    func secret() async throws {
        let old = try WebhookReceiver.endpoint("a")
        let new = try WebhookReceiver.endpoint("a", secrets: [WebhookReceiver.olderSecret])
        try await WebhookReceiver.open([old]) { receiver in
            receiver.answer(500)
            try await receiver.happen("u1")
            try await WebhookDeliveries(receiver.server).deliverAll()
            let first = try #require(receiver.received().first)
            receiver.answer(204)
            let server = try await changed(receiver.server, [new])
            receiver.time.advance(seconds: 600)
            try await WebhookDeliveries(server, startedAt: server.changedAt).deliverAll()
            let second = try #require(receiver.received().first)
            #expect(second.id == first.id)
            #expect(second.request.headers["webhook-signature"] != first.request.headers["webhook-signature"])
            try await WebhookDeliveries(server, startedAt: server.changedAt).deliverAll()
            #expect(receiver.received().isEmpty)
        }
    }
}
