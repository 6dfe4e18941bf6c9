import TillThreads

/// Holds requests until their time is over or they are released.
///
/// Without a `pause` effect no request waits. A request released before it starts to wait does not wait.
final class DelayedRequests: Sendable {
    private enum Ticket {
        /// The place is taken, and its request has not started to wait.
        case coming
        case waiting(CheckedContinuation<Void, Never>)
    }

    private struct State {
        var tickets: [UInt64: Ticket] = [:]
        var last: UInt64 = 0
    }

    private let state = Locked(State())
    private let pause: (@Sendable (Int64) async -> Void)?

    /// - Parameter pause: returns after the given number of milliseconds, or at once when the calling task is
    ///   cancelled.
    init(pause: (@Sendable (Int64) async -> Void)?) { self.pause = pause }

    var canWait: Bool { pause != nil }

    /// Takes a place; the caller then waits in it.
    func makeTicket() -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.tickets[state.last] = .coming
            return state.last
        }
    }

    /// Waits the given number of milliseconds, unless released earlier or cancelled.
    func wait(_ milliseconds: Int64, in ticket: UInt64) async {
        if let pause, milliseconds > 0 {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await pause(milliseconds) }
                group.addTask { await self.suspend(in: ticket) }
                await group.next()
                group.cancelAll()
            }
        }
        release(ticket)
    }

    /// The same, where only `releaseAll` releases the request early.
    func wait(_ milliseconds: Int64) async { await wait(milliseconds, in: makeTicket()) }

    func release(_ ticket: UInt64) { wake(state.withLock { $0.tickets.removeValue(forKey: ticket) }) }

    func releaseAll() {
        let tickets = state.withLock { state in
            defer { state.tickets = [:] }
            return Array(state.tickets.values)
        }
        for ticket in tickets { wake(ticket) }
    }

    private func wake(_ ticket: Ticket?) {
        if case .waiting(let sleeper)? = ticket { sleeper.resume() }
    }

    private func suspend(in ticket: UInt64) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { sleeper in
                let isOver = state.withLock { state in
                    guard state.tickets[ticket] != nil, !Task.isCancelled else { return true }
                    state.tickets[ticket] = .waiting(sleeper)
                    return false
                }
                if isOver { sleeper.resume() }
            }
        } onCancel: {
            release(ticket)
        }
    }
}
