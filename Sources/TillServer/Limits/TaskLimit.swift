import Synchronization
import TillThreads

/// Lets a limited number of tasks into a part of the program at the same time. Further ones wait and enter in the order
/// of their arrival.
final class TaskLimit: Sendable {
    private let state: Locked<State>
    private let count: Int

    private struct State {
        var free: Int
        /// The waiting tasks; those before `first` have entered.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var first = 0
    }

    init(_ count: Int) {
        self.count = count
        state = Locked(State(free: count))
    }

    /// How many tasks have a place.
    var inside: Int { state.withLock { count - $0.free } }

    /// How many tasks wait.
    var waiting: Int { state.withLock { $0.waiting.count - $0.first } }

    /// Waits for a place. The task holds it until ``Place/leave()``, or until it releases the place.
    func enter() async -> Place {
        if !state.withLock({ Self.enter(&$0) }) {
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if Self.enter(&state) { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if isFree { continuation.resume() }
            }
        }
        return Place(self)
    }

    /// The place of one task.
    final class Place: Sendable {
        private let limit: TaskLimit
        private let isHeld = Atomic<Bool>(true)

        fileprivate init(_ limit: TaskLimit) { self.limit = limit }

        deinit { leave() }

        /// Leaves early; later calls do nothing.
        func leave() {
            if isHeld.exchange(false, ordering: .relaxed) { limit.leave() }
        }
    }

    private static func enter(_ state: inout State) -> Bool {
        guard state.free > 0 else { return false }
        state.free -= 1
        return true
    }

    /// Passes the place to the task that has waited longest, so no later one overtakes it.
    fileprivate func leave() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.first < state.waiting.count else {
                state.free += 1
                return nil
            }
            defer {
                state.first += 1
                // Removes those that have entered; half of the list at a time, so that a removal costs little.
                if 2 * state.first >= state.waiting.count {
                    state.waiting.removeFirst(state.first)
                    state.first = 0
                }
            }
            return state.waiting[state.first]
        }
        next?.resume()
    }
}
