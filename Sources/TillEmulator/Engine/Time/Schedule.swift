import TillBilling
import TillSQL

/// The schedule of future store changes.
enum Schedule {
    static let columns: Columns = "kind, subject, due_at"

    /// What is scheduled. Each subject has at most one date of each kind.
    enum Kind: String, CaseIterable {
        /// A subscription renews, retries billing, ends its grace period, expires or raises its price.
        case subscription
        /// Apple decides about a refund request.
        case refund
        /// The approval time of an Ask to Buy purchase ends.
        case approval
        /// A mass extension continues.
        case massExtension
        /// Subscribers of a product are informed of a higher price.
        case priceIncrease
    }

    struct Entry: Sendable {
        var kind: Kind
        /// The number of the original transaction, refund request, transaction, mass extension or price increase,
        /// depending on the kind.
        var subject: Int64
        var due: Instant
    }

    /// Sets the date, replacing an earlier one; nil removes it.
    static func set(_ kind: Kind, _ subject: Int64, at due: Instant?, _ connection: any Connection) throws {
        guard let due else {
            try connection.execute(
                "DELETE FROM schedule WHERE kind = ? AND subject = ?", [.text(kind.rawValue), .integer(subject)])
            return
        }
        try connection.execute(
            """
            INSERT INTO schedule (\(columns)) VALUES (\(marks: 3))
            ON CONFLICT (kind, subject) DO UPDATE SET due_at = excluded.due_at
            """, [.text(kind.rawValue), .integer(subject), .integer(due.milliseconds)])
    }

    /// The first entry that is due by `end`. Entries of the same moment are ordered by subject.
    static func next(by end: Instant, _ connection: any Connection) throws -> Entry? {
        let found = try connection.first(
            """
            SELECT \(columns) FROM schedule WHERE due_at <= ? ORDER BY due_at, subject, kind LIMIT 1
            """, [.integer(end.milliseconds)], read)
        return found ?? nil
    }

    /// The first entries of the whole schedule, in order.
    static func upcoming(limit: Int, _ connection: any Connection) throws -> [Entry] {
        try connection.query(
            "SELECT \(columns) FROM schedule ORDER BY due_at, subject, kind LIMIT ?", [.integer(Int64(limit))],
            read
        ).compactMap { $0 }
    }

    static func date(_ kind: Kind, _ subject: Int64, _ connection: any Connection) throws -> Instant? {
        try connection.first(
            "SELECT due_at FROM schedule WHERE kind = ? AND subject = ?", [.text(kind.rawValue), .integer(subject)]
        ) { Instant(milliseconds: $0.integer("due_at")) }
    }

    /// Nil for a kind that this version does not know.
    private static func read(_ row: any Row) -> Entry? {
        Kind(rawValue: row.text("kind")).map {
            Entry(kind: $0, subject: row.integer("subject"), due: Instant(milliseconds: row.integer("due_at")))
        }
    }
}

/// Clock advances. The clock stands at each moment with a scheduled change: the change is performed, and notifications
/// due then are sent and awaited, before the clock moves to the next moment.
extension Store {
    /// Advances the clock. Returns after everything due on the way has happened.
    ///
    /// During the advance, other callers see the store at the moment where the clock stands; a second advance is
    /// refused. A server must answer a notification without waiting for this call, because the call waits for that
    /// answer.
    ///
    /// - Returns: the moment from which the clock continues; or a refusal, such as `clock_advance_interrupted`: if
    ///   the task was cancelled or the emulator stopped, the clock continues from the last moment reached.
    /// - Throws: `DatabaseError`. The clock continues from the last moment reached, and nothing is lost.
    public func advance(by span: Span) async throws -> Result<Instant, StoreRefusal> {
        try await advanceClock { $0.adding(milliseconds: span.milliseconds) }
    }

    /// The same, to a moment; a moment in the past is refused.
    public func advance(to moment: Instant) async throws -> Result<Instant, StoreRefusal> {
        try await advanceClock { _ in moment }
    }

    private func advanceClock(_ goal: (_ start: Instant) -> Instant) async throws -> Result<Instant, StoreRefusal> {
        let target: Instant
        switch clock.beginAdvance(to: goal) {
        case .success(let moment): target = moment
        case .failure(let refusal): return .failure(refusal)
        }
        defer { clock.endAdvance() }
        await notifications.hold()
        defer { notifications.release() }
        var isThere = false
        while !isThere {
            guard !Task.isCancelled, !clock.isEnding else { return .failure(.clockAdvanceInterrupted(at: clock.now)) }
            isThere = try await proceed(toward: target)
            guard try await notifications.sendHeld() else { return .failure(.clockAdvanceInterrupted(at: clock.now)) }
        }
        while try await sweep() {}
        return .success(clock.now)
    }

    /// Moves on to the next moment with a notification to send, or as far as one commit may go.
    /// - Returns: whether the clock stands at the target, with nothing else due by then.
    private func proceed(toward target: Instant) async throws -> Bool {
        let (clock, configuration, entropy) = (clock, configuration, entropy)
        return try await database.write { connection in
            let hasReceiver = try SettingTable.value(.notificationURL, connection) != nil
            var isThere = false
            for _ in 0..<256 {
                let sending = hasReceiver ? try NotificationTable.nextDue(connection) : nil
                let stop = sending.map { min($0, target) } ?? target
                let entry = try Schedule.next(by: stop, connection)
                clock.hold(at: entry?.due ?? stop)
                guard let entry else {
                    isThere = sending.map { $0 > target } ?? true
                    break
                }
                try Self.perform(entry, connection, configuration, entropy)
            }
            // In the same commit as everything signed at this moment: a crash cannot move the clock back before it.
            try clock.savedState.store(connection)
            return isThere
        }
    }
}

/// The store's own activity as time passes.
extension Store {
    /// Performs due changes and sends due notifications after each wake, until its task is cancelled. One `run` at a
    /// time.
    func run() async {
        for await _ in notifications.signals() {
            guard (try? await hasWork()) ?? true else { continue }
            // A failing database is retried at the next wake, never at once.
            try? await catchUp()
            await notifications.sendDue()
            _ = try? await sweep()
        }
    }

    /// Whether anything is due: most wakes find nothing.
    private func hasWork() async throws -> Bool {
        let now = clock.now
        return try await database.read { connection in
            if try Schedule.next(by: now, connection) != nil { return true }
            if let due = try NotificationTable.nextDue(connection), due <= now { return true }
            return try NotificationTable.hasOutlived(at: now, connection)
        }
    }

    /// Deletes some of the notifications that no history lists any more.
    /// - Returns: whether more may be left.
    func sweep() async throws -> Bool {
        let now = clock.now
        guard try await database.read({ try NotificationTable.hasOutlived(at: now, $0) }) else { return false }
        return try await database.write { try NotificationTable.sweep(at: now, limit: 256, $0) == 256 }
    }
}
