@testable import TillClient

/// Callers that wait for virtual time, until it has passed or their task is cancelled.
final class PretendAlarms: Sendable {
    private struct State {
        var waiting: [Int: (deadline: Int64, continuation: CheckedContinuation<Void, Never>)] = [:]
        var cancelled: Set<Int> = []
        var last = 0
    }

    private let state = Guarded(State())

    var count: Int { state.now.waiting.count }

    func wait(until deadline: Int64) async {
        let ticket = state.withLock { state in
            state.last += 1
            return state.last
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.cancelled.remove(ticket) != nil { return true }
                    state.waiting[ticket] = (deadline, continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { state -> CheckedContinuation<Void, Never>? in
                if let found = state.waiting.removeValue(forKey: ticket) { return found.continuation }
                state.cancelled.insert(ticket)
                return nil
            }?.resume()
        }
    }

    func ring(at time: Int64) {
        let due = state.withLock { state in
            let due = state.waiting.filter { $0.value.deadline <= time }
            for ticket in due.keys { state.waiting[ticket] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }
}
