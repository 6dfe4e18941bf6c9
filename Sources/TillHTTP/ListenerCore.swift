import CTillMicroHTTPD
import Synchronization
import TillThreads

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The work of a ``Listener`` on libmicrohttpd's threads: request checks, body, handler, response.
final class ListenerCore: @unchecked Sendable {
    typealias BodyLimit = @Sendable (HTTPMethod, String) -> Int
    typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse

    let configuration: ListenerConfiguration
    let bodyLimit: BodyLimit
    let admission: Admission.Decide
    let handler: Handler
    let table: Locked<ConnectionTable>
    let live = ExchangeCounter()
    private let memory: BodyMemory
    /// Whether each answer ends its connection, because the listener is about to stop.
    let isLeaving = Atomic<Bool>(false)
    /// Whether new requests are refused, because the time for answering them is over.
    let isStopping = Atomic<Bool>(false)

    /// A body on a path that accepts none is read and discarded up to this size, so that its sender receives the
    /// response, usually a 404.
    static let unwantedBodyBound = 1 << 20
    /// After a refusal, this much more is read and discarded before the connection is closed: closing a socket with
    /// unread bytes resets it, and the client may lose a response that it has not read yet (RFC 9112 §9.6).
    static let lingerBytes = 8 << 20
    static let lingerMilliseconds = 2_000
    static let retryAfterSeconds = 5

    init(
        configuration: ListenerConfiguration, connectionLimit: Int, bodyLimit: @escaping BodyLimit,
        admission: @escaping Admission.Decide, handler: @escaping Handler
    ) {
        self.configuration = configuration
        self.bodyLimit = bodyLimit
        self.admission = admission
        self.handler = handler
        memory = BodyMemory(limit: configuration.bodyMemoryLimit)
        table = Locked(
            ConnectionTable(limit: connectionLimit, limitPerAddress: configuration.connectionLimitPerAddress))
    }

    // MARK: Connections

    func admits(_ address: UnsafePointer<sockaddr>?) -> Bool {
        let key = PeerAddress(address, keyOnly: true).key
        return table.withLock { $0.admit(key, shut: Self.shut) }
    }

    func opened(_ connection: OpaquePointer) -> Int {
        let peer = PeerAddress(till_mhd_client_address(connection))
        let deadline = monotonicMilliseconds() + configuration.headerDeadline
        return table.withLock { $0.open(socket: till_mhd_socket(connection), peer: peer, deadline: deadline) }
    }

    func closed(slot: Int) {
        table.withLock { $0.close(slot) }
    }

    static func shut(_ socket: Int32) { shutdown(socket, shutBoth) }

    // MARK: Requests

    /// Called for a request line; `raw` is the target as sent.
    func named(_ connection: OpaquePointer, slot: Int, raw: UnsafePointer<CChar>?) -> Exchange {
        let count = raw.map { strlen($0) } ?? 0
        let bytes = UnsafeRawBufferPointer(start: raw, count: count).bindMemory(to: UInt8.self)
        let late = isStopping.load(ordering: .relaxed)
        let deadline = monotonicMilliseconds() + configuration.headerDeadline
        let peer = table.withLock { $0.slots[slot].peer }
        let exchange = Exchange(
            connection: connection, slot: slot, peer: peer, isLate: late, raw: bytes, live: live,
            memory: memory)
        table.withLock { $0.begin(slot, exchange, deadline: deadline) }
        if case .failure(.tooManyQueryItems) = exchange.target { hangUp(exchange, .badRequest(.tooManyQueryItems)) }
        return exchange
    }

    /// libmicrohttpd's one callback: called when the header is complete, for each piece of the body, once at its end,
    /// and whenever the connection is resumed.
    func access(
        _ exchange: Exchange, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>,
        bytes: UnsafePointer<CChar>?, count: UnsafeMutablePointer<Int>
    ) -> MHD_Result {
        switch exchange.stage {
        case .named: return open(exchange, method: method, version: version)
        case .receiving where count.pointee > 0:
            let piece = UnsafeRawBufferPointer(start: bytes, count: count.pointee)
            count.pointee = 0
            return receive(piece, exchange)
        case .receiving: return run(exchange)
        case .running: return answer(exchange)
        case .lingering where count.pointee > 0:
            exchange.received += count.pointee
            count.pointee = 0
            return exchange.received > Self.lingerBytes ? .NO : .YES
        case .lingering, .answered: return .NO
        }
    }

    func ended(_ exchange: Exchange) {
        let deadline = monotonicMilliseconds() + configuration.idleDeadline
        table.withLock { $0.end(exchange.slot, deadline: deadline) }
    }

    private func open(
        _ exchange: Exchange, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>
    ) -> MHD_Result {
        exchange.stage = .receiving
        let isSeamless = WireHeaderReader.read(
            exchange, method: method, version: version, countLimit: configuration.headerCountLimit)
        if let refusal = refusal(exchange, isSeamless, method: method, version: version) {
            return refuse(exchange, refusal)
        }
        guard exchange.validator.announcesBody else { return .YES }
        if let response = admit(exchange, length: exchange.validator.contentLength ?? 0) {
            return refuse(exchange, response)
        }
        // The announced length is unverified, so memory is reserved only up to a limit.
        exchange.body.reserveCapacity(
            min(exchange.validator.contentLength ?? 0, exchange.bodyLimit, ListenerConfiguration.smallBody))
        let deadline = monotonicMilliseconds() + configuration.bodyDeadline
        table.withLock { $0.set(exchange.slot, .body, deadline: deadline) }
        return .YES
    }

    /// Asks the admission check once, if the body is long; returns the response if it refuses.
    private func admit(_ exchange: Exchange, length: Int) -> HTTPResponse? {
        guard length > ListenerConfiguration.bodyBeforeAdmission, exchange.bodyLimit > 0, !exchange.isAdmitted,
            let head = request(of: exchange)
        else { return nil }
        switch admission(head, exchange.validator.contentLength ?? exchange.bodyLimit) {
        case .admitted(let admissionToken):
            exchange.isAdmitted = true
            exchange.admissionToken = admissionToken
            return nil
        case .refused(let response): return response
        }
    }

    /// The request as handlers receive it; nil if its target is invalid.
    private func request(of exchange: Exchange, body: [UInt8] = []) -> HTTPRequest? {
        guard case .success(let target) = exchange.target else { return nil }
        return HTTPRequest(
            method: exchange.method, path: target.path, query: target.query, headers: exchange.validator.headers,
            body: body, peer: exchange.peer,
            client: configuration.trustedProxies.client(of: exchange.peer, headers: exchange.validator.headers))
    }

    /// The refusal for a complete header, if any, in the order that is most useful in a log.
    private func refusal(
        _ exchange: Exchange, _ isSeamless: Bool, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>
    ) -> ListenerRefusal? {
        let validator = exchange.validator
        if validator.count > configuration.headerCountLimit
            || till_mhd_header_size(exchange.connection) > configuration.headerSizeLimit
        {
            return .headerTooLarge
        }
        if let bad = validator.verdict(isHTTP10: strcmp(version, "HTTP/1.0") == 0) { return .badRequest(bad) }
        if !isSeamless { return .badRequest(.ambiguousLines) }
        guard let method = HTTPMethod(rawValue: String(cString: method)) else { return .methodNotImplemented }
        exchange.method = method
        let path: String
        switch exchange.target {
        case .success(let target): path = target.path
        case .failure(let bad): return .badRequest(bad)
        }
        if exchange.isLate { return .stopping(retryAfter: Self.retryAfterSeconds) }
        guard validator.announcesBody else { return nil }
        exchange.bodyLimit = max(0, bodyLimit(method, path))
        if let length = validator.contentLength, length > exchange.reservedBytes {
            return .bodyTooLarge(limit: exchange.bodyLimit)
        }
        return nil
    }

    private func receive(_ piece: UnsafeRawBufferPointer, _ exchange: Exchange) -> MHD_Result {
        exchange.received += piece.count
        guard exchange.received <= exchange.reservedBytes else {
            exchange.dropBody()
            return refuse(exchange, .bodyTooLarge(limit: exchange.bodyLimit))
        }
        if let response = admit(exchange, length: exchange.received) {
            exchange.dropBody()
            return refuse(exchange, response)
        }
        guard exchange.bodyLimit == 0 || exchange.append(piece) else {
            exchange.dropBody()
            return refuse(exchange, .crowded(retryAfter: Self.retryAfterSeconds))
        }
        return .YES
    }

    /// Passes the complete request to the handler, and suspends the connection unless the response is ready.
    private func run(_ exchange: Exchange) -> MHD_Result {
        exchange.stage = .running
        let deadline = monotonicMilliseconds() + configuration.handlerDeadline
        // A connection that was just cut off has received its refusal, and must not also be served.
        guard table.withLock({ $0.set(exchange.slot, .handling, deadline: deadline) }) else { return .NO }
        guard let request = request(of: exchange, body: exchange.body) else { return .NO }
        exchange.validator = HeaderValidator()
        exchange.body = []
        // The only place that starts a task, because libmicrohttpd's threads are not part of Swift's concurrency. The
        // exchange retains the task, so it is cancelled at its deadline.
        let task: Task<Void, Never>
        if let executor = configuration.executor {
            task = Task(executorPreference: executor) { [self] in await handle(request, exchange) }
        } else {
            task = Task.immediate { [self] in await handle(request, exchange) }
        }
        table.withLock { _ in exchange.task = task }
        return exchange.park() ? .YES : answer(exchange)
    }

    private func handle(_ request: HTTPRequest, _ exchange: Exchange) async {
        finish(exchange, await handler(request))
    }

    /// Stores the first response to a request. For a hang-up it stores none, and libmicrohttpd closes the connection:
    /// the request was read to its end, so the client sees a close, not a reset.
    ///
    /// - Returns: whether this response was the first.
    @discardableResult
    func finish(_ exchange: Exchange, _ response: HTTPResponse) -> Bool {
        guard exchange.claim() else { return false }
        exchange.put(response.isHangUp ? nil : DaemonResponse(response, closing: isLeaving.load(ordering: .relaxed)))
        return true
    }

    private func answer(_ exchange: Exchange) -> MHD_Result {
        exchange.stage = .answered
        guard let answer = exchange.takeAnswer() else { return .NO }
        let deadline = monotonicMilliseconds() + configuration.sendDeadline
        table.withLock { $0.set(exchange.slot, .sending, deadline: deadline) }
        return answer.queue(on: exchange.connection)
    }

    // MARK: Refusals

    private func refuse(_ exchange: Exchange, _ refusal: ListenerRefusal) -> MHD_Result {
        refuse(exchange, configuration.refusal(refusal, exchange.validator.acceptLanguage))
    }

    private func refuse(_ exchange: Exchange, _ response: HTTPResponse) -> MHD_Result {
        // A client that waits for "100 Continue" has sent no body, and libmicrohttpd accepts a response before a body
        // begins.
        if exchange.received == 0, !exchange.validator.announcesBody || exchange.validator.expectsContinue {
            exchange.stage = .answered
            let deadline = monotonicMilliseconds() + configuration.sendDeadline
            table.withLock { $0.set(exchange.slot, .sending, deadline: deadline) }
            return DaemonResponse(response, closing: true)?.queue(on: exchange.connection) ?? .NO
        }
        exchange.stage = .lingering
        let deadline = monotonicMilliseconds() + Self.lingerMilliseconds
        exchange.received = 0
        table.withLock { table in
            Self.send(Framing.closingBytes(response), to: table.slots[exchange.slot].socket)
            table.set(exchange.slot, .lingering, deadline: deadline)
        }
        return .YES
    }

    /// Refuses before the header is complete: libmicrohttpd keeps a record of each query item, and when the records
    /// exceed its buffer it neither answers nor closes.
    private func hangUp(_ exchange: Exchange, _ refusal: ListenerRefusal) {
        let bytes = Framing.closingBytes(configuration.refusal(refusal, nil))
        table.withLock { table in
            Self.send(bytes, to: table.slots[exchange.slot].socket)
            table.leave(exchange.slot, shut: Self.shut)
        }
    }

    /// Writes a response to the socket directly, because libmicrohttpd writes nothing while a request is arriving, and
    /// closes the sending side. Best effort: a client that does not read gets a closed connection.
    static func send(_ bytes: [UInt8], to socket: Int32) {
        _ = bytes.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, noSignal | dontWait) }
        shutdown(socket, shutWriting)
    }
}

extension Exchange {
    /// The maximum of body bytes that are read without a refusal.
    fileprivate var reservedBytes: Int { bodyLimit > 0 ? bodyLimit : ListenerCore.unwantedBodyBound }
}
