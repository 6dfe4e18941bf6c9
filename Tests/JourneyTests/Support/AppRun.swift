import TillThreads

/// One run of an app, from the launch to the kill, as a sequence of steps: each write to the disk, each request to the
/// server or to the store, and each answer. After the kill nothing it does has any effect.
final class AppRun: Sendable {
    /// The n-th step of its name: concurrent steps have no fixed order, but this number is the same every time.
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

    /// - Parameter end: the step at which it is killed; that step is not done.
    init(killedAt end: Step? = nil) { state = Locked(State(end: end)) }

    /// Takes a step; false if the app is dead.
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
