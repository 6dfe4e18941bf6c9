import CTillCurl

/// The HTTP effect (DESIGN §5): sends one request somewhere and brings the whole answer.
///
/// `url` is absolute, `http` or `https`. Redirects are not followed; the answer's body is bounded by the sender.
public typealias HTTPSend = @Sendable (_ url: String, _ request: HTTPRequest) async throws(HTTPFault) -> HTTPResponse

/// Why no answer came.
public struct HTTPFault: Error, Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        case badURL
        case cannotResolve
        case cannotConnect
        /// Its address is none that may be connected to (`AddressRule`).
        case addressRefused
        case timedOut
        case connectionLost
        case tls
        case answerTooLarge
        case stopped
        case other
    }

    public let kind: Kind
    public let detail: String

    public init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }

    /// Whether the same request may go through later. The other end may have acted on it all the same.
    public var isRetryable: Bool {
        switch kind {
        case .badURL, .answerTooLarge, .addressRefused: false
        case .cannotResolve, .cannotConnect, .timedOut, .connectionLost, .tls, .stopped, .other: true
        }
    }
}

/// How a ``Fetch`` asks and what it puts up with. Times are milliseconds, sizes bytes.
public struct FetchConfiguration: Sendable {
    /// To a name resolved, a connection made and TLS agreed.
    public var connectTimeout = 5_000
    /// From the call to the last byte of the answer, waiting for a free connection included.
    public var totalTimeout = 30_000
    /// A longer body ends the transfer with `answerTooLarge`.
    public var answerLimit = 32 << 20
    /// The same for the answer's header.
    public var answerHeaderLimit = 64 << 10
    /// Connections at once, to everywhere; more requests wait.
    public var connectionLimit = 64
    /// A proxy's URL. The environment's `http_proxy` and its kin are not looked at.
    public var proxy: String?
    /// Looked at for every connection that is made, after names are resolved. With a proxy it is the proxy's address
    /// that counts.
    public var addresses = AddressRule.everywhere
    /// A PEM file of the roots to trust, in place of the system's.
    public var rootsFile: String?

    public init() {}
}

/// An HTTP client over libcurl: one thread drives all transfers, connections are kept and used again.
///
/// http and https only, TLS 1.2 at least, redirects are answers like any other. Cancelling the calling task aborts its
/// transfer with `stopped`; the other end may have acted on it all the same.
public final class Fetch: Sendable {
    private let engine: FetchEngine

    /// Starts the thread.
    public init(configuration: FetchConfiguration = FetchConfiguration()) throws(HTTPFault) {
        engine = try FetchEngine(configuration: configuration)
    }

    deinit { engine.stop() }

    /// The effect (DESIGN §5). Of the request it sends method, headers and body; where to, `url` alone says.
    public var send: HTTPSend {
        { (url, request) async throws(HTTPFault) -> HTTPResponse in try await self.fetch(url, request) }
    }

    /// Ends the thread for good. What is under way or comes later throws `stopped`.
    public func stop() { engine.stop() }

    private func fetch(_ url: String, _ request: HTTPRequest) async throws(HTTPFault) -> HTTPResponse {
        let transfer = Transfer(url: url, request: request)
        let engine = engine
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                engine.submit(transfer, continuation)
            }
        } onCancel: {
            engine.cancel(transfer)
        }
        return try result.get()
    }
}

extension HTTPFault {
    /// What a result code of libcurl means.
    init(_ code: CURLcode) {
        let kind: Kind
        switch code {
        case CURLE_URL_MALFORMAT: kind = .badURL
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: kind = .cannotResolve
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_NO_CONNECTION_AVAILABLE, CURLE_PROXY:
            kind = .cannotConnect
        case CURLE_OPERATION_TIMEDOUT: kind = .timedOut
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_WEIRD_SERVER_REPLY,
            CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND:
            kind = .connectionLost
        // The scheme was looked at before: what is unsupported is the answer, which was no HTTP.
        case CURLE_UNSUPPORTED_PROTOCOL: kind = .connectionLost
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
            kind = .tls
        case CURLE_FILESIZE_EXCEEDED: kind = .answerTooLarge
        case CURLE_ABORTED_BY_CALLBACK: kind = .stopped
        default: kind = .other
        }
        let sentence = curl_easy_strerror(code).map { String(cString: $0) } ?? ""
        self.init(kind, "libcurl \(code.rawValue): \(sentence)")
    }
}
