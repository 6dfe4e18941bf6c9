import CTillCurl

/// Sends one request and returns the complete response. Callers receive this function as a parameter, so tests and
/// simulations can replace the network.
///
/// `url` is absolute, `http` or `https`. Redirects are not followed; the sender limits the size of the response's body.
public typealias HTTPSend = @Sendable (_ url: String, _ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse

/// Why no response arrived.
public struct HTTPError: Error, Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        case badURL
        case cannotResolve
        case cannotConnect
        /// The rule in force (`AddressRule`) forbids connecting to this address.
        case addressRefused
        case timedOut
        case connectionLost
        case tls
        case responseTooLarge
        case stopped
        case other
    }

    public let kind: Kind
    public let detail: String

    public init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }

    /// Whether the same request may succeed later. The other end may have processed the failed one.
    public var isRetryable: Bool {
        switch kind {
        case .badURL, .responseTooLarge, .addressRefused: false
        case .cannotResolve, .cannotConnect, .timedOut, .connectionLost, .tls, .stopped, .other: true
        }
    }
}

/// The limits of a ``Fetch``. Times are in milliseconds, sizes in bytes.
public struct FetchConfiguration: Sendable {
    /// Includes name resolution, the connection and the TLS handshake.
    public var connectTimeout = 5_000
    /// From the call to the last byte of the response, including the wait for a free connection.
    public var totalTimeout = 30_000
    /// A longer body ends the transfer with `responseTooLarge`.
    public var responseLimit = 32 << 20
    /// The limit of the response's header.
    public var responseHeaderLimit = 64 << 10
    /// Concurrent connections to all hosts together; further requests wait.
    public var connectionLimit = 64
    /// A proxy's URL. The environment's `http_proxy` and related variables are ignored.
    public var proxy: String?
    /// Checked for every connection, after names are resolved. With a proxy, the proxy's address is checked.
    public var addresses = AddressRule.everywhere
    /// A PEM file of the trusted roots, which replace the system's.
    public var rootsFile: String?
    /// Whether a response over a new TLS connection has its `peerCertificate`.
    public var readsCertificates = false

    public init() {}
}

/// An HTTP client over libcurl: one thread drives all transfers and reuses connections.
///
/// It supports http and https, requires TLS 1.2, and returns redirects as ordinary responses. Cancelling the calling
/// task aborts its transfer with `stopped`; the other end may have processed the request.
public final class Fetch: Sendable {
    private let engine: FetchEngine

    /// Starts the thread.
    public init(configuration: FetchConfiguration = FetchConfiguration()) throws(HTTPError) {
        engine = try FetchEngine(configuration: configuration)
    }

    deinit { engine.stop() }

    /// Sends a request: its method, headers and body to `url`. The request's own path and query are ignored.
    public var send: HTTPSend {
        { (url, request) async throws(HTTPError) -> HTTPResponse in try await self.fetch(url, request) }
    }

    /// Ends the thread permanently. Pending and later requests throw `stopped`.
    public func stop() { engine.stop() }

    private func fetch(_ url: String, _ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
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

extension HTTPError {
    /// Maps a result code of libcurl.
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
        // The URL's scheme was checked before, so the unsupported protocol is the response's, which is not HTTP.
        case CURLE_UNSUPPORTED_PROTOCOL: kind = .connectionLost
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
            kind = .tls
        case CURLE_FILESIZE_EXCEEDED: kind = .responseTooLarge
        case CURLE_ABORTED_BY_CALLBACK: kind = .stopped
        default: kind = .other
        }
        let sentence = curl_easy_strerror(code).map { String(cString: $0) } ?? ""
        self.init(kind, "libcurl \(code.rawValue): \(sentence)")
    }
}
