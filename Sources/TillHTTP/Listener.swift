import CTillMicroHTTPD
import Synchronization
import TillThreads

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An HTTP/1.1 server over libmicrohttpd, strict in parsing and limited in every resource.
///
/// It answers these cases itself, through ``ListenerConfiguration/refusal``: requests that break the rules of HTTP,
/// bodies over their limit, and requests that arrive too slowly. The handler receives every other request, complete.
public final class Listener: Sendable {
    private let engine: ListenerEngine

    /// Binds the address and starts to serve.
    ///
    /// - Parameters:
    ///   - bodyLimit: the maximum body in bytes for a method and a (decoded) path; a longer one is answered 413. With 0
    ///     the body is discarded, and the handler called without it.
    ///   - admission: decides whether a body over ``ListenerConfiguration/bodyBeforeAdmission`` is read. It runs on a
    ///     connection's own thread, so it must be quick and never wait.
    ///   - handler: called once for each complete request. Its result is sent, to `HEAD` without the body;
    ///     ``HTTPResponse/hangUp`` closes the connection.
    public init(
        configuration: ListenerConfiguration = ListenerConfiguration(),
        bodyLimit: @escaping @Sendable (HTTPMethod, String) -> Int,
        admission: @escaping Admission.Decide = { _, _ in .admitted() },
        handler: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) throws(ListenerError) {
        engine = try ListenerEngine(
            configuration: configuration, bodyLimit: bodyLimit, admission: admission, handler: handler)
    }

    /// Stops without waiting; use ``stop(grace:)`` to let requests finish.
    deinit { engine.requestStop(DrainLimits(graceEnd: 0, arrivalEnd: 0, quiet: 0, keepsSocket: true), done: nil) }

    /// The port it listens on.
    public var port: UInt16 { engine.port }

    /// Requests that are still in memory: begun and not finished.
    public var requestsUnderWay: Int { engine.core.live.value.load(ordering: .relaxed) }

    /// Open connections.
    public var connections: Int { engine.core.table.withLock { $0.count } }

    /// The listening socket under a descriptor of the caller's, for a process that goes on to accept connections after
    /// ``handOver(grace:)``. The caller closes it.
    public func duplicateSocket() throws(ListenerError) -> ListeningSocket { try engine.socket.duplicate() }

    /// How many requests began more than that many milliseconds ago and are not answered.
    public func requests(olderThan milliseconds: Int) -> Int {
        let (configuration, now) = (engine.core.configuration, monotonicMilliseconds())
        func began(_ slot: ConnectionTable.Slot) -> Int? {
            switch slot.phase {
            case .header: slot.deadline - configuration.headerDeadline
            case .body: slot.deadline - configuration.bodyDeadline
            // At its deadline a handler is cancelled, and the deadline becomes the maximum.
            case .handling: slot.deadline == .max ? 0 : slot.deadline - configuration.handlerDeadline
            case .waiting, .sending, .lingering, .leaving: nil
            }
        }
        return engine.core.table.withLock { table in
            table.slots.count { slot in began(slot).map { now - $0 > milliseconds } ?? false }
        }
    }

    /// From now on each answer says `Connection: close`, so that clients come back with new connections. The listener
    /// goes on to accept them.
    public func closeConnectionsAfterAnswers() {
        engine.core.isLeaving.store(true, ordering: .sequentiallyConsistent)
    }

    /// Stops permanently. The listener accepts no new connection, answers requests that have begun and those that still
    /// arrive on open connections, then closes all connections. Returns when that is done.
    ///
    /// - Parameter seconds: how long requests may take to finish. Requests that are still running then are answered
    ///   503, and their handlers' tasks cancelled.
    /// - Returns: how many requests were cut off.
    @discardableResult
    public func stop(grace seconds: Int) async -> Int {
        let end = monotonicMilliseconds() + max(0, seconds) * 1000
        return await stop(
            DrainLimits(graceEnd: end, arrivalEnd: end, quiet: 200, keepsSocket: engine.socket.isHeldElsewhere))
    }

    /// As ``stop(grace:)``, for a socket on which another process will accept: the socket keeps listening, new
    /// connections wait in it, and the wait is kept short. So incomplete requests get half a second, not `seconds`.
    @discardableResult
    public func handOver(grace seconds: Int) async -> Int {
        let now = monotonicMilliseconds()
        return await stop(
            DrainLimits(graceEnd: now + max(0, seconds) * 1000, arrivalEnd: now + 500, quiet: 50, keepsSocket: true))
    }

    private func stop(_ limits: DrainLimits) async -> Int {
        await withCheckedContinuation { continuation in
            engine.requestStop(limits) { continuation.resume(returning: $0) }
        }
    }
}

/// The daemon, and the thread that enforces its deadlines and stops it.
final class ListenerEngine: Sendable {
    let core: ListenerCore
    let socket: ListeningSocket
    var port: UInt16 { socket.port }
    private let stopRequest = Locked(StopRequest())

    private struct StopRequest {
        var limits: DrainLimits?
        /// How many requests were cut off; nil until the listener has stopped.
        var cut: Int?
        var waiters: [@Sendable (Int) -> Void] = []
    }

    /// The interval of the deadline checks.
    static let tickMicroseconds: UInt32 = 100_000

    init(
        configuration: ListenerConfiguration, bodyLimit: @escaping ListenerCore.BodyLimit,
        admission: @escaping Admission.Decide, handler: @escaping ListenerCore.Handler
    ) throws(ListenerError) {
        guard WireHeaderReader.isKnown(configuration.libraryVersion) || configuration.takesUnknownLibrary else {
            throw .unknownLibrary(version: configuration.libraryVersion)
        }
        // Files, databases and outgoing connections need descriptors too.
        let affordable = max(64, raiseOpenFileLimit() - 512 - ConnectionTable.slack)
        core = ListenerCore(
            configuration: configuration, connectionLimit: min(configuration.connectionLimit, affordable),
            bodyLimit: bodyLimit, admission: admission, handler: handler)
        if let inherited = configuration.socket {
            socket = try inherited.duplicate()
        } else {
            socket = try ListeningSocket(address: configuration.address, port: configuration.port)
        }
        guard let daemon = Self.start(core, socket, threads: max(1, configuration.threads)) else {
            socket.close()
            throw .system(step: "MHD_start_daemon", code: errno)
        }
        let supervisor = DaemonSupervisor(daemon: daemon, socket: socket, core: core)
        guard SystemThread.detached({ [self] in supervise(supervisor) }) else {
            supervisor.shutDown()
            throw .system(step: "pthread_create", code: errno)
        }
    }

    func requestStop(_ limits: DrainLimits, done: (@Sendable (Int) -> Void)?) {
        let cut = stopRequest.withLock { request in
            request.limits = request.limits.map { $0.combined(with: limits) } ?? limits
            if request.cut == nil, let done { request.waiters.append(done) }
            return request.cut
        }
        if let cut { done?(cut) }
    }

    /// The keeper's thread: enforces deadlines until a stop is requested, then drains and stops the daemon.
    private func supervise(_ supervisor: DaemonSupervisor) {
        var limits: DrainLimits?
        while limits == nil {
            supervisor.enforceDeadlines()
            usleep(Self.tickMicroseconds)
            limits = stopRequest.withLock { $0.limits }
        }
        guard let limits else { return }
        let cut = supervisor.drain { self.stopRequest.withLock { $0.limits ?? limits } }
        supervisor.shutDown()
        let waiters = stopRequest.withLock { request in
            request.cut = cut
            defer { request.waiters = [] }
            return request.waiters
        }
        for waiter in waiters { waiter(cut) }
    }

    private static func start(_ core: ListenerCore, _ socket: ListeningSocket, threads: Int) -> OpaquePointer? {
        // The listener retains its core until the daemon has stopped, and only the daemon uses this pointer.
        let context = Unmanaged.passUnretained(core).toOpaque()
        // libmicrohttpd divides its limit evenly among its threads; connections are not distributed evenly.
        let limit = (core.table.withLock { $0.limit } + ConnectionTable.slack) * threads
        // Besides the header, the buffer holds a record of each field, query item and cookie, a copy of the cookies,
        // and the head of the response.
        let memory = max(1 << 10, core.configuration.headerSizeLimit) + (16 << 10)
        var options = [
            MHD_OptionItem(option: .LISTEN_SOCKET, value: Int(socket.descriptor), ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_LIMIT, value: limit, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_MEMORY_LIMIT, value: memory, ptr_value: nil),
            till_mhd_keep_escapes(),
            till_mhd_uri_callback(Callbacks.named, context),
            till_mhd_notify_connection(Callbacks.connection, context),
            till_mhd_notify_completed(Callbacks.completed, context),
        ]
        if threads > 1 {
            options.append(
                MHD_OptionItem(option: .THREAD_POOL_SIZE, value: threads, ptr_value: nil))
        }
        options.append(MHD_OptionItem(option: .END, value: 0, ptr_value: nil))
        var flags = MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
        if socket.isIPv6 { flags |= MHD_USE_IPv6.rawValue }
        return options.withUnsafeMutableBufferPointer {
            till_mhd_start(flags, Callbacks.accept, context, Callbacks.access, context, $0.baseAddress)
        }
    }
}

/// libmicrohttpd's callbacks. Their context is the core, which outlives the daemon.
private enum Callbacks {
    private static func core(_ context: UnsafeMutableRawPointer) -> ListenerCore {
        Unmanaged<ListenerCore>.fromOpaque(context).takeUnretainedValue()
    }

    static let accept: MHD_AcceptPolicyCallback = { context, address, _ in
        guard let context else { return .NO }
        return core(context).admits(address) ? .YES : .NO
    }

    /// The socket context carries a connection's place, plus one so that it is never NULL.
    static let connection: MHD_NotifyConnectionCallback = { context, connection, socketContext, code in
        guard let context, let connection, let socketContext else { return }
        if code == .CONNECTION_NOTIFY_STARTED {
            socketContext.pointee = UnsafeMutableRawPointer(bitPattern: core(context).opened(connection) + 1)
        } else if let slot = socketContext.pointee {
            core(context).closed(slot: Int(bitPattern: slot) - 1)
            socketContext.pointee = nil
        }
    }

    /// The connection table owns the exchange; libmicrohttpd only carries the pointer.
    static let named:
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
            context, target, connection in
            guard let context, let connection, let slot = till_mhd_socket_context(connection) else { return nil }
            let exchange = core(context).named(connection, slot: Int(bitPattern: slot) - 1, raw: target)
            // The connection table retains the exchange until libmicrohttpd reports the end of the connection.
            return Unmanaged.passUnretained(exchange).toOpaque()
        }

    static let access: MHD_AccessHandlerCallback = {
        context, _, _, method, version, bytes, count, exchange in
        guard let context, let method, let version, let count, let exchange = exchange?.pointee else { return .NO }
        return core(context).access(
            Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue(), method: method, version: version,
            bytes: bytes, count: count)
    }

    static let completed: MHD_RequestCompletedCallback = { context, _, exchange, _ in
        guard let context, let pointer = exchange?.pointee else { return }
        exchange?.pointee = nil
        core(context).ended(Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue())
    }
}
