import TillBilling
import TillCrypto

/// The store's time: the clock it was given, moved ahead by what somebody advanced it; or standing still while the
/// store works through what happens on the way.
final class StoreClock: Sendable {
    private struct Reading {
        var ahead: Int64
        var standing: Instant?
        /// Nothing is ever signed before what was signed already.
        var latest: Instant
    }

    private let given: @Sendable () -> Instant
    private let reading: Locked<Reading>

    /// - Parameter ahead: milliseconds that this clock is ahead of the given one.
    init(_ given: @escaping @Sendable () -> Instant, ahead: Int64 = 0) {
        self.given = given
        reading = Locked(Reading(ahead: ahead, standing: nil, latest: Instant(milliseconds: .min)))
    }

    var now: Instant {
        let given = given()
        return reading.withLock { reading in
            let now = reading.standing ?? given.adding(milliseconds: reading.ahead)
            reading.latest = max(reading.latest, now)
            return reading.latest
        }
    }

    /// Milliseconds ahead of the given clock; what a restart has to know.
    var ahead: Int64 { reading.withLock { $0.ahead } }

    /// Stops at a moment, until `go`.
    func stand(at moment: Instant) { reading.withLock { $0.standing = moment } }

    /// Goes on from a moment.
    func go(from moment: Instant) {
        let given = given()
        reading.withLock { reading in
            reading.standing = nil
            reading.ahead = moment.milliseconds - given.milliseconds
        }
    }
}
