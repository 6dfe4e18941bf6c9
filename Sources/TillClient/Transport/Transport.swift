import TillBilling

/// The HTTP effect of the client: sends one request and brings the whole answer. Redirects are not followed, the
/// answer is bounded (1 MiB is plenty), and there is a time limit for all of it.
package struct Transport: Sendable {
    package var send: @Sendable (TransportRequest) async throws(TransportFault) -> TransportResponse

    package init(send: @escaping @Sendable (TransportRequest) async throws(TransportFault) -> TransportResponse) {
        self.send = send
    }
}

package struct TransportRequest: Hashable, Sendable {
    /// `GET` or `POST`.
    package let method: String
    /// Absolute.
    package let url: String
    package let headers: [String: String]
    package let body: [UInt8]

    package init(method: String, url: String, headers: [String: String], body: [UInt8]) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

package struct TransportResponse: Hashable, Sendable {
    package let status: Int
    /// The value of `Content-Type`; empty if there is none.
    package let contentType: String
    /// The seconds of `Retry-After`, if the answer names any.
    package let retryAfter: Int64?
    /// The value of `ETag`, if there is one.
    package let etag: String?
    package let body: [UInt8]

    package init(
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
    /// What went wrong on the way.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// This device has no network.
        case offline
        /// The server's name is not known on this network.
        case cannotFindServer = "cannot_find_server"
        /// Nobody listens at the server's address.
        case cannotConnect = "cannot_connect"
        /// The answer did not come in time.
        case timedOut = "timed_out"
        /// The connection broke before the answer was whole.
        case connectionLost = "connection_lost"
        /// The connection could not be secured; often a captive portal or a wrong clock.
        case insecure
        /// Anything else; `detail` says what.
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

    /// What went wrong.
    public let kind: Kind
    /// For logs.
    public let detail: String

    package init(_ kind: Kind, _ detail: String = "") {
        self.kind = kind
        self.detail = detail
    }

    /// Always: the server may answer next time.
    public var isRetryable: Bool { true }
}
