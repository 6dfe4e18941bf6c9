import TillBilling
import TillCrypto
import TillSQL

/// The store's time: the clock it was given, moved ahead by what somebody advanced it; or standing still, because
/// somebody stopped it or because the store works through what happens on the way to a later moment.
final class StoreClock: Sendable {
    /// What a restart has to know.
    struct Kept: Sendable, Hashable {
        /// Milliseconds that the clock is ahead of the one it is given; behind it, if it was stopped for a while.
        var ahead: Int64 = 0
        /// Where it stands, if somebody stopped it.
        var stopped: Instant?
    }

    private struct Reading {
        var ahead: Int64
        var standing: Instant?
        /// It stands after a journey too.
        var isStopped: Bool
        var isMoving = false
        /// No journey goes on or begins any more.
        var isEnding = false
        /// Nothing is ever signed before what was signed already.
        var latest = Instant(milliseconds: .min)

        mutating func tell(_ given: Instant) -> Instant {
            latest = max(latest, standing ?? given.adding(milliseconds: ahead))
            return latest
        }
    }

    /// 9999-12-31T23:59:59.999Z: what RFC 3339 can write.
    static let end = Instant(milliseconds: 253_402_300_799_999)

    private let given: @Sendable () -> Instant
    private let reading: Locked<Reading>

    init(_ given: @escaping @Sendable () -> Instant, _ kept: Kept = Kept()) {
        self.given = given
        reading = Locked(Reading(ahead: kept.ahead, standing: kept.stopped, isStopped: kept.stopped != nil))
    }

    var now: Instant {
        let given = given()
        return reading.withLock { $0.tell(given) }
    }

    var isStopped: Bool { reading.withLock { $0.isStopped } }
    var isMoving: Bool { reading.withLock { $0.isMoving } }
    var isEnding: Bool { reading.withLock { $0.isEnding } }

    var kept: Kept {
        let given = given()
        return reading.withLock { reading in
            let now = reading.tell(given)
            return Kept(ahead: Self.milliseconds(from: given, to: now), stopped: reading.isStopped ? now : nil)
        }
    }

    // MARK: Stopping

    /// Stands still from now on, until it is advanced.
    func stop() -> Result<Void, StoreRefusal> {
        let given = given()
        return reading.withLock { reading in
            guard !reading.isMoving else { return .failure(.clockIsMoving) }
            reading.standing = reading.tell(given)
            reading.isStopped = true
            return .success(())
        }
    }

    /// Goes on from where it stands.
    func goOn() -> Result<Void, StoreRefusal> {
        let given = given()
        return reading.withLock { reading in
            guard !reading.isMoving else { return .failure(.clockIsMoving) }
            reading.ahead = Self.milliseconds(from: given, to: reading.tell(given))
            reading.standing = nil
            reading.isStopped = false
            return .success(())
        }
    }

    // MARK: Journeys

    /// Stands still and begins a journey, the only one until `arrive`.
    /// - Returns: where it leads.
    func depart(to target: (_ start: Instant) -> Instant) -> Result<Instant, StoreRefusal> {
        let given = given()
        return reading.withLock { reading in
            guard !reading.isMoving else { return .failure(.clockIsMoving) }
            let start = reading.tell(given)
            guard !reading.isEnding else { return .failure(.journeyCutShort(at: start)) }
            let target = target(start)
            guard target >= start else { return .failure(.clockOnlyGoesForward(now: start)) }
            let farthest = min(start.adding(milliseconds: Span.longest.milliseconds), Self.end)
            guard target <= farthest else { return .failure(.tooFarAhead) }
            reading.isMoving = true
            reading.standing = start
            return .success(target)
        }
    }

    /// Stands at a moment of the journey; never at an earlier one than before.
    func stand(at moment: Instant) {
        reading.withLock { $0.standing = max($0.latest, moment) }
    }

    /// Ends the journey where it stands, and goes on from there unless it was stopped.
    func arrive() {
        let given = given()
        reading.withLock { reading in
            let now = reading.tell(given)
            reading.isMoving = false
            guard !reading.isStopped else { return }
            reading.ahead = Self.milliseconds(from: given, to: now)
            reading.standing = nil
        }
    }

    /// Cuts a journey short, and lets no other begin: the emulator is stopping.
    func end() { reading.withLock { $0.isEnding = true } }

    private static func milliseconds(from start: Instant, to end: Instant) -> Int64 {
        let (difference, overflow) = end.milliseconds.subtractingReportingOverflow(start.milliseconds)
        return overflow ? (end < start ? .min : .max) : difference
    }
}

extension StoreClock.Kept {
    init(_ session: any Connection) throws {
        ahead = try SettingTable.value(.clockAhead, session).flatMap { Int64($0) } ?? 0
        stopped = try SettingTable.value(.clockStopped, session).flatMap { Int64($0) }
            .map { Instant(milliseconds: $0) }
    }

    func store(_ session: any Connection) throws {
        try SettingTable.set(.clockAhead, to: String(ahead), session)
        try SettingTable.set(.clockStopped, to: (stopped?.milliseconds).map { String($0) }, session)
    }
}
