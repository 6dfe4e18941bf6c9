import TillAppStore
import TillBilling
import TillThreads

/// One thread, one seed, and a clock that jumps to the next alarm when no task can run: everything on it runs the same
/// way every time, and takes no real time.
final class PretendTime: TaskExecutor, Sendable {
    private struct Alarm {
        let at: Int64
        let number: Int
        let sleeper: CheckedContinuation<Void, Never>
    }

    private struct State {
        // Run once each, on the thread that calls `run`.
        var jobs: [UnownedJob] = []
        var alarms: [Alarm] = []
        var lastNumber = 0
        var now = Int64(1_800_000_000_000)
        var random: SeededRandom
    }

    private let state: Locked<State>

    init(seed: UInt64) { state = Locked(State(random: SeededRandom(state: seed))) }

    var now: Instant { Instant(milliseconds: state.withLock { $0.now }) }

    func random(_ range: ClosedRange<Int>) -> Int {
        state.withLock { Int.random(in: range, using: &$0.random) }
    }

    /// Sets the clock, as an operator would.
    func jump(milliseconds: Int64) { state.withLock { $0.now += milliseconds } }

    var effects: AppleEffects {
        AppleEffects(
            exchange: { _ async throws(AppleConnectionError) in throw AppleConnectionError(.unreachable) },
            clock: { self.now }, entropy: { [UInt8](repeating: 0, count: $0) }, pause: { await self.pause($0) })
    }

    func pause(_ milliseconds: Int64) async {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { sleeper in
                let isOver = state.withLock { state in
                    if Task.isCancelled { return true }
                    state.alarms.append(Alarm(at: state.now + max(milliseconds, 0), number: number, sleeper: sleeper))
                    return false
                }
                if isOver { sleeper.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let place = state.alarms.firstIndex { $0.number == number }
                return place.map { state.alarms.remove(at: $0).sleeper }
            }
            sleeper?.resume()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
    }

    /// Runs all tasks, in an order that the seed decides. Returns false if a task waits for ever.
    func run(_ body: @escaping @Sendable () async -> Void) -> Bool {
        let isOver = Locked(false)
        Task(executorPreference: self) {
            await body()
            isOver.withLock { $0 = true }
        }
        while true {
            let job = state.withLock { state in
                let place = state.jobs.indices.randomElement(using: &state.random)
                return place.map { state.jobs.remove(at: $0) }
            }
            if let job {
                job.runSynchronously(on: asUnownedTaskExecutor())
            } else if isOver.withLock({ $0 }) {
                return true
            } else if !ring() {
                return false
            }
        }
    }

    private func ring() -> Bool {
        let sleeper = state.withLock { state in
            guard let next = state.alarms.indices.min(by: { state.alarms[$0].at < state.alarms[$1].at }) else {
                return nil as CheckedContinuation<Void, Never>?
            }
            let alarm = state.alarms.remove(at: next)
            state.now = max(state.now, alarm.at)
            return alarm.sleeper
        }
        sleeper?.resume()
        return sleeper != nil
    }
}

/// SplitMix64.
struct SeededRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
