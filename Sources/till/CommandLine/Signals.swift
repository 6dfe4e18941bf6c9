import TillThreads

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// SIGINT, SIGTERM, SIGHUP and SIGUSR2 for asynchronous code.
///
/// The handler only writes the signal's number into a pipe, and a dedicated thread reads it there, so no other code
/// runs inside a handler. After `waitForStop()` was called, the first signal requests an orderly shutdown; a second
/// one, or any signal before `waitForStop()`, ends the process at once by the default action.
///
/// `sigwait` with blocked signals does not work: under an async `main`, libdispatch parks the main thread in
/// `sigsuspend` with an empty mask, where a blocked signal still takes its default action. A signal source of
/// libdispatch loses signals that arrive before it is registered.
final class Signals: Sendable {
    private struct State {
        var isAwaited = false
        var isStopping = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        /// A SIGHUP that no call has returned yet.
        var hasHungUp = false
        var hangUpWaiter: CheckedContinuation<Bool, Never>?
        var upgrades: AsyncStream<Void>.Continuation?
    }

    private let state = Locked(State())

    /// Written once, before the reading thread starts.
    nonisolated(unsafe) private var pipeOut: Int32 = -1

    private init() {}

    /// Installs the handlers, and ignores SIGPIPE, so that a closed connection is an error of `write`. Call it once,
    /// before any wait.
    static func take() -> Signals {
        signal(SIGPIPE, SIG_IGN)
        let signals = Signals()
        var ends: [Int32] = [-1, -1]
        // Without a pipe or a thread the signals keep their default action.
        guard pipe(&ends) == 0 else { return signals }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        signals.pipeOut = ends[0]
        pipeIn = ends[1]
        // The thread runs until the process ends.
        guard SystemThread.detached({ signals.deliver() }) else { return signals }
        for number in [SIGINT, SIGTERM] { install(number) { note($0) } }
        return signals
    }

    /// From now on a signal requests a shutdown. The returned function waits for it; it returns at once if a signal
    /// came already, and when its task is cancelled.
    func waitForStop() -> @Sendable () async -> Void {
        state.withLock { $0.isAwaited = true }
        return { await self.untilStopped() }
    }

    /// From now on SIGUSR2 is an element of the returned stream; before, it ends the process by its default action.
    func upgradeRequests() -> AsyncStream<Void> {
        let (requests, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        state.withLock { $0.upgrades = continuation }
        install(SIGUSR2) { note($0) }
        return requests
    }

    private func untilStopped() async {
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

    /// From now on SIGHUP requests work instead of ending the process. The handler is installed only now, so that
    /// other commands end with their terminal, and keep running under `nohup`.
    func waitForHangUp() -> @Sendable () async -> Bool {
        if pipeOut >= 0 { install(SIGHUP) { note($0) } }
        return { await self.untilHungUp() }
    }

    private func untilHungUp() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    if state.hasHungUp {
                        state.hasHungUp = false
                        return true
                    }
                    state.hangUpWaiter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            takeHangUpWaiter()?.resume(returning: false)
        }
    }

    private func takeHangUpWaiter() -> CheckedContinuation<Bool, Never>? {
        state.withLock { state in
            defer { state.hangUpWaiter = nil }
            return state.hangUpWaiter
        }
    }

    private func hungUp() {
        let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            defer { state.hangUpWaiter = nil }
            state.hasHungUp = state.hangUpWaiter == nil
            return state.hangUpWaiter
        }
        waiter?.resume(returning: true)
    }

    private func deliver() -> Never {
        while true {
            var number: UInt8 = 0
            guard read(pipeOut, &number, 1) == 1 else { continue }
            switch Int32(number) {
            case SIGHUP:
                hungUp()
                continue
            case SIGUSR2:
                state.withLock { $0.upgrades }?.yield()
                continue
            default: break
            }
            let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
                guard state.isAwaited, !state.isStopping else { return nil }
                state.isStopping = true
                defer { state.waiters = [:] }
                return Array(state.waiters.values)
            }
            guard let waiters else {
                signal(Int32(number), SIG_DFL)
                kill(getpid(), Int32(number))
                continue
            }
            for waiter in waiters { waiter.resume() }
        }
    }
}

/// The handler's end of the pipe; a global, because a handler has no context. Written once, before the handler is
/// installed.
nonisolated(unsafe) private var pipeIn: Int32 = -1

/// The handler, which uses only async-signal-safe calls.
private func note(_ number: Int32) {
    let saved = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(pipeIn, &byte, 1)
    errno = saved
}

private func install(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
    var action = sigaction()
    #if canImport(Glibc)
        action.__sigaction_handler.sa_handler = handler
    #else
        action.__sigaction_u.__sa_handler = handler
    #endif
    sigemptyset(&action.sa_mask)
    action.sa_flags = SA_RESTART
    sigaction(number, &action, nil)
}
