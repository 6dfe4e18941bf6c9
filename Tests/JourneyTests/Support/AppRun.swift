import TillThreads

/// One run of an app, from the launch to the kill, as a row of steps: each write to the disk, each request to the
/// server or to the store, and each answer. From the moment of the kill nothing that it does reaches anybody.
final class AppRun: Sendable {
    /// The so many-th of its name: what runs beside each other comes in no particular order, but this is the same
    /// every time.
    struct Step: Hashable, Sendable, CustomStringConvertible {
        let name: String
        let number: Int
        var description: String { "\(name) (\(number))" }
    }

    private struct State {
        var steps: [Step] = []
        var counts: [String: Int] = [:]
        var end: Step?
        var isDead = false
    }

    private let state: Locked<State>

    /// - Parameter end: the step at which it is killed: it is not taken any more.
    init(killedAt end: Step? = nil) { state = Locked(State(end: end)) }

    /// One step further; false if the app is dead by then.
    func step(_ name: String) -> Bool {
        state.withLock { state in
            guard !state.isDead else { return false }
            state.counts[name, default: 0] += 1
            let step = Step(name: name, number: state.counts[name] ?? 1)
            state.isDead = step == state.end
            if !state.isDead { state.steps.append(step) }
            return !state.isDead
        }
    }

    func kill() { state.withLock { $0.isDead = true } }

    var isDead: Bool { state.withLock { $0.isDead } }
    var steps: [Step] { state.withLock { $0.steps } }
}
