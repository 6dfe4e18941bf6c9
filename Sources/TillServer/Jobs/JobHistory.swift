import TillBilling
import TillThreads

/// When each job last succeeded.
final class JobHistory: Sendable {
    private struct State {
        var intervals = BackgroundJobs.intervals
        var succeeded: [String: Instant] = [:]
        var running: [String: Instant] = [:]
        var failures: [String: Int64] = [:]
    }

    private let state = Locked(State())

    /// The jobs that run, where they are not those of every server.
    func expect(_ jobs: [(name: String, interval: Int64)]) { state.withLock { $0.intervals = jobs } }

    /// The jobs of this server rest while another server does the ledger's work; their ages are unknown then.
    func rest(_ names: [String]) {
        state.withLock { state in
            for name in names { (state.succeeded[name], state.running[name]) = (nil, nil) }
        }
    }

    func began(_ name: String, at now: Instant) { state.withLock { $0.running[name] = now } }

    func succeeded(_ name: String, at now: Instant) {
        state.withLock { state in
            state.succeeded[name] = now
            state.running[name] = nil
        }
    }

    func failed(_ name: String) {
        state.withLock { state in
            state.failures[name, default: 0] += 1
            state.running[name] = nil
        }
    }

    /// Jobs that wait for no other system: they are frozen after a minute, the others after half an hour. The alert
    /// `TillJobFrozen` has the same limits.
    static let quick: Set<String> = ["catalog", "notifications", "reminders", "walletCheck", "webhooks"]

    /// The jobs that have not ended well for too long.
    func frozen(at now: Instant) -> [String] {
        let state = state.withLock { $0 }
        return state.intervals.compactMap { name, interval in
            guard let last = state.succeeded[name] else { return nil }
            let limit: Int64 = Self.quick.contains(name) ? 60_000 : 1_800_000
            return now.milliseconds - last.milliseconds > limit + 2 * interval ? name : nil
        }
    }

    /// The ages are NaN before the jobs start, and while they rest.
    func metrics(at now: Instant) -> [Metric] {
        let state = state.withLock { $0 }
        func samples(_ value: (_ name: String, _ interval: Int64) -> Double) -> [Metric.Sample] {
            state.intervals.map {
                Metric.Sample(value($0.name, $0.interval), (name: "background_job", value: $0.name))
            }
        }
        func age(_ since: Instant) -> Double { max(0, Double(now.milliseconds - since.milliseconds) / 1_000) }
        return [
            Metric(.jobSuccessAge, samples { name, _ in state.succeeded[name].map(age) ?? .nan }),
            Metric(.jobInterval, samples { _, interval in Double(interval) / 1_000 }),
            Metric(
                .jobRunning,
                samples { name, _ in state.succeeded[name] == nil ? .nan : state.running[name].map(age) ?? 0 }),
            Metric(.jobFailures, samples { name, _ in Double(state.failures[name] ?? 0) }),
        ]
    }
}
