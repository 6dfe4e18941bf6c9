import TillThreads

/// Holds requests until their time is over or they are released.
///
/// Without a `pause` effect no request waits. A request released before it starts to wait does not wait.
final class WaitingRoom: Sendable {
    private enum Place {
        /// The place is taken, and its request has not started to wait.
        case coming
        case waiting(CheckedContinuation<Void, Never>)
    }

    private struct State {
        var places: [UInt64: Place] = [:]
        var last: UInt64 = 0
    }

    private let state = Locked(State())
    private let pause: (@Sendable (Int64) async -> Void)?

    /// - Parameter pause: returns after the given number of milliseconds, or at once when the calling task is
    ///   cancelled.
    init(pause: (@Sendable (Int64) async -> Void)?) { self.pause = pause }

    var canWait: Bool { pause != nil }

    /// Takes a place; the caller then waits in it.
    func takePlace() -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.places[state.last] = .coming
            return state.last
        }
    }

    /// Waits the given number of milliseconds, unless released earlier or cancelled.
    func wait(_ milliseconds: Int64, in place: UInt64) async {
        if let pause, milliseconds > 0 {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await pause(milliseconds) }
                group.addTask { await self.sit(in: place) }
                await group.next()
                group.cancelAll()
            }
        }
        letGo(place)
    }

    /// The same, where only `letAllGo` releases the request early.
    func wait(_ milliseconds: Int64) async { await wait(milliseconds, in: takePlace()) }

    func letGo(_ place: UInt64) { wake(state.withLock { $0.places.removeValue(forKey: place) }) }

    func letAllGo() {
        let places = state.withLock { state in
            defer { state.places = [:] }
            return Array(state.places.values)
        }
        for place in places { wake(place) }
    }

    private func wake(_ place: Place?) {
        if case .waiting(let sleeper)? = place { sleeper.resume() }
    }

    private func sit(in place: UInt64) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { sleeper in
                let isOver = state.withLock { state in
                    guard state.places[place] != nil, !Task.isCancelled else { return true }
                    state.places[place] = .waiting(sleeper)
                    return false
                }
                if isOver { sleeper.resume() }
            }
        } onCancel: {
            letGo(place)
        }
    }
}
