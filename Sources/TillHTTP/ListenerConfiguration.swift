import CTillMicroHTTPD
import Synchronization

/// How a ``Listener`` listens and what it puts up with. Times are milliseconds, sizes bytes.
public struct ListenerConfiguration: Sendable {
    /// A numeric address or a name that resolves to one. Everything else is reached through a TLS proxy in front.
    public var address = "127.0.0.1"
    /// 0 takes any free port; ``Listener/port`` tells which.
    public var port: UInt16 = 0
    /// Event-loop threads; about one a core.
    public var threads = 2

    /// Connections in all. One more closes the one that has been without a whole request for longest, or is closed
    /// itself where all of them are being answered. Never more than the process may open files.
    public var connectionLimit = 12_000
    /// The same for one address (IPv6: one /64). A proxy in front is one address.
    public var connectionLimitPerAddress = 4_096

    /// From a new connection, or a request line on a kept-alive one, to the end of the header.
    public var headerDeadline = 10_000
    /// From the end of the header to the end of the body.
    public var bodyDeadline = 30_000
    /// After this a handler's task is cancelled. Its answer is still awaited and sent: none is lost.
    public var handlerDeadline = 60_000
    /// From the answer's first byte to its last.
    public var sendDeadline = 60_000
    /// How long a kept-alive connection may wait for its next request line.
    public var idleDeadline = 60_000

    /// Header fields in one request; more are answered 431.
    public var headerCountLimit = 100
    /// Bytes from the request line to the empty line; more are answered 431. libmicrohttpd clears a buffer of this size
    /// and 16 KiB after each request and keeps it for each connection, so generosity has a price.
    public var headerSizeLimit = 8 << 10

    /// Bytes of all bodies in memory together, as far as each is longer than ``smallBody``: without this bound a few
    /// thousand strangers who each send most of a long body, and wait, would hold gigabytes. A long body that finds no
    /// room is answered 503; short ones, which nearly all are, are never in its way.
    public var bodyMemoryLimit = 128 << 20
    /// So much of each body is not counted; that many times the connections bounds the rest.
    static let smallBody = 32 << 10
    /// So much of each body is read before anybody has said that it is taken (``Admission``).
    public static let bodyBeforeAdmission = 64 << 10

    /// Whether to serve with a libmicrohttpd that ``WireLayout`` was not made for: then a proxy in front is all that
    /// keeps two readings of one request apart.
    public var takesUnknownLibrary = false
    /// The version of libmicrohttpd that the border was made for.
    public static let knownLibraryVersion = WireLayout.knownVersion
    /// The version of libmicrohttpd that is there.
    var libraryVersion = MHD_get_version().map { String(cString: $0) } ?? "?"

    /// Proxies that may say for whom they ask. The bounds for connections always count the other end of the socket.
    public var trustedProxies = TrustedProxies()

    /// Where handlers run. Without one a handler starts on the connection's own event-loop thread (which saves a hop)
    /// and goes on wherever its first suspension ends.
    public var executor: (any TaskExecutor)?
    /// Makes the answers that the listener gives by itself, so that a server can localise them and count them.
    public var refusal: @Sendable (_ refusal: ListenerRefusal, _ acceptLanguage: String?) -> HTTPResponse =
        { $0.response(acceptLanguage: $1) }

    public init() {}
}

/// Why a listener could not start.
public enum ListenerFault: Error, Sendable, Hashable {
    /// Another process listens there.
    case addressInUse(address: String, port: UInt16)
    /// The address belongs to no interface of this machine, or is no address at all.
    case badAddress(String)
    /// The port needs a privilege that the process has not got.
    case notPermitted(port: UInt16)
    /// The system gave no socket, thread or memory; `code` is its errno.
    case system(step: String, code: Int32)
    /// This libmicrohttpd is another one than the border is made for, and nobody has said to serve all the same
    /// (``ListenerConfiguration/takesUnknownLibrary``).
    case unknownLibrary(version: String)

    public var isRetryable: Bool {
        switch self {
        case .addressInUse, .system: true
        case .badAddress, .notPermitted, .unknownLibrary: false
        }
    }
}

/// What a listener answers by itself, before or instead of a handler.
public enum ListenerRefusal: Sendable, Hashable {
    case badRequest(BadRequest)
    /// 413; the route takes so many bytes.
    case bodyTooLarge(limit: Int)
    /// 431.
    case headerTooLarge
    /// 408: the request did not arrive in time.
    case tooSlow
    /// 501.
    case methodNotImplemented
    /// 503: the server is going down; seconds after which another one may be up.
    case stopping(retryAfter: Int)
    /// 503: the server went down before the handler had answered; what was asked may have happened.
    case cutOff(retryAfter: Int)
    /// 503: too many long bodies are coming in at once.
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

    /// Whether the same request may go through later.
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

    /// The built-in answer: RFC 9457 with CONTRACT §2's fields, Chinese for who prefers it and English for the rest.
    public func response(acceptLanguage: String?) -> HTTPResponse {
        let chinese = acceptLanguage?.lowercased().hasPrefix("zh") ?? false
        var generator = SystemRandomNumberGenerator()
        let requestID = String(generator.next(), radix: 16)
        // No text in here holds a quote or a backslash.
        let body = """
            {"type":"about:blank","title":"\(title(chinese: chinese))","status":\(status),"code":"\(code)",\
            "retryable":\(isRetryable),"requestId":"\(requestID)"}
            """
        var response = HTTPResponse(status: status, body: Array(body.utf8))
        response.headers.add("Content-Type", "application/problem+json")
        response.headers.add("Content-Language", chinese ? "zh" : "en")
        response.headers.add("Cache-Control", "no-store")
        response.headers.add("X-Content-Type-Options", "nosniff")
        if let retryAfter { response.headers.add("Retry-After", String(retryAfter)) }
        return response
    }
}

/// Whether the body of a request is taken. Asked once, with what came before the body, when more than
/// ``ListenerConfiguration/bodyBeforeAdmission`` of body is announced or has come: a stranger's long body costs no
/// memory before somebody has looked at who sends it.
public enum Admission: Sendable {
    /// The body is read to its end. What is held is let go of when the request is over.
    case admitted(holding: (any Sendable)? = nil)
    /// The response is sent at once, what still comes of the body is thrown away, and the connection is closed.
    case refused(HTTPResponse)

    /// Decides by a request without its body.
    /// - Parameter length: how many bytes of body may come: as announced, or as many as the route takes.
    public typealias Decide = @Sendable (_ head: HTTPRequest, _ length: Int) -> Admission
}

/// What the bodies of all requests may take up together, and how much of it is taken.
final class BodyMemory: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// Counts so many bytes; false where they are more than there may be. They are to be given back in either case.
    func take(_ count: Int) -> Bool { used.add(count, ordering: .relaxed).newValue <= limit }

    func giveBack(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}
