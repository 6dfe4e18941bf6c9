/// The method of a request. Other methods are answered 501 without calling a handler.
public enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
}

/// Header fields in the order received; names compare case-insensitively.
public struct HTTPHeaders: Sendable, Hashable {
    public private(set) var fields: [(name: String, value: String)]

    public init(_ fields: [(name: String, value: String)] = []) { self.fields = fields }

    /// The first value under this name.
    public subscript(name: String) -> String? {
        fields.first { Self.same($0.name, name) }?.value
    }

    public mutating func add(_ name: String, _ value: String) { fields.append((name, value)) }

    /// Replaces all values under the name with this one.
    public mutating func set(_ name: String, _ value: String) {
        fields.removeAll { Self.same($0.name, name) }
        fields.append((name, value))
    }

    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.fields.elementsEqual(right.fields) { $0 == $1 }
    }

    public func hash(into hasher: inout Hasher) {
        for field in fields {
            hasher.combine(field.name)
            hasher.combine(field.value)
        }
    }

    private static func same(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count
            && zip(left.utf8, right.utf8).allSatisfy { a, b in
                a == b || ((65...90).contains(a & 0xDF) && a & 0xDF == b & 0xDF)
            }
    }
}

/// A complete request: handlers are called after all of it has arrived.
public struct HTTPRequest: Sendable {
    public var method: HTTPMethod
    /// The path, percent-decoded, beginning with `/`, without the query.
    public var path: String
    /// Query items in the order received, percent-decoded; an item without `=` has an empty value.
    public var query: [(name: String, value: String)]
    public var headers: HTTPHeaders
    public var body: [UInt8]
    /// The address of the other end of the socket, without a port. Empty without a socket.
    public var peer: String
    /// The client's address: ``peer``, or the address that a trusted proxy forwards for (``TrustedProxies``).
    public var client: String

    public init(
        method: HTTPMethod, path: String, query: [(name: String, value: String)] = [],
        headers: HTTPHeaders = HTTPHeaders(),
        body: [UInt8] = [], peer: String = "", client: String? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.peer = peer
        self.client = client ?? peer
    }

    /// The first query item of this name.
    public func queryValue(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }
}

/// A complete response, or the instruction to close the connection without one.
public struct HTTPResponse: Sendable {
    public var status: Int
    public var headers: HTTPHeaders
    public var body: [UInt8]
    /// Whether the connection is closed without a response; the other members are then ignored.
    public let isHangUp: Bool
    /// In PEM: the certificate of the server that sent this response, for a ``Fetch`` that reads certificates.
    public var peerCertificate: String?

    public init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.init(status: status, headers: headers, body: body, isHangUp: false)
    }

    private init(status: Int, headers: HTTPHeaders, body: [UInt8], isHangUp: Bool) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isHangUp = isHangUp
    }

    /// Closes the connection without sending a byte. In-process callers turn it into an error with `arrived()`.
    public static let hangUp = HTTPResponse(status: 0, headers: HTTPHeaders(), body: [], isHangUp: true)

    /// The response as a client at the other end of a connection would receive it.
    ///
    /// - Throws: `connectionLost` for a hang-up.
    public func arrived() throws(HTTPError) -> HTTPResponse {
        if isHangUp { throw HTTPError(.connectionLost, "the server closed the connection without an answer") }
        return self
    }
}
