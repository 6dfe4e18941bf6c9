/// The method of a request. Anything else is answered 501 before a handler sees it.
public enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
}

/// Header fields in the order they came; names are compared without case.
public struct HTTPHeaders: Sendable, Hashable {
    public private(set) var fields: [(name: String, value: String)]

    public init(_ fields: [(name: String, value: String)] = []) { self.fields = fields }

    /// The first value under that name.
    public subscript(name: String) -> String? {
        fields.first { Self.same($0.name, name) }?.value
    }

    public mutating func add(_ name: String, _ value: String) { fields.append((name, value)) }

    /// Puts one value under the name, in place of all there were.
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

/// A whole request: a handler is called when all of it has arrived.
public struct HTTPRequest: Sendable {
    public var method: HTTPMethod
    /// The path, percent-decoded, beginning with `/`, without the query.
    public var path: String
    /// Query items in the order they came, percent-decoded; an item without `=` has an empty value.
    public var query: [(name: String, value: String)]
    public var headers: HTTPHeaders
    public var body: [UInt8]
    /// The address of the other end, without a port. Empty where there is no socket.
    public var peer: String
    /// The address of whoever asked: ``peer``, or for whom a trusted proxy asks (``TrustedProxies``).
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

    /// The first query item of that name.
    public func queryValue(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }
}

/// A whole response, or the word that there is none.
public struct HTTPResponse: Sendable {
    public var status: Int
    public var headers: HTTPHeaders
    public var body: [UInt8]
    /// Whether the connection is closed without an answer; then nothing else in here counts.
    public let isHangUp: Bool

    public init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.init(status: status, headers: headers, body: body, isHangUp: false)
    }

    private init(status: Int, headers: HTTPHeaders, body: [UInt8], isHangUp: Bool) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isHangUp = isHangUp
    }

    /// No answer: the listener closes the connection without a byte. Whoever asked in process makes a fault of it
    /// with `arrived()`.
    public static let hangUp = HTTPResponse(status: 0, headers: HTTPHeaders(), body: [], isHangUp: true)

    /// What a client on the other end of a connection would see of this.
    /// - Throws: `connectionLost` for a hang-up.
    public func arrived() throws(HTTPFault) -> HTTPResponse {
        if isHangUp { throw HTTPFault(.connectionLost, "the server closed the connection without an answer") }
        return self
    }
}
