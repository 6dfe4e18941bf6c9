import CTillMicroHTTPD
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Enforces a running daemon's deadlines, and stops it without losing a response. Used by one thread.
struct DaemonSupervisor: @unchecked Sendable {
    let daemon: OpaquePointer
    let socket: Int32
    let core: ListenerCore

    /// A client that was just answered may already have sent its next request; requests are answered for this long.
    private static let quietMilliseconds = 200
    /// The time in which responses written at the end of the grace period are sent.
    private static let closingMilliseconds = 2_000

    /// Closes connections past their deadline. libmicrohttpd's own time-out restarts with each byte, so one byte a
    /// second would hold a connection for ever.
    func enforceDeadlines() {
        let now = monotonicMilliseconds()
        var slow: [(slot: Int, exchange: Exchange)] = []
        core.table.withLock { table in
            for slot in table.slots.indices where table.slots[slot].deadline <= now {
                switch table.slots[slot].phase {
                case .header, .body:
                    if let exchange = table.slots[slot].exchange { slow.append((slot, exchange)) }
                case .handling:
                    // Await the response and send it even if late: a commit may be in progress.
                    table.slots[slot].exchange?.task?.cancel()
                    table.postpone(slot)
                case .waiting, .sending, .lingering, .leaving: table.leave(slot, shut: ListenerCore.shut)
                }
            }
        }
        guard !slow.isEmpty else { return }
        let farewell = Framing.closingBytes(core.configuration.refusal(.tooSlow, nil))
        core.table.withLock { table in
            for (slot, exchange) in slow
            where table.slots[slot].exchange === exchange && table.slots[slot].deadline <= now {
                ListenerCore.send(farewell, to: table.slots[slot].socket)
                table.leave(slot, shut: ListenerCore.shut)
            }
        }
    }

    /// Accepts no new connection and waits until every request is served or the grace period ends. Without an open
    /// connection, no request can be in transit.
    func drain(until graceEnd: () -> Int) {
        core.isStopping.store(true, ordering: .sequentiallyConsistent)
        MHD_quiesce_daemon(daemon)
        shutdown(socket, shutBoth)
        let quietUntil = monotonicMilliseconds() + Self.quietMilliseconds
        while monotonicMilliseconds() < max(quietUntil, graceEnd()) {
            if monotonicMilliseconds() >= quietUntil, core.table.withLock({ $0.busy }) == 0 { return }
            enforceDeadlines()
            if core.table.withLock({ $0.count }) == 0 { return }
            usleep(5_000)
        }
        cutOff()
    }

    /// At the end of the grace period: cancels the handlers that still run and answers their clients 503.
    private func cutOff() {
        let running = core.table.withLock { table in
            table.slots.compactMap { $0.phase == .handling ? $0.exchange : nil }
        }
        for exchange in running {
            let task = core.table.withLock { _ in exchange.task }
            task?.cancel()
            let refusal = ListenerRefusal.cutOff(retryAfter: ListenerCore.retryAfterSeconds)
            core.finish(exchange, core.configuration.refusal(refusal, nil))
        }
        let end = monotonicMilliseconds() + Self.closingMilliseconds
        while monotonicMilliseconds() < end, core.table.withLock({ $0.busy }) > 0 { usleep(5_000) }
    }

    func shutDown() {
        MHD_stop_daemon(daemon)
        close(socket)
    }
}

/// Milliseconds of a monotonic clock. The coarse clock is a few milliseconds off, which deadlines tolerate, and cheap
/// to read on every request.
func monotonicMilliseconds() -> Int {
    var time = timespec()
    #if canImport(Glibc)
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    #else
        clock_gettime(CLOCK_MONOTONIC, &time)
    #endif
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}
