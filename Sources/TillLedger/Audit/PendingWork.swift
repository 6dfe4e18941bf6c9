import TillBilling
import TillSQL

/// The work of one queue that waits in the ledger, with the limits at which a person should look at it. `till doctor`
/// and the alerts share the limits.
public struct PendingWork: Sendable, Hashable {
    public enum Queue: String, Sendable, Hashable, CaseIterable {
        case appleTasks = "apple_tasks"
        case notifications
        case waitingReceipts = "waiting_receipts"
        case savedProofs = "saved_proofs"
        case claims
        case refundAnswers = "refund_answers"
        case reminders
        case events
        case webhooks

        public var name: LocalizedText {
            switch self {
            case .appleTasks: LocalizedText(en: "tasks for Apple", zh: "发给 Apple 的任务")
            case .notifications: LocalizedText(en: "notifications to process", zh: "待处理的通知")
            case .waitingReceipts: LocalizedText(en: "receipts that wait for Apple", zh: "等待 Apple 答复的收据")
            case .savedProofs: LocalizedText(en: "saved proofs to process", zh: "待处理的已保存凭证")
            case .claims: LocalizedText(en: "claims that wait for Apple", zh: "等待 Apple 答复的认领")
            case .refundAnswers: LocalizedText(en: "answers to Apple's refund requests", zh: "待发给 Apple 的退款答复")
            case .reminders: LocalizedText(en: "reminders to record", zh: "待记录的提醒")
            case .events: LocalizedText(en: "events without a position", zh: "尚未排序的事件")
            case .webhooks: LocalizedText(en: "events to deliver", zh: "待推送的事件")
            }
        }

        /// Ages in seconds. Every queue is worked on at least once a minute, so work that waits for minutes says that
        /// the job or the other end does not work. Apple and a backend may be away for a while without anybody's fault.
        public var limits: (warning: Int64, error: Int64) {
            switch self {
            case .events: (60, 600)
            case .notifications, .savedProofs: (300, 3_600)
            case .reminders, .refundAnswers: (600, 3_600)
            case .appleTasks: (900, 21_600)
            case .waitingReceipts, .webhooks: (900, 14_400)
            case .claims: (1_800, 86_400)
            }
        }
    }

    public let queue: Queue
    /// The webhook endpoint's id.
    public var endpoint: String?
    public let count: Int64
    /// Since when the oldest entry waits; for work that was planned for a moment, since that moment.
    public let since: Instant?
    /// How many entries have failed so often that they need a person.
    public var failing: Int64 = 0
    /// How many entries were given up; nothing is tried any more.
    public var givenUp: Int64 = 0

    /// Attempts after which a task for Apple counts as failing: the pauses between them add up to about an hour.
    public static let failingAttempts: Int64 = 6

    /// In seconds; 0 if nothing waits.
    public func age(at now: Instant) -> Int64 { since.map { max(0, now.seconds - $0.seconds) } ?? 0 }

    /// Every queue, the webhooks once for each endpoint.
    public static func list(endpoints: [String], at now: Instant, _ connection: any Connection) throws -> [PendingWork]
    {
        let table = PendingWorkTable(connection: connection, now: now)
        return try Queue.allCases.flatMap { queue in
            switch queue {
            case .appleTasks: [try table.appleTasks()]
            case .notifications: [try table.notifications()]
            case .waitingReceipts: [try table.waitingReceipts()]
            case .savedProofs: [try table.savedProofs()]
            case .claims: [try table.claims()]
            case .refundAnswers: [try table.refundAnswers()]
            case .reminders: [try table.reminders()]
            case .events: [try table.events()]
            case .webhooks: try endpoints.compactMap(table.webhooks)
            }
        }
    }
}

/// Reads each queue from the index that its job uses.
private struct PendingWorkTable {
    let connection: any Connection
    let now: Instant

    private func read(
        _ queue: PendingWork.Queue, _ sql: SQL, _ values: [SQLValue] = []
    ) throws -> PendingWork {
        try connection.first(sql, values) { row in
            PendingWork(queue: queue, count: row.integer("count"), since: row.optionalInstant("since"))
        } ?? PendingWork(queue: queue, count: 0, since: nil)
    }

    func appleTasks() throws -> PendingWork {
        var work = try read(
            .appleTasks,
            "SELECT count(*) AS count, min(due_at) AS since FROM apple_tasks WHERE state = 0 AND due_at <= ?1",
            [.instant(now)])
        work.failing = try number(
            "SELECT count(*) AS number FROM apple_tasks WHERE state = 0 AND attempts >= ?1",
            [.integer(PendingWork.failingAttempts)])
        work.givenUp = try number("SELECT count(*) AS number FROM apple_tasks WHERE state = 1")
        return work
    }

    func notifications() throws -> PendingWork {
        let figures = LedgerFigures(connection)
        return PendingWork(
            queue: .notifications, count: try figures.pendingNotifications(),
            since: try figures.oldestPendingNotification())
    }

    func waitingReceipts() throws -> PendingWork {
        let table = WaitingProofTable(connection)
        return PendingWork(queue: .waitingReceipts, count: try table.count(), since: try table.oldest())
    }

    func savedProofs() throws -> PendingWork {
        let table = SavedProofTable(connection)
        return PendingWork(queue: .savedProofs, count: try table.count(), since: try table.oldest())
    }

    func claims() throws -> PendingWork {
        try read(.claims, "SELECT count(*) AS count, min(at) AS since FROM claims WHERE state = 0")
    }

    func refundAnswers() throws -> PendingWork {
        try read(
            .refundAnswers,
            "SELECT count(*) AS count, min(due_at) AS since FROM consumption_requests WHERE state = 0 AND due_at <= ?1",
            [.instant(now)])
    }

    func reminders() throws -> PendingWork {
        try read(
            .reminders,
            "SELECT count(*) AS count, min(due_at) AS since FROM reminders WHERE sent_at IS NULL AND due_at <= ?1",
            [.instant(now)])
    }

    func events() throws -> PendingWork {
        try read(
            .events,
            """
            SELECT count(*) AS count, min(b.at) AS since FROM unplaced_events u CROSS JOIN outbox b \
            ON b.row_id = u.event_row_id
            """)
    }

    /// Nil for an endpoint that no server has seen yet.
    func webhooks(_ endpoint: String) throws -> PendingWork? {
        guard let stored = try WebhookEndpointTable(connection).find(endpoint) else { return nil }
        let counts = try WebhookDeliveryTable(connection).counts(stored.rowID)
        let unseen = try connection.first(
            """
            SELECT count(*) AS count, min(b.at) AS since FROM event_positions n CROSS JOIN outbox b \
            ON b.row_id = n.event_row_id WHERE n.position > ?1
            """, [.integer(stored.position)]
        ) { ($0.integer("count"), $0.optionalInstant("since")) }
        let queued = try connection.first(
            """
            SELECT b.at FROM event_positions n CROSS JOIN outbox b ON b.row_id = n.event_row_id WHERE n.position = \
            (SELECT min(w.event_position) FROM webhook_deliveries w WHERE w.endpoint_row_id = ?1 AND w.queue IN (0, 1) \
            AND w.state = 0)
            """, [.integer(stored.rowID)]
        ) { $0.instant("at") }
        let since = [unseen?.1, queued].compactMap { $0 }.min()
        return PendingWork(
            queue: .webhooks, endpoint: endpoint, count: counts.waiting + (unseen?.0 ?? 0), since: since,
            givenUp: counts.dead)
    }

    private func number(_ sql: SQL, _ values: [SQLValue] = []) throws -> Int64 {
        try connection.first(sql, values) { $0.integer("number") } ?? 0
    }
}
