import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The limits of a response's time and size.
package struct TransportLimits: Hashable, Sendable {
    /// Seconds for the whole exchange, which also ends one that receives a byte per second.
    package var total = 15.0
    /// Seconds without a received byte.
    package var idle = 10.0
    /// The maximum size of a response in bytes.
    package var bytes = 1 << 20

    package init() {}
}

extension Transport {
    /// Uses a `URLSession` of its own, without cookies, cache or stored credentials. Redirects are returned, not
    /// followed: a captive portal's sign-in page is not the server's answer.
    ///
    /// On Linux, Foundation (6.3, `NativeProtocol`) terminates the process if a response ends inside its header, and
    /// delivers a response that requests a password only after the time limit. Use a transport over libcurl there if
    /// servers may be hostile.
    package static func urlSession(limits: TransportLimits = TransportLimits()) -> Transport {
        let sender = SessionSender(limits: limits)
        return Transport { (request) async throws(TransportError) -> TransportResponse in
            try await sender.send(request)
        }
    }
}

/// Owns the session, which lives until it is invalidated.
private final class SessionSender: Sendable {
    private let limits: TransportLimits
    private let session: URLSession
    private let delegate: SessionDelegate

    init(limits: TransportLimits) {
        self.limits = limits
        delegate = SessionDelegate()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.timeoutIntervalForRequest = limits.idle
        // Linux does not enforce this limit; see `send`.
        configuration.timeoutIntervalForResource = limits.total
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        guard let url = URL(string: request.url), ["http", "https"].contains(url.scheme?.lowercased() ?? "") else {
            throw TransportError(.other, "not a URL")
        }
        var outgoing = URLRequest(url: url, timeoutInterval: limits.idle)
        outgoing.httpMethod = request.method
        outgoing.httpBody = request.body.isEmpty ? nil : Data(request.body)
        outgoing.httpShouldHandleCookies = false
        for (name, value) in request.headers { outgoing.setValue(value, forHTTPHeaderField: name) }
        let task = session.dataTask(with: outgoing)
        let exchange = SessionExchange(task: task, limit: limits.bytes)
        delegate.begin(exchange)
        let total = limits.total
        // The first of the two to finish ends the other.
        let result = await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await Task.sleep(nanoseconds: UInt64(max(total, 0) * 1_000_000_000))
                exchange.end(.failure(Task.isCancelled ? .cancelled : TransportError(.timedOut, "no whole answer")))
            }
            let result = await exchange.result()
            group.cancelAll()
            return result
        }
        delegate.forget(exchange)
        return try result.get()
    }
}

extension TransportError {
    /// The waiting caller was cancelled.
    fileprivate static let cancelled = TransportError(.other, "cancelled")
}

/// One request in progress. It ends once; then the task is cancelled, and later data is dropped.
private final class SessionExchange: @unchecked Sendable {
    let task: URLSessionDataTask
    private let limit: Int
    // All state is protected by the lock: the session calls on its own queue.
    private let lock = Guarded<Void>()
    private var response: HTTPURLResponse?
    private var body: [UInt8] = []
    private var ended: Result<TransportResponse, TransportError>?
    private var waiting: CheckedContinuation<Result<TransportResponse, TransportError>, Never>?

    init(task: URLSessionDataTask, limit: Int) {
        self.task = task
        self.limit = limit
    }

    func result() async -> Result<TransportResponse, TransportError> {
        await withCheckedContinuation { continuation in
            let ended = lock.withLock {
                if self.ended == nil { waiting = continuation }
                return self.ended
            }
            if let ended { return continuation.resume(returning: ended) }
            task.resume()
        }
    }

    /// - Parameter isComplete: whether the task has already ended. On Linux, cancelling it then may trap.
    func end(_ result: Result<TransportResponse, TransportError>, isComplete: Bool = false) {
        let (isFirst, waiting) = lock.withLock {
            let isFirst = ended == nil
            if isFirst { ended = result }
            body = []
            defer { self.waiting = nil }
            return (isFirst, self.waiting)
        }
        guard isFirst else { return }
        if !isComplete { task.cancel() }
        waiting?.resume(returning: result)
    }

    /// - Returns: false if the response ends here.
    func receive(_ response: URLResponse) -> Bool {
        guard let response = response as? HTTPURLResponse else {
            end(.failure(TransportError(.other, "no HTTP answer")))
            return false
        }
        guard response.expectedContentLength <= Int64(limit) else {
            end(.failure(tooLarge))
            return false
        }
        lock.withLock { self.response = response }
        return true
    }

    func receive(_ data: Data) {
        let fits = lock.withLock {
            guard ended == nil else { return true }
            guard body.count + data.count <= limit else { return false }
            body += data
            return true
        }
        if !fits { end(.failure(tooLarge)) }
    }

    func complete(_ error: (any Error)?) {
        if let error { return end(.failure(TransportError(error)), isComplete: true) }
        let (response, body) = lock.withLock { (self.response, self.body) }
        guard let response else { return end(.failure(TransportError(.other, "no HTTP answer")), isComplete: true) }
        end(
            .success(
                TransportResponse(
                    status: response.statusCode, contentType: response.value(forHTTPHeaderField: "Content-Type") ?? "",
                    retryAfter: response.value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) },
                    etag: response.value(forHTTPHeaderField: "ETag"), body: body)), isComplete: true)
    }

    private var tooLarge: TransportError { TransportError(.other, "an answer of more than \(limit) bytes") }
}

/// Passes the session's callbacks to the exchange that they concern.
private final class SessionDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Protected by the lock.
    private let lock = Guarded<Void>()
    private var exchanges: [Int: SessionExchange] = [:]

    func begin(_ exchange: SessionExchange) {
        lock.withLock { exchanges[exchange.task.taskIdentifier] = exchange }
    }

    func forget(_ exchange: SessionExchange) {
        lock.withLock { exchanges[exchange.task.taskIdentifier] = nil }
    }

    private func exchange(of task: URLSessionTask) -> SessionExchange? {
        lock.withLock { exchanges[task.taskIdentifier] }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(exchange(of: dataTask)?.receive(response) == true ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.receive(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        exchange(of: task)?.complete(error)
    }
}

extension TransportError {
    /// Converts the codes of NSURLErrorDomain for the connection to the server, not to the store.
    package init(_ error: any Error) {
        let plain = error as NSError
        self.init(
            plain.domain == NSURLErrorDomain ? Kind(urlErrorCode: plain.code) : .other, "\(plain.domain) \(plain.code)")
    }
}
