import TillBilling
import TillThreads

/// A rate: `burst` at once, and then one in each `interval` (milliseconds).
package struct RateLimit: Sendable {
    let burst: Int64
    let interval: Int64

    package init(burst: Int64, interval: Int64) {
        self.burst = burst
        self.interval = interval
    }

    /// The same rate, `factor` times as fast.
    package func times(_ factor: Int64) -> RateLimit { RateLimit(burst: burst * factor, interval: interval / factor) }

    /// How much of the rate is used. It recovers with time.
    package struct Usage: Sendable {
        private var fullAt = Instant(milliseconds: 0)

        package init() {}

        package func isFull(at now: Instant) -> Bool { fullAt <= now }

        package mutating func take(_ rateLimit: RateLimit, now: Instant) -> Bool {
            let start = max(fullAt, now)
            guard start.milliseconds - now.milliseconds <= (rateLimit.burst - 1) * rateLimit.interval else {
                return false
            }
            fullAt = start.adding(milliseconds: rateLimit.interval)
            return true
        }
    }
}

/// One rate for each source, identified by its name.
package final class SourceRateLimit: Sendable {
    /// The number of sources remembered. While this many are busy, a further source is refused.
    package static let capacity = 4_096

    private let rateLimit: RateLimit
    private let sources = Locked<[String: RateLimit.Usage]>([:])

    package init(_ rateLimit: RateLimit) { self.rateLimit = rateLimit }

    /// Whether this source may act once more now; if so, it is counted.
    package func take(_ name: String, now: Instant) -> Bool {
        sources.withLock { sources in
            if sources[name] == nil, sources.count >= Self.capacity {
                sources = sources.filter { !$0.value.isFull(at: now) }
                if sources.count >= Self.capacity { return false }
            }
            return sources[name, default: RateLimit.Usage()].take(rateLimit, now: now)
        }
    }
}
