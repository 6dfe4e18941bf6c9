import TillSQL
import TillThreads

/// Counts the ledger's commits. The database driver calls it on its writer's thread.
public final class CommitFigures: Sendable {
    /// In nanoseconds.
    private static let durations: [Int64] =
        [500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000]
        .map { $0 * 1_000 } + [500, 1_000, 2_500, 5_000, 10_000].map { $0 * 1_000_000 }
    private static let sizes: [Int64] = [1, 2, 4, 8, 16, 32, 64]

    private struct State {
        var since: Int64?
        var durations = Histogram(CommitFigures.durations)
        var sizes = Histogram(CommitFigures.sizes)
        var failures: [DatabaseError.Kind: Int64] = [:]
    }

    private let state = Locked(State())
    private let stopwatch: @Sendable () -> Int64

    init(_ stopwatch: @escaping @Sendable () -> Int64) { self.stopwatch = stopwatch }

    /// A batch of writes begins.
    public func began() {
        let now = stopwatch()
        state.withLock { $0.since = now }
    }

    /// The batch is on disk, or it failed.
    public func ended(bodies: Int, error: DatabaseError?) {
        let now = stopwatch()
        state.withLock { state in
            state.durations.add(max(0, now - (state.since ?? now)))
            state.since = nil
            state.sizes.add(Int64(bodies))
            if let error { state.failures[error.kind, default: 0] += 1 }
        }
    }

    var metrics: [Metric] {
        let state = state.withLock { $0 }
        let running = state.since.map { Double(max(0, stopwatch() - $0)) / 1e9 } ?? 0
        return [
            Metric(.commitDuration, [([], state.durations)], scale: 1e9),
            Metric(.commitBatch, [([], state.sizes)], scale: 1),
            Metric(
                .commitFailures,
                DatabaseError.Kind.allCases.map {
                    Metric.Sample(count: state.failures[$0] ?? 0, (name: "kind", value: $0.rawValue))
                }),
            Metric(.commitRunning, running),
        ]
    }
}
