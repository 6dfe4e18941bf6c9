import TillThreads

/// Limits the number and the weight of concurrent operations, in total and per source. An operation above a limit is
/// refused at once: nothing queues here.
final class Quota: Sendable {
    struct Limits: Sendable {
        var count: Int
        var weight = Int.max
        var countPerSource: Int
        var weightPerSource = Int.max
    }

    private struct Use {
        var count = 0
        var weight = 0
    }

    private struct State {
        var all = Use()
        var sources: [String: Use] = [:]
    }

    private let limits: Limits
    private let state = Locked(State())

    init(_ limits: Limits) { self.limits = limits }

    /// A share of the quota. It is returned when the last reference is released.
    final class Share: Sendable {
        private let quota: Quota
        private let source: String
        private let weight: Int

        fileprivate init(_ quota: Quota, _ source: String, _ weight: Int) {
            self.quota = quota
            self.source = source
            self.weight = weight
        }

        deinit { quota.release(source, weight) }
    }

    /// Nil if a limit is reached. An operation heavier than the weight limit is accepted when nothing else is counted.
    func take(weight: Int = 0, from source: String) -> Share? {
        let isTaken = state.withLock { state -> Bool in
            let own = state.sources[source] ?? Use()
            guard Self.fits(state.all, weight, limits.count, limits.weight),
                Self.fits(own, weight, limits.countPerSource, limits.weightPerSource)
            else { return false }
            state.all.count += 1
            state.all.weight += weight
            state.sources[source] = Use(count: own.count + 1, weight: own.weight + weight)
            return true
        }
        return isTaken ? Share(self, source, weight) : nil
    }

    private static func fits(_ use: Use, _ weight: Int, _ most: Int, _ heaviest: Int) -> Bool {
        use.count < most && (use.weight == 0 || use.weight + weight <= heaviest)
    }

    private func release(_ source: String, _ weight: Int) {
        state.withLock { state in
            state.all.count -= 1
            state.all.weight -= weight
            guard var own = state.sources[source] else { return }
            own.count -= 1
            own.weight -= weight
            state.sources[source] = own.count == 0 ? nil : own
        }
    }

    /// The number of operations in progress.
    var count: Int { state.withLock { $0.all.count } }
}
