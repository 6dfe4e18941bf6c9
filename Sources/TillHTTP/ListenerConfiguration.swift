import CTillMicroHTTPD
import Synchronization

/// The addresses and limits of a ``Listener``. Times are in milliseconds, sizes in bytes.
public struct ListenerConfiguration: Sendable {
    /// A numeric address or a name that resolves to one. Remote clients connect through a TLS proxy in front.
    public var address = "127.0.0.1"
    /// 0 takes any free port; ``Listener/port`` returns it.
    public var port: UInt16 = 0
    /// A socket that listens already, instead of `address` and `port`. The listener uses a duplicate of it.
    public var socket: ListeningSocket?
    /// Event-loop threads; about one per core.
    public var threads = 2

    /// The maximum of open connections. A further one closes the connection that has been without a complete request
    /// for longest; if all are being answered, it is closed itself. Never more than the process's limit of open files.
    public var connectionLimit = 12_000
    /// The maximum for one address (IPv6: one /64). A proxy in front counts as one address.
    public var connectionLimitPerAddress = 4_096

    /// From a new connection, or a request line on a kept-alive one, to the end of the header.
    public var headerDeadline = 10_000
    /// From the end of the header to the end of the body.
    public var bodyDeadline = 30_000
    /// After this time a handler's task is cancelled. Its response is still awaited and sent.
    public var handlerDeadline = 60_000
    /// From the response's first byte to its last.
    public var sendDeadline = 60_000
    /// How long a kept-alive connection may wait for its next request line.
    public var idleDeadline = 60_000

    /// Header fields in one request; more are answered 431.
    public var headerCountLimit = 100
    /// Bytes from the request line to the empty line; more are answered 431. For each connection, libmicrohttpd keeps a
    /// buffer of this size plus 16 KiB and clears it after each request, so a larger limit costs memory and time.
    public var headerSizeLimit = 8 << 10

    /// Bytes of all bodies in memory together, counting each body's part beyond ``smallBody``. Without this limit, a
    /// few thousand clients that each send most of a long body and then wait would occupy gigabytes. A long body that
    /// exceeds it is answered 503; short bodies, nearly all of them, are unaffected.
    public var bodyMemoryLimit = 128 << 20
    /// This part of each body is not counted; the connection limit bounds its total.
    static let smallBody = 32 << 10
    /// This part of each body is read before ``Admission`` decides about it.
    public static let bodyBeforeAdmission = 64 << 10

    /// Whether to serve with a version of libmicrohttpd that ``WireHeaderReader`` does not know. Only a proxy in front
    /// then prevents that one request is read in two ways.
    public var takesUnknownLibrary = false
    /// The version of libmicrohttpd that the request checks are written for.
    public static let knownLibraryVersion = WireHeaderReader.knownVersion
    /// The installed version of libmicrohttpd.
    var libraryVersion = MHD_get_version().map { String(cString: $0) } ?? "?"

    /// Proxies that may name the client they forward for. Connection limits always count the other end of the socket.
    public var trustedProxies = TrustedProxies()

    /// The executor that handlers run on. With nil, a handler starts on the connection's own event-loop thread, which
    /// saves a thread switch, and continues wherever its first suspension ends.
    public var executor: (any TaskExecutor)?
    /// Makes the responses that the listener sends itself, so that a server can localize and count them.
    public var refusal: @Sendable (_ refusal: ListenerRefusal, _ acceptLanguage: String?) -> HTTPResponse =
        { $0.response(acceptLanguage: $1) }

    public init() {}
}

/// Why a listener could not start.
public enum ListenerError: Error, Sendable, Hashable {
    /// Another process listens on the address and port.
    case addressInUse(address: String, port: UInt16)
    /// The address belongs to no interface of this machine, or is not an address.
    case badAddress(String)
    /// The port requires a privilege that the process does not have.
    case notPermitted(port: UInt16)
    /// A descriptor that was passed to the process can't be listened on.
    case notListening(descriptor: Int32, reason: String)
    /// The system provided no socket, thread or memory; `code` is its errno.
    case system(step: String, code: Int32)
    /// The installed libmicrohttpd is not the known version, and ``ListenerConfiguration/takesUnknownLibrary`` is
    /// false.
    case unknownLibrary(version: String)

    public var isRetryable: Bool {
        switch self {
        case .addressInUse, .system: true
        case .badAddress, .notPermitted, .notListening, .unknownLibrary: false
        }
    }
}

/// A response that the listener gives itself, before or instead of a handler.
public enum ListenerRefusal: Sendable, Hashable {
    case badRequest(HTTPRequestError)
    /// 413: the route accepts at most `limit` bytes.
    case bodyTooLarge(limit: Int)
    /// 431.
    case headerTooLarge
    /// 408: the request did not arrive in time.
    case tooSlow
    /// 501.
    case methodNotImplemented
    /// 503: the server is stopping; another one may be available after `retryAfter` seconds.
    case stopping(retryAfter: Int)
    /// 503: the server stopped before the handler answered; the request may have taken effect.
    case cutOff(retryAfter: Int)
    /// 503: too many long bodies are arriving at once.
    case crowded(retryAfter: Int)

    public var status: Int {
        switch self {
        case .badRequest: 400
        case .tooSlow: 408
        case .bodyTooLarge: 413
        case .headerTooLarge: 431
        case .methodNotImplemented: 501
        case .stopping, .cutOff, .crowded: 503
        }
    }

    /// Stable, for programs.
    public var code: String {
        switch self {
        case .badRequest(let reason): reason.rawValue
        case .tooSlow: "request_too_slow"
        case .bodyTooLarge: "body_too_large"
        case .headerTooLarge: "header_too_large"
        case .methodNotImplemented: "method_not_implemented"
        case .stopping: "server_stopping"
        case .cutOff: "server_stopped"
        case .crowded: "server_crowded"
        }
    }

    /// Whether the same request may succeed later.
    public var isRetryable: Bool {
        switch self {
        case .tooSlow, .stopping, .cutOff, .crowded: true
        case .badRequest, .bodyTooLarge, .headerTooLarge, .methodNotImplemented: false
        }
    }

    /// Seconds for `Retry-After`.
    public var retryAfter: Int? {
        switch self {
        case .stopping(let seconds), .cutOff(let seconds), .crowded(let seconds): seconds
        case .badRequest, .tooSlow, .bodyTooLarge, .headerTooLarge, .methodNotImplemented: nil
        }
    }

    /// One sentence for people.
    public func title(chinese: Bool) -> String {
        switch self {
        case .badRequest(.encodedUnreserved):
            chinese
                ? "路径中的字母、数字与 - . _ ~ 不得百分号编码，请原样书写。"
                : "Letters, digits and - . _ ~ in a path must not be percent-encoded; write them as they are."
        case .badRequest(.repeatedAuthorization):
            chinese ? "请求只能有一个 Authorization 头。" : "A request may have only one Authorization header."
        case .badRequest: chinese ? "请求不符合 HTTP 规范。" : "The request breaks the rules of HTTP."
        case .tooSlow: chinese ? "请求没有在规定时间内到达。" : "The request did not arrive in time."
        case .bodyTooLarge(let limit):
            chinese ? "请求内容太大，最多 \(limit) 字节。" : "The body is too large; at most \(limit) bytes are taken."
        case .headerTooLarge: chinese ? "请求头太大。" : "The header is too large."
        case .methodNotImplemented: chinese ? "不支持这个请求方法。" : "This method is not implemented."
        case .stopping: chinese ? "服务器正在停止，请稍后重试。" : "The server is stopping; try again shortly."
        case .crowded:
            chinese ? "同时上传的内容太多，请稍后重试。" : "Too much is being uploaded at once; try again shortly."
        case .cutOff:
            chinese ? "服务器在答复之前停止了，请稍后重试。" : "The server stopped before it could answer; try again shortly."
        }
    }

    /// The built-in response: an RFC 9457 problem, in Chinese if the client prefers it, otherwise in English.
    ///
    /// - Parameter requestID: characters that JSON does not escape; nil draws one.
    public func response(acceptLanguage: String?, requestID: String? = nil) -> HTTPResponse {
        let chinese = acceptLanguage?.lowercased().hasPrefix("zh") ?? false
        var generator = SystemRandomNumberGenerator()
        let requestID = requestID ?? String(generator.next(), radix: 16)
        // The inserted texts contain no quote and no backslash.
        let body = """
            {"type":"about:blank","title":"\(title(chinese: chinese))","status":\(status),"code":"\(code)",\
            "retryable":\(isRetryable),"requestId":"\(requestID)"}
            """
        var response = HTTPResponse(status: status, body: Array(body.utf8))
        response.headers.add("Content-Type", "application/problem+json")
        response.headers.add("Content-Language", chinese ? "zh" : "en")
        response.headers.add("Cache-Control", "no-store")
        response.headers.add("X-Content-Type-Options", "nosniff")
        response.headers.add("X-Request-Id", requestID)
        if let retryAfter { response.headers.add("Retry-After", String(retryAfter)) }
        return response
    }
}

/// Whether the body of a request is read. Decided once, from the request without its body, when more than
/// ``ListenerConfiguration/bodyBeforeAdmission`` of body is announced or has arrived: a long body costs no memory
/// before its sender is checked.
public enum Admission: Sendable {
    /// The body is read to its end. The held value is released when the request is over.
    case admitted(token: (any Sendable)? = nil)
    /// The response is sent at once, the rest of the body is discarded, and the connection is closed.
    case refused(HTTPResponse)

    /// Decides by a request without its body.
    ///
    /// - Parameter length: the maximum bytes of body to expect: as announced, or as many as the route accepts.
    public typealias Decide = @Sendable (_ head: HTTPRequest, _ length: Int) -> Admission
}

/// The memory that the bodies of all requests may use together, and the part in use.
final class BodyMemory: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// Counts `count` bytes; false if the limit is exceeded. Give the bytes back in either case.
    func take(_ count: Int) -> Bool { used.add(count, ordering: .relaxed).newValue <= limit }

    func release(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}
