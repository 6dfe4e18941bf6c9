import TillBilling
import TillSQL

/// What will happen by itself, and when.
enum Agenda {
    static let columns: Columns = "kind, subject, due_at"

    /// What is due. Each subject has one date of each kind at most.
    enum Kind: String, CaseIterable {
        /// A subscription has something to do: renew, try again, end its grace, expire, raise its price.
        case subscription
        /// Apple decides about a request for a refund.
        case refund
        /// Nobody approved a purchase in time (Ask to Buy).
        case approval
        /// A mass extension goes on.
        case massExtension
        /// Subscribers of a product are told of a higher price.
        case priceIncrease
    }

    struct Entry: Sendable {
        var kind: Kind
        /// The original transaction, the refund request, the transaction, the mass extension, the increase: a number of
        /// that kind.
        var subject: Int64
        var due: Instant
    }

    /// Sets the date, in place of the one there was; nil takes it off.
    static func set(_ kind: Kind, _ subject: Int64, at due: Instant?, _ session: any Connection) throws {
        guard let due else {
            try session.execute(
                "DELETE FROM agenda WHERE kind = ? AND subject = ?", [.text(kind.rawValue), .integer(subject)])
            return
        }
        try session.execute(
            """
            INSERT INTO agenda (\(columns)) VALUES (\(marks: 3))
            ON CONFLICT (kind, subject) DO UPDATE SET due_at = excluded.due_at
            """, [.text(kind.rawValue), .integer(subject), .integer(due.milliseconds)])
    }

    /// The first entry that is due by `end`. What is due at one moment comes in the order of its subjects.
    static func next(by end: Instant, _ session: any Connection) throws -> Entry? {
        let found = try session.first(
            """
            SELECT \(columns) FROM agenda WHERE due_at <= ? ORDER BY due_at, subject, kind LIMIT 1
            """, [.integer(end.milliseconds)], read)
        return found ?? nil
    }

    /// The first entries of all, in the order in which they will happen.
    static func upcoming(limit: Int, _ session: any Connection) throws -> [Entry] {
        try session.query(
            "SELECT \(columns) FROM agenda ORDER BY due_at, subject, kind LIMIT ?", [.integer(Int64(limit))],
            read
        ).compactMap { $0 }
    }

    static func date(_ kind: Kind, _ subject: Int64, _ session: any Connection) throws -> Instant? {
        try session.first(
            "SELECT due_at FROM agenda WHERE kind = ? AND subject = ?", [.text(kind.rawValue), .integer(subject)]
        ) { Instant(milliseconds: $0.integer("due_at")) }
    }

    /// Nil for a kind that this version doesn't know.
    private static func read(_ row: any Row) -> Entry? {
        Kind(rawValue: row.text("kind")).map {
            Entry(kind: $0, subject: row.integer("subject"), due: Instant(milliseconds: row.integer("due_at")))
        }
    }
}

/// Time travel. The clock stands at each moment at which something happens: what the agenda holds for it is done, and
/// what is to be sent then is sent and waited for, before the clock goes on to the next.
extension Store {
    /// Advances the clock. Returns when all that happens on the way has happened.
    ///
    /// While it is on its way, whoever asks the store finds it at the moment where the clock stands; a second call is
    /// refused. A server that takes a notification must not wait for this call before it answers: the call waits for
    /// the answer.
    ///
    /// - Returns: the moment where the clock goes on from; or a refusal, `journey_cut_short` among them: where the task
    ///   was cancelled or the emulator was stopped, the clock goes on from the last moment reached.
    /// - Throws: `DatabaseError`. The clock goes on from the last moment reached, and nothing is lost.
    public func advance(by span: Span) async throws -> Result<Instant, StoreRefusal> {
        try await travel { $0.adding(milliseconds: span.milliseconds) }
    }

    /// The same, to a moment; an earlier one than now is refused.
    public func advance(to moment: Instant) async throws -> Result<Instant, StoreRefusal> {
        try await travel { _ in moment }
    }

    private func travel(_ goal: (_ start: Instant) -> Instant) async throws -> Result<Instant, StoreRefusal> {
        let target: Instant
        switch clock.depart(to: goal) {
        case .success(let moment): target = moment
        case .failure(let refusal): return .failure(refusal)
        }
        defer { clock.arrive() }
        await notifications.hold()
        defer { notifications.release() }
        var isThere = false
        while !isThere {
            guard !Task.isCancelled, !clock.isEnding else { return .failure(.journeyCutShort(at: clock.now)) }
            isThere = try await proceed(toward: target)
            guard try await notifications.sendHeld() else { return .failure(.journeyCutShort(at: clock.now)) }
        }
        while try await sweep() {}
        return .success(clock.now)
    }

    /// Goes on to the next moment at which something is to be sent, or as far as one commit may go.
    /// - Returns: whether the clock stands at the target, and nothing else is due by then.
    private func proceed(toward target: Instant) async throws -> Bool {
        let (clock, configuration, entropy) = (clock, configuration, entropy)
        return try await database.write { session in
            let isTold = try SettingTable.value(.notificationURL, session) != nil
            var isThere = false
            for _ in 0..<256 {
                let sending = isTold ? try NotificationTable.nextDue(session) : nil
                let stop = sending.map { min($0, target) } ?? target
                let entry = try Agenda.next(by: stop, session)
                clock.stand(at: entry?.due ?? stop)
                guard let entry else {
                    isThere = sending.map { $0 > target } ?? true
                    break
                }
                try Self.perform(entry, session, configuration, entropy)
            }
            // In the same commit as what is signed at this moment: a crash does not put the clock back before it.
            try clock.kept.store(session)
            return isThere
        }
    }
}

/// What the store does by itself while time passes.
extension Store {
    /// Lets happen what falls due and sends what is to be sent, each time it is woken, until its task is cancelled. One
    /// `run` at a time.
    func run() async {
        for await _ in notifications.rings() {
            // What a database that fails could not do now, the next ring tries again: never at once.
            try? await catchUp()
            await notifications.sendDue()
            _ = try? await sweep()
        }
    }

    /// Forgets some of the notifications that no history shows any more.
    /// - Returns: whether there may be others.
    func sweep() async throws -> Bool {
        let now = clock.now
        guard try await database.read({ try NotificationTable.hasOutlived(at: now, $0) }) else { return false }
        return try await database.write { try NotificationTable.sweep(at: now, limit: 256, $0) == 256 }
    }
}
