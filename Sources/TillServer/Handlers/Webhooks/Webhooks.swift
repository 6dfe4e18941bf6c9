import TillAPI
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillSQL

extension Server {
    /// `GET /v1/webhooks`: the configured endpoints and their delivery status.
    func listWebhooks(_ call: Call) async throws -> HTTPResponse {
        let (endpoints, now) = (configuration.webhooks.endpoints, clock())
        let replies = try await database.read { connection in
            try endpoints.map { try WebhookEndpointReply($0, at: now, connection) }
        }
        return JSONText.response(200, Page(data: replies, hasMore: false, nextCursor: nil))
    }

    /// `GET /v1/webhooks/{id}/deliveries?state=&limit=&cursor=`: newest events first.
    func listWebhookDeliveries(_ call: Call) async throws -> HTTPResponse {
        let endpoint = try endpoint(in: call)
        let page = try await page(call)
        let asked = call.request.queryValue("state")
        let state = asked.flatMap(WebhookDeliveryReply.State.init(rawValue:))
        guard asked == nil || state != nil else {
            throw RefusalError(
                .invalidField, "state: waiting, delivered or dead", zh: "state：应为 waiting、delivered 或 dead")
        }
        let found = try await database.read { connection -> [WebhookDeliveryReply] in
            guard let stored = try WebhookEndpointTable(connection).find(endpoint.id) else { return [] }
            let outbox = OutboxTable(connection)
            return try WebhookDeliveryTable(connection)
                .list(stored.rowID, state: state.map { .init($0) }, before: page.before, limit: page.rows)
                .compactMap { delivery in
                    try outbox.find(delivery.event).map { WebhookDeliveryReply(delivery, of: $0) }
                }
        }
        return page.response(found, at: \.sequence) { $0 }
    }

    /// `POST /v1/webhooks/{id}/deliveries/{sequence}/replay`: sends one event again, whatever the state of its
    /// delivery.
    func replayWebhookDelivery(_ call: Call) async throws -> HTTPResponse {
        let (endpoint, now) = (try endpoint(in: call), clock())
        guard let rowID = Int64(call.parameters["sequence"]) else { throw RefusalError(.unknownEvent) }
        let reply = try await database.write(locking: [.endpoint(endpoint.id)]) { connection in
            guard let event = try OutboxTable(connection).find(rowID) else { throw RefusalError(.unknownEvent) }
            let stored = try Self.known(endpoint, connection)
            guard rowID <= stored.position else {
                throw RefusalError(
                    .invalidField, "sequence: the endpoint has not reached this event yet", zh: "sequence：此端点尚未到达该事件")
            }
            let table = WebhookDeliveryTable(connection)
            try table.replay(event, to: stored.rowID, at: now)
            guard let delivery = try table.find(rowID, at: stored.rowID) else { throw RefusalError(.unknownEvent) }
            return WebhookDeliveryReply(delivery, of: event)
        }
        return JSONText.response(200, reply)
    }

    /// `POST /v1/webhooks/replays`: requests that the events of a span of time are sent again. The job queues them.
    func replayWebhooks(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(WebhookReplayBody.self)
        guard body.from < body.to else {
            throw RefusalError(.invalidField, "to: must be after from", zh: "to：必须晚于 from")
        }
        var endpoints = configuration.webhooks.endpoints
        if let id = body.endpoint {
            guard let one = configuration.webhooks.endpoint(id) else { throw RefusalError(.unknownEndpoint) }
            endpoints = [one]
        }
        let (chosen, now) = (endpoints, clock())
        let replies = try await database.write(locking: chosen.map { .endpoint($0.id) }) { connection in
            let table = WebhookReplayTable(connection)
            return try chosen.compactMap { endpoint -> WebhookReplayReply? in
                // Events after the endpoint's position are delivered normally, so the replay leaves them out.
                let stored = try Self.known(endpoint, connection)
                let rowID = try table.insert(
                    stored.rowID, from: body.from, to: body.to, lastRowID: stored.position, at: now)
                return try table.find(rowID).map { WebhookReplayReply($0, to: endpoint.id) }
            }
        }
        return JSONText.response(201, Page(data: replies, hasMore: false, nextCursor: nil))
    }

    /// `GET /v1/webhooks/replays?limit=&cursor=`: newest first.
    func listWebhookReplays(_ call: Call) async throws -> HTTPResponse {
        let page = try await page(call)
        let found = try await database.read { connection in
            try WebhookReplayTable(connection).list(before: page.before, limit: page.rows)
        }
        return page.response(found, at: \.replay.rowID) { WebhookReplayReply($0.replay, to: $0.endpoint) }
    }

    /// `POST /v1/webhooks/{id}/test`: sends a test event once and returns the result. The event is not part of the
    /// outbox.
    func testWebhook(_ call: Call) async throws -> HTTPResponse {
        let endpoint = try endpoint(in: call)
        guard let send = webhookSend else { throw RefusalError(.unavailable) }
        let id = "evt_test_\(UniqueID(random: entropy(16)))"
        let event: JSONValue = [
            "id": .string(id), "type": .string(EventType.test), "timestamp": .string(clock().rfc3339),
            "data": ["endpoint": .string(endpoint.id)],
        ]
        let attempt = await WebhookAttempt.make(
            id, event.encodedBytes(), to: endpoint, over: send, signedAt: machineClock(), clock: clock)
        guard let attempt else { throw RefusalError(.unavailable) }
        var error: String?
        if case .failed(let why) = attempt.outcome { error = why }
        return JSONText.response(
            200, WebhookTestReply(eventId: id, delivered: attempt.isDelivered, status: attempt.status, error: error))
    }

    /// `POST /v1/webhooks/{id}/resumption`: resumes delivery to an endpoint that answered 410 or is paused.
    func resumeWebhook(_ call: Call) async throws -> HTTPResponse {
        let (endpoint, now) = (try endpoint(in: call), clock())
        let reply = try await database.write(locking: [.endpoint(endpoint.id)]) { connection in
            try WebhookEndpointTable(connection).resume(Self.known(endpoint, connection).rowID)
            return try WebhookEndpointReply(endpoint, at: now, connection)
        }
        return JSONText.response(200, reply)
    }

    private func endpoint(in call: Call) throws -> WebhookEndpoint {
        guard let endpoint = configuration.webhooks.endpoint(call.parameters["id"]) else {
            throw RefusalError(.unknownEndpoint)
        }
        return endpoint
    }

    /// - Throws: `unavailable` until the job has registered a new endpoint.
    private static func known(
        _ endpoint: WebhookEndpoint, _ connection: any Connection
    ) throws -> WebhookEndpointTable.Stored {
        guard let stored = try WebhookEndpointTable(connection).find(endpoint.id) else {
            throw RefusalError(.unavailable)
        }
        return stored
    }
}

extension WebhookEndpointReply {
    fileprivate init(_ endpoint: WebhookEndpoint, at now: Instant, _ connection: any Connection) throws {
        let stored = try WebhookEndpointTable(connection).find(endpoint.id)
        self.init(
            id: endpoint.id, url: endpoint.url.description, state: Self.state(endpoint, stored, now),
            types: endpoint.types?.sorted())
        guard let stored else { return }
        let counts = try WebhookDeliveryTable(connection).counts(stored.rowID)
        position = stored.position
        behind = try OutboxTable(connection).lastPosition() - stored.position
        waiting = counts.waiting
        dead = counts.dead
        lastSuccessAt = stored.succeededAt
        lastFailureAt = stored.failedAt
        lastError = stored.error
        restsUntil = stored.restsUntil.flatMap { $0 > now ? $0 : nil }
        goneAt = stored.goneAt
    }

    private static func state(
        _ endpoint: WebhookEndpoint, _ stored: WebhookEndpointTable.Stored?, _ now: Instant
    ) -> State {
        if endpoint.isDisabled { return .disabled }
        guard let stored else { return .new }
        if stored.goneAt != nil { return .gone }
        if let rest = stored.restsUntil, rest > now { return .resting }
        return stored.isSilent ? .silent : .active
    }
}

extension WebhookDeliveryTable.State {
    fileprivate init(_ state: WebhookDeliveryReply.State) {
        switch state {
        case .waiting: self = .waiting
        case .delivered: self = .delivered
        case .dead: self = .dead
        }
    }

    fileprivate var reply: WebhookDeliveryReply.State {
        switch self {
        case .waiting: .waiting
        case .delivered: .delivered
        case .dead: .dead
        }
    }
}

extension WebhookDeliveryReply {
    fileprivate init(_ stored: WebhookDeliveryTable.Stored, of event: OutboxTable.Event) {
        self.init(
            eventId: EventView.id(of: event), sequence: event.position, type: event.type, userId: event.user?.text,
            state: stored.state.reply, isReplay: stored.queue == .replay, attempts: stored.attempts)
        nextAttemptAt = stored.dueAt
        lastAttemptAt = stored.attemptedAt
        lastStatus = stored.status
        lastError = stored.error
        endedAt = stored.endedAt
    }
}

extension WebhookReplayReply {
    fileprivate init(_ stored: WebhookReplayTable.Stored, to endpoint: String) {
        self.init(
            id: String(stored.rowID), endpointId: endpoint, from: stored.from, to: stored.to, count: stored.count,
            createdAt: stored.createdAt, endedAt: stored.endedAt)
    }
}
