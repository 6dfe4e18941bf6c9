import TillBilling
import TillThreads

/// A clock that changes only when a test moves it.
final class TestClock: Sendable {
    private let instant: Locked<Instant>
    private let start: Instant

    init(seconds: Int64 = 1_790_000_000) {
        start = Instant(seconds: seconds)
        instant = Locked(start)
    }

    var now: Instant { instant.withLock { $0 } }
    var wasMoved: Bool { now != start }
    func advance(seconds: Int64) { instant.withLock { $0 = $0.adding(seconds: seconds) } }
}
