import TillBilling

/// The HTTP effect of the client: sends one request and brings the whole answer. Redirects are not followed, the
/// answer is bounded (1 MiB is plenty), and there is a time limit for all of it.
public struct Transport: Sendable {
    public var send: @Sendable (TransportRequest) async throws(TransportFault) -> TransportResponse

    public init(send: @escaping @Sendable (TransportRequest) async throws(TransportFault) -> TransportResponse) {
        self.send = send
    }
}

public struct TransportRequest: Hashable, Sendable {
    /// `GET` or `POST`.
    public let method: String
    /// Absolute.
    public let url: String
    public let headers: [String: String]
    public let body: [UInt8]

    public init(method: String, url: String, headers: [String: String], body: [UInt8]) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

public struct TransportResponse: Hashable, Sendable {
    public let status: Int
    /// The value of `Content-Type`; empty if there is none.
    public let contentType: String
    /// The seconds of `Retry-After`, if the answer names any.
    public let retryAfter: Int64?
    /// The value of `ETag`, if there is one.
    public let etag: String?
    public let body: [UInt8]

    public init(
        status: Int, contentType: String, retryAfter: Int64? = nil, etag: String? = nil, body: [UInt8]
    ) {
        self.status = status
        self.contentType = contentType
        self.retryAfter = retryAfter
        self.etag = etag
        self.body = body
    }
}

/// Why no answer came. The server may have acted on the request all the same, so every request can be repeated.
public struct TransportFault: Error, Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case offline
        case cannotFindServer = "cannot_find_server"
        case cannotConnect = "cannot_connect"
        case timedOut = "timed_out"
        case connectionLost = "connection_lost"
        /// The connection could not be secured; often a captive portal or a wrong clock.
        case insecure
        case other = "network_fault"

        /// What a buyer is told who is waiting for a purchase (P3).
        public var sentence: Text {
            switch self {
            case .offline:
                Text(
                    en: "This device is offline. It is tried again by itself when the network is back.",
                    zh: "设备当前无网络连接，恢复后会自动重试。")
            case .timedOut, .connectionLost:
                Text(
                    en: "The network is slow or was interrupted. It is tried again by itself.",
                    zh: "网络缓慢或已中断，系统会自动重试。")
            case .insecure:
                Text(
                    en: "No secure connection could be made. Check the device's date, and sign in to the Wi-Fi if it "
                        + "asks for that.",
                    zh: "无法建立安全连接。请检查设备日期；如果 Wi-Fi 需要登录，请先登录。")
            case .cannotFindServer, .cannotConnect, .other:
                Text(
                    en: "The server can't be reached right now. It is tried again by itself.",
                    zh: "暂时无法连接服务器，系统会自动重试。")
            }
        }
    }

    public let kind: Kind
    /// For logs.
    public let detail: String

    public init(_ kind: Kind, _ detail: String = "") {
        self.kind = kind
        self.detail = detail
    }

    public var isRetryable: Bool { true }
}
