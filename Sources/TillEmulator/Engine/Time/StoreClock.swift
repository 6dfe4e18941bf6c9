import TillBilling
import TillSQL
import TillThreads

/// The store's time: the given clock plus all advances. It stands still while it is stopped, and at each moment of a
/// clock advance.
final class StoreClock: Sendable {
    /// The state that outlives a restart.
    struct SavedState: Sendable, Hashable {
        /// Milliseconds ahead of the given clock; negative after the clock was stopped for a while.
        var ahead: Int64 = 0
        /// The moment at which the clock is stopped, if it is.
        var stopped: Instant?
    }

    private struct Reading {
        var ahead: Int64
        var stoppedAt: Instant?
        /// It stays stopped after a clock advance too.
        var isStopped: Bool
        var isMoving = false
        /// The running advance ends, and no other may begin.
        var isEnding = false
        /// The latest time that was read. Later reads, and so signed dates, never go back before it.
        var latest = Instant(milliseconds: .min)

        mutating func time(_ given: Instant) -> Instant {
            latest = max(latest, stoppedAt ?? given.adding(milliseconds: ahead))
            return latest
        }
    }

    /// 9999-12-31T23:59:59.999Z: the latest time in RFC 3339.
    static let end = Instant(milliseconds: 253_402_300_799_999)

    private let given: @Sendable () -> Instant
    private let reading: Locked<Reading>

    init(_ given: @escaping @Sendable () -> Instant, _ savedState: SavedState = SavedState()) {
        self.given = given
        reading = Locked(
            Reading(ahead: savedState.ahead, stoppedAt: savedState.stopped, isStopped: savedState.stopped != nil))
    }

    var now: Instant {
        let given = given()
        return reading.withLock { $0.time(given) }
    }

    var isStopped: Bool { reading.withLock { $0.isStopped } }
    var isMoving: Bool { reading.withLock { $0.isMoving } }
    var isEnding: Bool { reading.withLock { $0.isEnding } }

    var savedState: SavedState {
        let given = given()
        return reading.withLock { reading in
            let now = reading.time(given)
            return SavedState(ahead: Self.milliseconds(from: given, to: now), stopped: reading.isStopped ? now : nil)
        }
    }

    // MARK: Stopping

    /// Stops the clock. It then moves only by advances, until `resume`.
    func stop() -> Result<Void, StoreRefusal> {
        let given = given()
        return reading.withLock { reading in
            guard !reading.isMoving else { return .failure(.clockIsMoving) }
            reading.stoppedAt = reading.time(given)
            reading.isStopped = true
            return .success(())
        }
    }

    /// Lets the clock run from where it stands.
    func resume() -> Result<Void, StoreRefusal> {
        let given = given()
        return reading.withLock { reading in
            guard !reading.isMoving else { return .failure(.clockIsMoving) }
            reading.ahead = Self.milliseconds(from: given, to: reading.time(given))
            reading.stoppedAt = nil
            reading.isStopped = false
            return .success(())
        }
    }

    // MARK: Advances

    /// Stops the clock and begins an advance, the only one until `endAdvance`.
    /// - Returns: the target.
    func beginAdvance(to target: (_ start: Instant) -> Instant) -> Result<Instant, StoreRefusal> {
        let given = given()
        return reading.withLock { reading in
            guard !reading.isMoving else { return .failure(.clockIsMoving) }
            let start = reading.time(given)
            guard !reading.isEnding else { return .failure(.clockAdvanceInterrupted(at: start)) }
            let target = target(start)
            guard target >= start else { return .failure(.clockOnlyGoesForward(now: start)) }
            let farthest = min(start.adding(milliseconds: Span.longest.milliseconds), Self.end)
            guard target <= farthest else { return .failure(.tooFarAhead) }
            reading.isMoving = true
            reading.stoppedAt = start
            return .success(target)
        }
    }

    /// Sets the clock to a moment of the advance; never to an earlier one than before.
    func hold(at moment: Instant) {
        reading.withLock { $0.stoppedAt = max($0.latest, moment) }
    }

    /// Ends the advance where the clock stands. The clock runs from there unless it was stopped.
    func endAdvance() {
        let given = given()
        reading.withLock { reading in
            let now = reading.time(given)
            reading.isMoving = false
            guard !reading.isStopped else { return }
            reading.ahead = Self.milliseconds(from: given, to: now)
            reading.stoppedAt = nil
        }
    }

    /// Ends the running advance and prevents further ones, because the emulator is stopping.
    func end() { reading.withLock { $0.isEnding = true } }

    private static func milliseconds(from start: Instant, to end: Instant) -> Int64 {
        let (difference, overflow) = end.milliseconds.subtractingReportingOverflow(start.milliseconds)
        return overflow ? (end < start ? .min : .max) : difference
    }
}

extension StoreClock.SavedState {
    init(_ connection: any Connection) throws {
        ahead = try SettingTable.value(.clockAhead, connection).flatMap { Int64($0) } ?? 0
        stopped = try SettingTable.value(.clockStopped, connection).flatMap { Int64($0) }
            .map { Instant(milliseconds: $0) }
    }

    func store(_ connection: any Connection) throws {
        try SettingTable.set(.clockAhead, to: String(ahead), connection)
        try SettingTable.set(.clockStopped, to: (stopped?.milliseconds).map { String($0) }, connection)
    }
}

/// The state of the store's clock, for display.
public struct ClockState: Sendable, Hashable {
    /// The next scheduled change or delivery.
    public struct Event: Sendable, Hashable {
        /// `subscription`, `refund`, `approval`, `massExtension`, `priceIncrease`, or `notification` for a delivery
        /// attempt.
        public var kind: String
        /// The number of the transaction or request, or the notification's id.
        public var subject: String
        public var date: Instant
    }

    public var now: Instant
    /// Milliseconds ahead of the emulator's given clock; negative: behind it.
    public var ahead: Int64
    public var isStopped: Bool
    /// Whether a clock advance is running.
    public var isMoving: Bool
    public var pace: RenewalPace
    /// The next few events, in order.
    public var upcoming: [Event]

    init(_ clock: StoreClock, _ connection: any Connection) throws {
        let savedState = clock.savedState
        now = clock.now
        ahead = savedState.ahead
        isStopped = clock.isStopped
        isMoving = clock.isMoving
        pace = try RenewalPace.current(connection)
        let limit = 10
        let events = try Schedule.upcoming(limit: limit, connection).map {
            Event(kind: $0.kind.rawValue, subject: String($0.subject), date: $0.due)
        }
        let hasReceiver = try SettingTable.value(.notificationURL, connection) != nil
        let farthest = StoreClock.end
        let attempts = hasReceiver ? try NotificationTable.due(at: farthest, limit: limit, connection) : []
        let sent = attempts.compactMap { notification in
            notification.due.map {
                Event(kind: "notification", subject: notification.uuid.description, date: $0)
            }
        }
        // At the same moment, changes come before the notifications about them.
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

    /// Stops the clock, which then moves only by advances, or lets it run again from where it stands. Refused during an
    /// advance.
    public func setClockStopped(_ isStopped: Bool) async throws -> Result<Void, StoreRefusal> {
        let clock = clock
        return try await change { change in
            let result = isStopped ? clock.stop() : clock.resume()
            try clock.savedState.store(change.connection)
            return result
        }
    }

    public func setPace(_ pace: RenewalPace) async throws {
        try await change { try RenewalPace.set(pace, $0.connection) }
    }
}

extension StoreRefusal {
    static let clockIsMoving = StoreRefusal(
        "clock_is_moving", status: 409, "The clock is already being advanced. Wait until this is complete.",
        "时钟正在推进，请等它结束。")

    static func clockOnlyGoesForward(now: Instant) -> StoreRefusal {
        StoreRefusal(
            "clock_only_goes_forward", status: 422,
            "The store's time is already \(now.rfc3339), and the clock only moves forward.",
            "商店时间已是 \(now.rfc3339)，时钟只能向前推进。")
    }

    static let tooFarAhead = StoreRefusal(
        "too_far_ahead", status: 422,
        "The clock can be advanced by at most a hundred years, and not past the year 9999.", "时钟一次最多推进一百年，且不超过 9999 年。")

    /// The caller's task was cancelled, or the emulator is stopping.
    static func clockAdvanceInterrupted(at now: Instant) -> StoreRefusal {
        StoreRefusal(
            "clock_advance_interrupted", status: 503,
            "The clock was stopped at \(now.rfc3339). All events due by then have been processed. Advance it again.",
            "时钟在途中停在 \(now.rfc3339)，此前到期的事件均已处理。请再次推进。")
    }
}
