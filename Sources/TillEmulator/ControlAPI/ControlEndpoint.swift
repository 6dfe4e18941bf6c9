import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillPages
import TillSQL

/// The control API under `/emulator`: a script's way to act as a customer, a parent, a bank or a developer in App Store
/// Connect. Each topic has a file of its own.
struct ControlEndpoint: Sendable {
    let store: Store
    let issuer: Issuer
    let configuration: EmulatorConfiguration
    let apiKey: APIKey
    let entropy: @Sendable (Int) -> [UInt8]

    func add(to routes: inout ControlRoutes) {
        addIdentity(to: &routes)
        addAppTransactions(to: &routes)
        addProducts(to: &routes)
        addPurchases(to: &routes)
        addTransactions(to: &routes)
        addReceipts(to: &routes)
        addSubscriptions(to: &routes)
        addOffers(to: &routes)
        addAccounts(to: &routes)
        addDevices(to: &routes)
        addClock(to: &routes)
        addFaults(to: &routes)
        addNotifications(to: &routes)
        addState(to: &routes)
    }

    func number(_ id: String) throws(ControlError) -> Int64 {
        guard let number = Int64(id), number >= 0, String(number) == id else {
            throw ControlError(.unknownTransaction(String(id.prefix(40))))
        }
        return number
    }

    /// The transaction, signed for no device.
    func json(_ transaction: StoreTransaction) throws -> JSONValue { try json(transaction, on: nil) }
}

/// A call of the control API, with its body and query checked against the route's declaration.
struct ControlCall: Sendable {
    let request: HTTPRequest
    let body: RequestBody
    /// The values of the pattern's `{names}`.
    let path: PathParameters
    /// The first of them, or empty.
    let id: String

    func query(_ name: String) -> String? { request.queryValue(name) }
}

/// One route of the control API, as the OpenAPI document describes it.
struct ControlRoute: Sendable {
    let method: HTTPMethod
    let pattern: String
    /// What the route does, in one sentence.
    let summary: LocalizedText
    let query: [ControlMember]
    let body: [ControlMember]
    /// Nil: the answer is not JSON.
    let answer: ControlResponse?
    var bodyLimit = 1 << 20
    /// Whether it is a page, or a form of one.
    var isPage = false

    /// The pattern's `{names}`, in order.
    var parameters: [String] {
        pattern.split(separator: "/").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }.map {
            String($0.dropFirst().dropLast())
        }
    }
}

/// Collects the control API's routes: each is served and described by one declaration.
struct ControlRoutes {
    private(set) var router: Router
    private(set) var described: [ControlRoute] = []

    init(_ router: Router) { self.router = router }

    typealias Action = @Sendable (ControlCall) async throws -> HTTPResponse

    /// Adds a route. Refusals and errors of `action` become problems. Before `action` runs, the route refuses requests
    /// that a browser sends for another site's page or under a foreign host name, and checks the query and the body
    /// against their declarations: names, required members, types and bounds. `action` checks the content of lists,
    /// maps and objects.
    ///
    /// - Parameter readsBody: false if `action` reads the body itself, because it may not be JSON.
    mutating func on(
        _ method: HTTPMethod, _ pattern: String, _ summary: LocalizedText, query: [ControlMember] = [],
        body: [ControlMember] = [], answer: ControlResponse? = nil, bodyLimit: Int = 1 << 20,
        readsBody: Bool = true, _ action: @escaping Action
    ) {
        let route = ControlRoute(
            method: method, pattern: pattern, summary: summary, query: query, body: body, answer: answer,
            bodyLimit: bodyLimit)
        described.append(route)
        let (members, parameters) = (body.map(\.name), route.parameters)
        router.on(method, pattern, bodyLimit: bodyLimit) { request, path in
            do {
                if request.isForeign { throw ControlError.foreignOrigin }
                guard request.isAddressedToStore else { throw ControlError.foreignHost }
                try RequestBody.check(query: request.query, against: query)
                let given = try RequestBody(readsBody ? request.body : [], knowing: members)
                if readsBody { for member in body { try given.check(member) } }
                let call = ControlCall(
                    request: request, body: given, path: path, id: parameters.first.map { path[$0] } ?? "")
                return try await action(call)
            } catch let problem as ControlError {
                return problem.response(to: request)
            } catch {
                return ControlError(fault: error).response(to: request)
            }
        }
    }

    /// Adds a page, or a file or a form of one.
    mutating func onPage(
        _ method: HTTPMethod, _ pattern: String, _ summary: LocalizedText, query: [ControlMember] = [],
        body: [ControlMember] = [], bodyLimit: Int = 1 << 20, _ handler: @escaping Router.Handler
    ) {
        described.append(
            ControlRoute(
                method: method, pattern: pattern, summary: summary, query: query, body: body, answer: nil,
                bodyLimit: bodyLimit, isPage: true))
        router.on(method, pattern, bodyLimit: bodyLimit, handler)
    }
}

extension Result where Failure == StoreRefusal {
    /// The value, or the refusal as a problem.
    func answered() throws(ControlError) -> Success {
        switch self {
        case .success(let value): return value
        case .failure(let refusal): throw ControlError(refusal)
        }
    }
}

/// Protection against requests from other web pages.
///
/// The store has no password, because it runs on its developer's machine. A web page in the developer's browser can
/// send requests to it in two ways: blindly as `text/plain`, which CORS calls a simple request and sends without a
/// preflight; or, once the page's own name resolves to this machine, as if from the same site (DNS rebinding). A page
/// under a rebound name has no `Sec-Fetch-Site`, because browsers do not consider plain http under such a name
/// trustworthy, no `Origin` on reads, and in some browsers an arbitrary `User-Agent`. So the `Host` decides, for reads
/// and writes of every client: it must be a name that no web page can have.
extension HTTPRequest {
    /// Whether the `Host` is a name of this machine; a port may follow.
    var isAddressedHere: Bool {
        guard let host = headers["Host"]?.lowercased(), host.utf8.count <= 255 else { return false }
        return ["127.0.0.1", "localhost", "[::1]"].contains(PageProtection.name(ofHost: host))
    }

    /// Whether the `Host` is a name that no web page can have: a numeric address, a name without a dot (a service among
    /// containers), or a name under `localhost`. A request without a `Host` comes from no browser.
    var isAddressedToStore: Bool {
        guard let host = headers["Host"]?.lowercased() else { return true }
        guard !host.isEmpty, host.utf8.count <= 255 else { return false }
        let name = PageProtection.name(ofHost: host)
        if name.hasPrefix("["), name.hasSuffix("]") { return true }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count == 1 || labels.last == "localhost" { return true }
        return labels.count == 4 && labels.allSatisfy { UInt8($0) != nil }
    }

    /// Whether a browser sent the request for another site's page.
    var isForeign: Bool {
        let (site, origin) = (headers["Sec-Fetch-Site"], headers["Origin"])
        if PageProtection.isFromOwnPage(site: site, origin: origin, host: headers["Host"]) == false { return true }
        let isFromBrowser = site != nil || origin != nil || headers["User-Agent"]?.hasPrefix("Mozilla/") == true
        return isFromBrowser && !isAddressedHere
    }
}

extension ControlError {
    static let foreignOrigin = ControlError(
        status: 403, code: "foreign_origin",
        english: "A browser sent this request from another site's page. The request was not carried out.",
        chinese: "此请求由浏览器从其他网站的网页发出，未执行任何操作。")
    static let foreignHost = ControlError(
        status: 421, code: "foreign_host",
        english:
            "This host name is not accepted. Use http://127.0.0.1 with the port. The request was not carried out.",
        chinese: "模拟商店不接受此主机名。请使用 http://127.0.0.1 加端口访问。未执行任何操作。")
}

/// A refusal of the control API as RFC 9457 JSON, in the caller's language.
struct ControlError: Error, Sendable {
    var status: Int
    /// A stable code.
    var code: String
    var english: String
    var chinese: String
    var isRetryable = false

    static func notJSON(_ body: [UInt8]) -> ControlError {
        let mistake = JSONMistake(in: body)?.sentence
        return badRequest(
            "not_json", "The body \(mistake?.en ?? "is too long"). Send one JSON object.",
            "请求体\(mistake?.zh ?? "太长")：请发送一个 JSON 对象。")
    }

    static func badRequest(_ code: String, _ english: String, _ chinese: String) -> ControlError {
        ControlError(status: 400, code: code, english: english, chinese: chinese)
    }

    init(status: Int, code: String, english: String, chinese: String, isRetryable: Bool = false) {
        self.status = status
        self.code = code
        self.english = english
        self.chinese = chinese
        self.isRetryable = isRetryable
    }

    init(_ refusal: StoreRefusal) {
        self.init(
            status: refusal.status, code: refusal.code, english: refusal.english, chinese: refusal.chinese)
    }

    /// The problem for an internal error: the store can't answer now.
    init(fault error: any Error) {
        let isRetryable = (error as? DatabaseError)?.isRetryable ?? false
        self.init(
            status: isRetryable ? 503 : 500, code: isRetryable ? "unavailable" : "internal",
            english: "The emulator could not complete the request: \(error)", chinese: "模拟商店未能完成请求：\(error)",
            isRetryable: isRetryable)
    }

    func response(to request: HTTPRequest) -> HTTPResponse {
        let inChinese = Self.prefersChinese(request.headers["Accept-Language"] ?? "")
        let body: JSONValue = [
            "type": "about:blank", "title": .string(inChinese ? chinese : english), "status": .int(Int64(status)),
            "code": .string(code), "retryable": .bool(isRetryable),
        ]
        var response = HTTPResponse(status: status, body: body.encodedBytes())
        response.headers.add("Content-Type", "application/problem+json")
        response.headers.add("Content-Language", inChinese ? "zh" : "en")
        if status == 503 { response.headers.add("Retry-After", "1") }
        return response
    }

    /// Whether the first supported language in the header is Chinese.
    private static func prefersChinese(_ accepted: String) -> Bool {
        for language in accepted.lowercased().split(separator: ",") {
            let name = language.drop { $0 == " " }
            if name.hasPrefix("zh") { return true }
            if name.hasPrefix("en") { return false }
        }
        return false
    }
}

extension HTTPResponse {
    static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
        json(text: value.encodedBytes(), status: status)
    }

    static func json(text: [UInt8], status: Int = 200) -> HTTPResponse {
        var response = HTTPResponse(status: status, body: text)
        response.headers.add("Content-Type", "application/json")
        return response
    }
}
