import TillBilling
import TillSQL

/// `webhook_deliveries`: the state of each event's delivery to each endpoint.
///
/// The deliveries of one user in one lane of one endpoint form a queue. Only the first of a queue is due; the next one
/// becomes due when that one is delivered or given up. Events without a user are in no queue.
public struct WebhookDeliveryTable {
    private static let columns: Columns = """
        endpoint_row_id, event_position, queue, customer_id, state, attempts, due_at, attempted_at, status, error, \
        ended_at
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public enum State: Int64, Sendable, Hashable, CaseIterable {
        case waiting = 0
        case delivered = 1
        /// Given up after its last attempt; kept until it is replayed.
        case dead = 2
    }

    public enum Queue: Int64, Sendable, Hashable {
        case live = 0
        /// Events to be sent again on request; they do not delay live events.
        case replay = 1
    }

    public struct Stored: Sendable, Hashable {
        public let endpoint: Int64
        public let event: Int64
        public let queue: Queue
        public let user: UserID?
        public let state: State
        public let attempts: Int64
        /// Nil while another delivery of its queue comes first.
        public let dueAt: Instant?
        public let attemptedAt: Instant?
        /// The HTTP status of the endpoint's last response; nil if it did not respond.
        public let status: Int64?
        public let error: String?
        public let endedAt: Instant?
    }

    /// The number of deliveries in each state.
    public struct Counts: Sendable, Hashable {
        public let waiting: Int64
        public let dead: Int64
    }

    // MARK: Queues

    /// Adds an event at the end of its queue.
    ///
    /// - Returns: false if the endpoint has it already.
    @discardableResult
    public func insert(_ event: OutboxTable.Event, for endpoint: Int64, queue: Queue, at now: Instant) throws -> Bool {
        try connection.execute(
            """
            INSERT INTO webhook_deliveries (\(Self.columns)) VALUES (?1, ?2, ?3, \(customer: 4), 0, 0, CASE WHEN \
            EXISTS (SELECT 1 FROM webhook_deliveries WHERE endpoint_row_id = ?1 AND queue = ?3 AND customer_id = \
            \(customer: 4) AND state = 0) THEN NULL ELSE CAST(?5 AS BIGINT) END, NULL, NULL, NULL, NULL) ON CONFLICT \
            (endpoint_row_id, event_position) DO NOTHING
            """,
            [
                .integer(endpoint), .integer(event.position), .integer(queue.rawValue), .optional(event.user?.text),
                .instant(now),
            ]) > 0
    }

    /// The deliveries that are due, the longest overdue first. Events without a user, which any caller can cause in
    /// large numbers, get at most half of the places while users' events are due.
    public func due(_ endpoint: Int64, at now: Instant, limit: Int) throws -> [Stored] {
        let arguments: [SQLValue] = [.integer(endpoint), .instant(now), .integer(Int64(limit))]
        let users = try connection.query(
            """
            SELECT \(Self.columns, userOf: "webhook_deliveries") FROM webhook_deliveries WHERE endpoint_row_id = ?1 \
            AND due_at <= ?2 AND due_at IS NOT NULL AND customer_id IS NOT NULL ORDER BY due_at, event_position LIMIT \
            ?3
            """, arguments, Self.read)
        let others = try connection.query(
            """
            SELECT \(Self.columns, userOf: "webhook_deliveries") FROM webhook_deliveries WHERE endpoint_row_id = ?1 \
            AND due_at <= ?2 AND due_at IS NOT NULL AND customer_id IS NULL ORDER BY due_at, event_position LIMIT ?3
            """, arguments, Self.read)
        let places = min(others.count, max(limit / 2, limit - users.count))
        return (users.prefix(limit - places) + others.prefix(places)).sorted { left, right in
            (left.dueAt ?? now, left.event) < (right.dueAt ?? now, right.event)
        }
    }

    /// Ends a delivery and makes the next one of its queue due.
    public func end(
        _ delivery: Stored, _ state: State, status: Int?, error: String?, at now: Instant
    ) throws {
        try connection.write(
            """
            UPDATE webhook_deliveries SET state = ?1, attempts = attempts + 1, due_at = NULL, attempted_at = ?2, \
            status = ?3, error = ?4, ended_at = ?5 WHERE endpoint_row_id = ?6 AND event_position = ?7
            """,
            [
                .integer(state.rawValue), .instant(now), .optional(status.map { Int64($0) }), .optional(error),
                .instant(now), .integer(delivery.endpoint), .integer(delivery.event),
            ])
        guard let user = delivery.user else { return }
        try connection.write(
            """
            UPDATE webhook_deliveries SET due_at = coalesce(webhook_deliveries.due_at, ?1) \
            WHERE row_id = (SELECT row_id FROM webhook_deliveries WHERE endpoint_row_id = ?2 AND queue = ?3 \
            AND customer_id = \(customer: 4) AND state = 0 ORDER BY event_position LIMIT 1)
            """,
            [
                .instant(now), .integer(delivery.endpoint), .integer(delivery.queue.rawValue), .text(user.text),
            ])
    }

    /// Records a failed attempt; the next one follows at `due`.
    public func postpone(
        _ delivery: Stored, until due: Instant, status: Int?, error: String, at now: Instant
    ) throws {
        try connection.write(
            """
            UPDATE webhook_deliveries SET attempts = attempts + 1, due_at = ?1, attempted_at = ?2, status = ?3, error \
            = ?4 WHERE endpoint_row_id = ?5 AND event_position = ?6
            """,
            [
                .instant(due), .instant(now), .optional(status.map { Int64($0) }), .text(error),
                .integer(delivery.endpoint), .integer(delivery.event),
            ])
    }

    /// Sends an event again: a delivery that waits for its next attempt becomes due now, one behind another stays
    /// there, and one that has ended starts again in the replay lane.
    ///
    /// - Returns: false if nothing changed, because the event is already in a queue.
    @discardableResult
    public func replay(_ event: OutboxTable.Event, to endpoint: Int64, at now: Instant) throws -> Bool {
        guard let known = try find(event.position, at: endpoint) else {
            return try insert(event, for: endpoint, queue: .replay, at: now)
        }
        if known.state == .waiting {
            return try connection.execute(
                """
                UPDATE webhook_deliveries SET due_at = ?1 WHERE endpoint_row_id = ?2 AND event_position = ?3 \
                AND due_at > ?1
                """, [.instant(now), .integer(endpoint), .integer(event.position)]) > 0
        }
        try connection.write(
            "DELETE FROM webhook_deliveries WHERE endpoint_row_id = ?1 AND event_position = ?2",
            [.integer(endpoint), .integer(event.position)])
        return try insert(event, for: endpoint, queue: .replay, at: now)
    }

    // MARK: Reading

    public func find(_ event: Int64, at endpoint: Int64) throws -> Stored? {
        try connection.first(
            """
            SELECT \(Self.columns, userOf: "webhook_deliveries") FROM webhook_deliveries WHERE endpoint_row_id = ?1 \
            AND event_position = ?2
            """, [.integer(endpoint), .integer(event)], Self.read)
    }

    /// Newest events first, from before a position.
    public func list(_ endpoint: Int64, state: State?, before event: Int64, limit: Int) throws -> [Stored] {
        // Dead and waiting deliveries are few and have partial indices, which SQLite uses only for constant conditions.
        // The plus sign keeps it off the index of all deliveries.
        let sql: SQL =
            switch state {
            case nil:
                """
                SELECT \(Self.columns, userOf: "webhook_deliveries") FROM webhook_deliveries WHERE endpoint_row_id = \
                ?1 AND event_position < ?2 ORDER BY event_position DESC LIMIT ?3
                """
            case .waiting:
                """
                SELECT \(Self.columns, userOf: "webhook_deliveries") FROM webhook_deliveries WHERE endpoint_row_id = \
                ?1 AND +event_position < ?2 AND queue IN (0, 1) AND state = 0 ORDER BY +event_position DESC LIMIT ?3
                """
            case .delivered:
                """
                SELECT \(Self.columns, userOf: "webhook_deliveries") FROM webhook_deliveries WHERE endpoint_row_id = \
                ?1 AND event_position < ?2 AND state = 1 ORDER BY event_position DESC LIMIT ?3
                """
            case .dead:
                """
                SELECT \(Self.columns, userOf: "webhook_deliveries") FROM webhook_deliveries WHERE endpoint_row_id = \
                ?1 AND event_position < ?2 AND state = 2 ORDER BY event_position DESC LIMIT ?3
                """
            }
        return try connection.query(
            sql, [.integer(endpoint), .integer(event), .integer(Int64(limit))], Self.read)
    }

    public func counts(_ endpoint: Int64) throws -> Counts {
        let waiting = try connection.first(
            """
            SELECT count(*) AS count FROM webhook_deliveries WHERE endpoint_row_id = ?1 AND queue IN (0, 1) \
            AND state = 0
            """,
            [.integer(endpoint)]
        ) { $0.integer("count") }
        let dead = try connection.first(
            """
            SELECT count(*) AS count FROM webhook_deliveries WHERE endpoint_row_id = ?1 AND state = 2
            """, [.integer(endpoint)]
        ) { $0.integer("count") }
        return Counts(waiting: waiting ?? 0, dead: dead ?? 0)
    }

    /// Deletes deliveries that succeeded before a moment; returns how many. Dead deliveries and the events stay.
    @discardableResult
    public func prune(before then: Instant, limit: Int) throws -> Int {
        try connection.execute(
            """
            DELETE FROM webhook_deliveries WHERE row_id IN (SELECT row_id FROM webhook_deliveries WHERE state = 1 \
            AND ended_at < ?1 ORDER BY ended_at LIMIT ?2)
            """, [.instant(then), .integer(Int64(limit))])
    }

    /// Whether `prune` would find something.
    public func hasSomethingToPrune(before then: Instant) throws -> Bool {
        try connection.first(
            "SELECT 1 FROM webhook_deliveries WHERE state = 1 AND ended_at < ?1 LIMIT 1", [.instant(then)]
        ) { _ in true } ?? false
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let queue = Queue(rawValue: row.integer("queue")), let state = State(rawValue: row.integer("state"))
        else {
            throw row.unreadable("a delivery")
        }
        return Stored(
            endpoint: row.integer("endpoint_row_id"), event: row.integer("event_position"), queue: queue,
            user: row.optionalText("user_id").map { UserID($0) }, state: state, attempts: row.integer("attempts"),
            dueAt: row.optionalInstant("due_at"), attemptedAt: row.optionalInstant("attempted_at"),
            status: row.optionalInteger("status"), error: row.optionalText("error"),
            endedAt: row.optionalInstant("ended_at"))
    }
}
