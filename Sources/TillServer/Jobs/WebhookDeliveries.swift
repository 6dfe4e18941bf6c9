import TillAppStore
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

/// Pushes the outbox to the configured endpoints: each event at least once, and the events of one user in order.
///
/// A delivery is recorded after it is sent. If the process stops in between, the event is sent again under the same
/// `webhook-id`, by which the receiver detects the repetition.
public struct WebhookDeliveries: Sendable {
    private let server: Server
    /// The start position for a new endpoint that configures none.
    private let startedAt: Instant

    /// Events queued in one commit.
    static let batch = 200
    /// Events sent to one endpoint at the same time, each from a different queue.
    public static let width = 16
    /// Milliseconds after which a pass starts nothing new, so that a slow endpoint does not delay the others for long.
    static let passLength: Int64 = 5_000
    static let maximumRounds = 200
    /// Milliseconds for which successful deliveries are kept: thirty days.
    static let memory: Int64 = 30 * 86_400_000

    /// Create this before the server answers its first request: a new endpoint gets the events from then on.
    ///
    /// - Parameter startedAt: when the server learnt of its endpoints; now, if nil.
    public init(_ server: Server, startedAt: Instant? = nil) {
        self.server = server
        self.startedAt = startedAt ?? server.clock()
    }

    /// Runs one pass over everything that is due and returns the number of attempts. A failing endpoint does not delay
    /// the others.
    @discardableResult
    public func deliverAll() async throws -> Int {
        let deadline = server.machineClock().adding(milliseconds: Self.passLength)
        let idle = try await look()
        if idle.hasUnplaced { while try await server.ledger.placeEvents(), server.machineClock() <= deadline {} }
        guard let send = server.webhookSend else { return 0 }
        if !idle.isRegistered { try await register() }
        let endpoints = server.configuration.webhooks.endpoints.filter { !$0.isDisabled }
        let attempts = try await withThrowingTaskGroup(of: Int.self) { group in
            for endpoint in endpoints {
                group.addTask { try await deliver(to: endpoint, over: send, until: deadline) }
            }
            var attempts = 0
            for try await count in group { attempts += count }
            return attempts
        }
        if idle.hasSomethingToPrune { try await prune() }
        return attempts
    }

    /// What a pass may have to do besides sending; most passes find nothing.
    private struct Look: Sendable {
        let hasUnplaced: Bool
        /// Whether the ledger knows every endpoint with its address.
        let isRegistered: Bool
        let hasSomethingToPrune: Bool
    }

    private func look() async throws -> Look {
        let endpoints = server.configuration.webhooks.endpoints.map { (id: $0.id, url: $0.url.description) }
        let then = oldest
        return try await server.database.read { connection in
            let table = WebhookEndpointTable(connection)
            return Look(
                hasUnplaced: try OutboxTable(connection).hasUnplaced(),
                isRegistered: try endpoints.allSatisfy { try table.find($0.id)?.url == $0.url },
                hasSomethingToPrune: try WebhookDeliveryTable(connection).hasSomethingToPrune(before: then))
        }
    }

    /// Successful deliveries from before are not kept.
    private var oldest: Instant { server.clock().adding(milliseconds: -Self.memory) }

    // MARK: One endpoint

    /// Records the endpoints that the ledger does not know yet, each with its first event.
    ///
    /// - Parameter moves: whether a known endpoint gets the address of this configuration. Of several servers only the
    ///   one that sends decides that.
    func register(moves: Bool = true) async throws {
        guard server.webhookSend != nil else { return }
        for endpoint in server.configuration.webhooks.endpoints { try await register(endpoint, moves: moves) }
    }

    private func register(_ endpoint: WebhookEndpoint, moves: Bool) async throws {
        let (id, url, now) = (endpoint.id, endpoint.url.description, server.clock())
        let start = endpoint.start ?? startedAt
        let known = try await server.database.read { try WebhookEndpointTable($0).find(id) }
        guard let known else {
            // Read outside the writer, because it may scan all events.
            let position = try await server.database.read { try OutboxTable($0).position(before: start) }
            try await server.database.write(locking: [.endpoint(endpoint.id)]) { connection in
                let table = WebhookEndpointTable(connection)
                if try table.find(id) == nil { try table.insert(id, url: url, position: position, at: now) }
            }
            return
        }
        guard moves, known.url != url else { return }
        try await server.database.write(locking: [.endpoint(endpoint.id)]) {
            try WebhookEndpointTable($0).move(known.rowID, to: url)
        }
    }

    private func deliver(
        to endpoint: WebhookEndpoint, over send: @escaping HTTPSend, until deadline: Instant
    ) async throws -> Int {
        var attempts = 0
        for _ in 0..<Self.maximumRounds {
            let now = server.clock()
            guard server.machineClock() <= deadline, !Task.isCancelled, let due = try await due(for: endpoint) else {
                break
            }
            let hasMore = try await enqueue(due.events, endpoint, due.state)
            let hasMoreToReplay = try await enqueue(due.replay, endpoint, due.state)
            let isBehind = hasMore || hasMoreToReplay
            if let rest = due.state.restsUntil, rest > now {
                if isBehind { continue } else { break }
            }
            let sent = try await sendRound(to: endpoint, due, over: send)
            attempts += sent.count
            let wasSilent = !sent.isEmpty && sent.allSatisfy { $0.isNoResponse }
            // An endpoint that does not respond is tried again in the next pass.
            if wasSilent || sent.isEmpty && !isBehind { break }
        }
        return attempts
    }

    /// What is due for an endpoint, in one read: most of them find nothing.
    private struct Due: Sendable {
        let state: WebhookEndpointTable.Stored
        /// The next new events that are not queued.
        let events: [OutboxTable.Event]
        /// The next events of the oldest open replay.
        let replay: EventRange?
        /// What can be sent now, if nothing has to be queued first.
        let messages: [Message]?
    }

    /// Nil for an endpoint that the ledger does not know, or that is gone.
    private func due(for endpoint: WebhookEndpoint) async throws -> Due? {
        let now = server.clock()
        return try await server.database.read { connection in
            guard let state = try WebhookEndpointTable(connection).find(endpoint.id), state.goneAt == nil else {
                return nil
            }
            let events = try OutboxTable(connection).list(after: state.position, limit: Self.batch)
            let replays = WebhookReplayTable(connection)
            let replay = try replays.open(state.rowID).map { replay in
                let (events, position) = try replays.next(replay, limit: Self.batch)
                return EventRange(replay: replay, events: events, position: position)
            }
            let isReady = events.isEmpty && replay == nil && state.restsUntil.map { $0 <= now } ?? true
            return Due(
                state: state, events: events, replay: replay,
                messages: isReady ? try Self.messages(for: state, at: now, connection) : nil)
        }
    }

    /// Queues new events; returns whether there may be more.
    private func enqueue(
        _ events: [OutboxTable.Event], _ endpoint: WebhookEndpoint, _ state: WebhookEndpointTable.Stored
    ) async throws -> Bool {
        guard let last = events.last else { return false }
        let (wanted, now) = (events.filter { endpoint.wants($0.type) }, server.clock())
        try await server.database.write(locking: [.endpoint(endpoint.id)]) { connection in
            let table = WebhookDeliveryTable(connection)
            for event in wanted { try table.insert(event, for: state.rowID, queue: .live, at: now) }
            try WebhookEndpointTable(connection).advance(state.rowID, to: last.position)
        }
        return events.count == Self.batch
    }

    /// Continues the oldest open replay; returns whether more of it may be left.
    private func enqueue(
        _ next: EventRange?, _ endpoint: WebhookEndpoint, _ state: WebhookEndpointTable.Stored
    ) async throws -> Bool {
        guard let next else { return false }
        let now = server.clock()
        try await server.database.write(locking: [.endpoint(endpoint.id)]) { connection in
            let (outbox, deliveries) = (OutboxTable(connection), WebhookDeliveryTable(connection))
            var count: Int64 = 0
            for rowID in next.events {
                guard let event = try outbox.find(rowID), endpoint.wants(event.type) else { continue }
                try deliveries.replay(event, to: state.rowID, at: now)
                count += 1
            }
            try WebhookReplayTable(connection).advance(next.replay, to: next.position, adding: count, at: now)
        }
        return true
    }

    private struct EventRange: Sendable {
        let replay: WebhookReplayTable.Stored
        let events: [Int64]
        let position: Int64
    }

    // MARK: One round

    private struct Message: Sendable {
        let delivery: WebhookDeliveryTable.Stored
        let id: String
        let body: [UInt8]
    }

    /// Sends the first due event of each queue and records the results.
    private func sendRound(
        to endpoint: WebhookEndpoint, _ due: Due, over send: @escaping HTTPSend
    ) async throws -> [WebhookAttempt] {
        let (state, now) = (due.state, server.clock())
        let messages =
            if let messages = due.messages { messages } else {
                try await server.database.read { try Self.messages(for: state, at: now, $0) }
            }
        guard !messages.isEmpty else { return [] }
        let (clock, signedAt) = (server.clock, server.machineClock())
        let made = await withTaskGroup(of: (Int, WebhookAttempt?).self) { group in
            for (index, message) in messages.enumerated() {
                group.addTask {
                    let attempt = await WebhookAttempt.make(
                        message.id, message.body, to: endpoint, over: send, signedAt: signedAt, clock: clock)
                    return (index, attempt)
                }
            }
            var made: [Int: WebhookAttempt] = [:]
            for await (index, attempt) in group { made[index] = attempt }
            return made
        }
        let results = messages.indices.compactMap { index in made[index].map { (messages[index].delivery, $0) } }
        if !results.isEmpty { try await record(results, at: state.rowID, of: endpoint.id) }
        return results.map(\.1)
    }

    /// The first due event of each queue.
    private static func messages(
        for state: WebhookEndpointTable.Stored, at now: Instant, _ connection: any Connection
    ) throws -> [Message] {
        let deliveries = try WebhookDeliveryTable(connection).due(
            state.rowID, at: now, limit: state.isSilent ? 1 : width)
        guard !deliveries.isEmpty else { return [] }
        let (outbox, view) = (OutboxTable(connection), try EventView(connection))
        return try deliveries.compactMap { delivery in
            guard let event = try outbox.find(delivery.event) else { return nil }
            return Message(
                delivery: delivery, id: EventView.id(of: event), body: try view.json(event).encodedBytes())
        }
    }

    private func record(
        _ results: [(delivery: WebhookDeliveryTable.Stored, attempt: WebhookAttempt)], at endpoint: Int64, of id: String
    ) async throws {
        let now = server.clock()
        try await server.database.write(locking: [.endpoint(id)]) { connection in
            for (delivery, attempt) in results {
                try Self.record(attempt, of: delivery, at: now, connection)
            }
            let requestedTimes = results.map(\.attempt).filter(\.asksForRest).compactMap(\.requestedRetryAt)
            let longest = now.adding(milliseconds: WebhookSchedule.longestRest)
            try WebhookEndpointTable(connection).update(
                endpoint, isSilent: results.allSatisfy(\.attempt.isNoResponse),
                restsUntil: requestedTimes.max().map { min($0, longest) })
        }
        for (delivery, attempt) in results { writeLog(attempt, of: delivery, to: id, at: now) }
    }

    private func writeLog(
        _ attempt: WebhookAttempt, of delivery: WebhookDeliveryTable.Stored, to endpoint: String, at now: Instant
    ) {
        guard let cause = attempt.logCause else { return }
        let due = Self.retry(attempt, of: delivery, at: now)
        server.log.write(
            due == nil ? .webhookDead : .webhookFailed,
            [
                "endpoint": .text(endpoint), "event": .integer(delivery.event), "status": .integer(attempt.status),
                "attempts": .integer(delivery.attempts + 1), "cause": .text(cause),
                "nextAt": .text(due?.rfc3339),
            ])
    }

    /// When the event is sent again; nil if this was the last attempt.
    private static func retry(
        _ attempt: WebhookAttempt, of delivery: WebhookDeliveryTable.Stored, at now: Instant
    ) -> Instant? {
        let due = WebhookSchedule.next(
            after: delivery.attempts + 1, event: delivery.event, at: now, requestedRetryAt: attempt.requestedRetryAt)
        // Events that a 410 refused wait until the endpoint is resumed.
        return due ?? (attempt.isGone ? now : nil)
    }

    private static func record(
        _ attempt: WebhookAttempt, of delivery: WebhookDeliveryTable.Stored, at now: Instant,
        _ connection: any Connection
    ) throws {
        let (deliveries, endpoints) = (WebhookDeliveryTable(connection), WebhookEndpointTable(connection))
        switch attempt.outcome {
        case .delivered:
            try deliveries.end(delivery, .delivered, status: attempt.status, error: nil, at: now)
            try endpoints.markSucceeded(delivery.endpoint, at: now)
        case .failed(let error):
            try endpoints.markFailed(delivery.endpoint, error: error, isGone: attempt.isGone, at: now)
            if let due = retry(attempt, of: delivery, at: now) {
                try deliveries.postpone(delivery, until: due, status: attempt.status, error: error, at: now)
            } else {
                try deliveries.end(delivery, .dead, status: attempt.status, error: error, at: now)
            }
        }
    }

    // MARK: Pruning

    private func prune() async throws {
        let then = oldest
        try await server.database.write(locking: [.ledger("deliveries")]) { connection in
            _ = try WebhookDeliveryTable(connection).prune(before: then, limit: Self.batch)
        }
    }
}
