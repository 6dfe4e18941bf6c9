import TillBilling
import TillSQL

/// The store's clock as a person sees it.
public struct ClockState: Sendable, Hashable {
    /// What happens next by itself.
    public struct Event: Sendable, Hashable {
        /// `subscription`, `refund`, `approval`, `massExtension`, `priceIncrease`, or `notification`: an attempt to
        /// deliver one.
        public var kind: String
        /// The number of the transaction or request that it is about, or the notification's id.
        public var subject: String
        public var date: Instant
    }

    public var now: Instant
    /// Milliseconds ahead of the clock that the emulator was given; negative: behind it.
    public var ahead: Int64
    public var isStopped: Bool
    /// Whether a journey is on.
    public var isMoving: Bool
    public var pace: RenewalPace
    /// In the order in which it will happen, a few at most.
    public var upcoming: [Event]

    init(_ clock: StoreClock, _ session: any Connection) throws {
        let kept = clock.kept
        now = clock.now
        ahead = kept.ahead
        isStopped = clock.isStopped
        isMoving = clock.isMoving
        pace = try RenewalPace.current(session)
        let limit = 10
        let events = try Agenda.upcoming(limit: limit, session).map {
            Event(kind: $0.kind.rawValue, subject: String($0.subject), date: $0.due)
        }
        let isTold = try SettingTable.value(.notificationURL, session) != nil
        let farthest = StoreClock.end
        let attempts = isTold ? try NotificationTable.due(at: farthest, limit: limit, session) : []
        let sent = attempts.compactMap { notification in
            notification.due.map {
                Event(kind: "notification", subject: notification.uuid.description, date: $0)
            }
        }
        // At one moment, what happens comes before what is told of it.
        upcoming = Array(
            (events + sent).enumerated().sorted {
                ($0.element.date, $0.offset) < ($1.element.date, $1.offset)
            }.prefix(limit).map(\.element))
    }
}

extension Store {
    public func clockState() async throws -> ClockState {
        let clock = clock
        return try await ask { try ClockState(clock, $0) }
    }

    /// Stops the clock where it is, until it is advanced; or lets it go on from there. While it is being advanced it is
    /// neither stopped nor let go.
    public func setClockStopped(_ isStopped: Bool) async throws -> Result<Void, StoreRefusal> {
        let clock = clock
        return try await change { turn in
            let result = isStopped ? clock.stop() : clock.goOn()
            try clock.kept.store(turn.session)
            return result
        }
    }

    public func setPace(_ pace: RenewalPace) async throws {
        try await change { try RenewalPace.set(pace, $0.session) }
    }
}
