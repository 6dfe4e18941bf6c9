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
    let socket: ListeningSocket
    let core: ListenerCore

    /// How long libmicrohttpd's threads may take to hand over a connection that they accepted before they stopped.
    private static let settlingMilliseconds = 20
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

    /// Accepts no new connection and waits until every request is served or the grace period ends. Requests that still
    /// arrive on open connections are served too, and each answer ends its connection. Without an open connection, no
    /// request can be in transit.
    ///
    /// - Returns: how many requests were cut off.
    func drain(until end: () -> DrainLimits) -> Int {
        core.isLeaving.store(true, ordering: .sequentiallyConsistent)
        MHD_quiesce_daemon(daemon)
        // Refuses connections at once, unless another process goes on to accept them.
        if !end().keepsSocket { shutdown(socket.descriptor, shutBoth) }
        let began = monotonicMilliseconds()
        var cut = 0
        while true {
            let (now, limits) = (monotonicMilliseconds(), end())
            guard now < max(began + limits.quiet, limits.graceEnd) else { break }
            if now >= began + Self.settlingMilliseconds, core.table.withLock({ $0.count }) == 0 { return cut }
            if now >= began + limits.quiet, isQuiet { return cut }
            enforceDeadlines()
            if now >= limits.arrivalEnd { cut += cutArriving() }
            usleep(5_000)
        }
        return cut + cutOff()
    }

    /// Whether no request is in progress, and none waits unread in a socket.
    private var isQuiet: Bool {
        core.table.withLock { table in
            guard table.busy == 0 else { return false }
            return !table.slots.contains { slot in
                var byte: UInt8 = 0
                return slot.phase == .waiting && recv(slot.socket, &byte, 1, peek | dontWait) > 0
            }
        }
    }

    /// At the end of the grace period: cancels the handlers that still run, and answers their clients and those of
    /// incomplete requests 503.
    private func cutOff() -> Int {
        core.isStopping.store(true, ordering: .sequentiallyConsistent)
        var cut = cutArriving()
        let running = core.table.withLock { table in
            table.slots.compactMap { $0.phase == .handling ? $0.exchange : nil }
        }
        for exchange in running {
            let task = core.table.withLock { _ in exchange.task }
            task?.cancel()
            let refusal = ListenerRefusal.cutOff(retryAfter: ListenerCore.retryAfterSeconds)
            if core.finish(exchange, core.configuration.refusal(refusal, nil)) { cut += 1 }
        }
        let end = monotonicMilliseconds() + Self.closingMilliseconds
        while monotonicMilliseconds() < end, core.table.withLock({ $0.busy }) > 0 { usleep(5_000) }
        return cut
    }

    /// Answers requests that have not arrived completely 503, and closes their connections.
    private func cutArriving() -> Int {
        let refusal = ListenerRefusal.stopping(retryAfter: ListenerCore.retryAfterSeconds)
        let farewell = Framing.closingBytes(core.configuration.refusal(refusal, nil))
        return core.table.withLock { table in
            var cut = 0
            for slot in table.slots.indices where [.header, .body].contains(table.slots[slot].phase) {
                ListenerCore.send(farewell, to: table.slots[slot].socket)
                table.leave(slot, shut: ListenerCore.shut)
                cut += 1
            }
            return cut
        }
    }

    func shutDown() {
        MHD_stop_daemon(daemon)
        socket.close()
    }
}

/// How long a listener may take to stop, in milliseconds; the ends are times of ``monotonicMilliseconds()``.
struct DrainLimits {
    /// When handlers are cancelled.
    var graceEnd: Int
    /// When requests that have not arrived completely are refused.
    var arrivalEnd: Int
    /// A client that was just answered may already have sent its next request; requests are answered for this long.
    var quiet: Int
    /// Whether another process goes on with the socket.
    var keepsSocket: Bool

    /// Whichever ends earlier.
    func combined(with other: DrainLimits) -> DrainLimits {
        DrainLimits(
            graceEnd: min(graceEnd, other.graceEnd), arrivalEnd: min(arrivalEnd, other.arrivalEnd),
            quiet: min(quiet, other.quiet), keepsSocket: keepsSocket || other.keepsSocket)
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
