import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// SIGINT and SIGTERM as something async code can wait for.
///
/// Both are blocked in every thread and taken by one thread of our own with `sigwait`, so no code runs inside a
/// signal handler. The first signal is a request that whoever waits in `untilStopped()` answers by an orderly stop; a
/// second one, or one that nobody waits for, ends the process at once as it would have without us.
///
/// The mask is inherited by child processes: who starts one gives it an empty mask (`POSIX_SPAWN_SETSIGMASK`).
final class Signals: Sendable {
    private struct State {
        var isStopping = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    private init() {}

    /// Takes the signals over, and ignores SIGPIPE (a closed connection is an error of `write`, not a death). Must be
    /// called before the process has a second thread: threads inherit the mask of their maker.
    static func take() -> Signals {
        signal(SIGPIPE, SIG_IGN)
        var taken = takenSignals()
        pthread_sigmask(SIG_BLOCK, &taken, nil)
        let signals = Signals()
        // The thread lives as long as the process and owns this reference.
        let context = Unmanaged.passRetained(signals).toOpaque()
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Signals>.fromOpaque(context).takeUnretainedValue().deliver()
            }, context)
        if failure == 0 {
            pthread_detach(thread)
        } else {
            // No thread to take them: let the signals end the process as they always did.
            pthread_sigmask(SIG_UNBLOCK, &taken, nil)
        }
        return signals
    }

    /// Returns at the first SIGINT or SIGTERM, at once if it came already, or when the task is cancelled.
    func untilStopped() async {
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isStopping || Task.isCancelled { return true }
                    state.waiters[waiter] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume()
        }
    }

    private func deliver() -> Never {
        var taken = takenSignals()
        while true {
            var number: Int32 = 0
            guard sigwait(&taken, &number) == 0 else { continue }
            let waiters = state.withLock { state in
                let waiters = state.isStopping ? [] : Array(state.waiters.values)
                state.isStopping = state.isStopping || !waiters.isEmpty
                state.waiters = [:]
                return waiters
            }
            if waiters.isEmpty { end(by: number) }
            for waiter in waiters { waiter.resume() }
        }
    }

    private func end(by number: Int32) {
        signal(number, SIG_DFL)
        var one = sigset_t()
        sigemptyset(&one)
        sigaddset(&one, number)
        pthread_sigmask(SIG_UNBLOCK, &one, nil)
        raise(number)
    }
}

private func takenSignals() -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGINT)
    sigaddset(&set, SIGTERM)
    return set
}
