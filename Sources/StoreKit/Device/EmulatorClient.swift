import Foundation
import TillHTTP

/// A device's requests to the store, one method for each. Results are not cached here.
struct EmulatorClient: Sendable {
    let connection: StoreConnection
    let device: UUID
    let bundleID: String

    // MARK: The device

    /// Signs the account in on this device and signs out another one. Creates an account that the store does not know.
    func signIn(_ account: String) async throws(EmulatorClientError) {
        let path = "/emulator/accounts/\(account)"
        do throws(EmulatorClientError) {
            _ = try await ask(.put, "\(path)/devices", body: SignIn(id: id), expecting: IgnoredResponse.self)
        } catch .refused(code: "unknown_account", _, _) {
            _ = try await ask(.put, path, body: EmptyBody(), expecting: IgnoredResponse.self)
            _ = try await ask(.put, "\(path)/devices", body: SignIn(id: id), expecting: IgnoredResponse.self)
        }
    }

    /// - Parameter after: the position up to which changes are known; nil at launch.
    func update(after: Int64?) async throws(EmulatorClientError) -> DeviceUpdateResponse {
        try await ask(
            .get, path("news"), query: after.map { [("after", String($0))] } ?? [], expecting: DeviceUpdateResponse.self
        )
    }

    /// - Returns: whether this device has taken it; the first device does.
    @discardableResult
    func take(intent: String) async throws(EmulatorClientError) -> Bool {
        try await ask(.post, path("intents/\(intent)/take"), body: EmptyBody(), expecting: TakenIntentResponse.self)
            .takenBy == device
    }

    func shown(message: String) async throws(EmulatorClientError) {
        _ = try await ask(.post, path("messages/\(message)/shown"), body: EmptyBody(), expecting: IgnoredResponse.self)
    }

    // MARK: Products

    func products(_ ids: [String]) async throws(EmulatorClientError) -> ProductsResponse {
        try await ask(
            .post, path("products"), body: Identifiers(bundleId: bundleID, ids: ids), expecting: ProductsResponse.self)
    }

    func subscriptionGroups() async throws(EmulatorClientError) -> [SubscriptionGroupResponse] {
        try await ask(.get, path("subscription-statuses"), expecting: PageResponse<SubscriptionGroupResponse>.self).data
    }

    // MARK: Transactions

    enum TransactionSet: String, CaseIterable { case unfinished, all, currentEntitlements, latest }

    /// - Parameter consumables: whether `all` contains finished consumables
    ///   (`SKIncludeConsumableInAppPurchaseHistory`).
    func transactions(
        _ set: TransactionSet, product: String? = nil, consumables: Bool = false
    ) async throws(EmulatorClientError) -> [TransactionResponse] {
        var query = [("set", set.rawValue), ("limit", "100")]
        if let product { query.append(("productId", product)) }
        if consumables { query.append(("consumables", "true")) }
        var found: [TransactionResponse] = []
        var cursor: String?
        repeat {
            let page = try await ask(
                .get, path("transactions"), query: query + (cursor.map { [("cursor", $0)] } ?? []),
                expecting: PageResponse<TransactionResponse>.self)
            found += page.data
            cursor = page.nextCursor
        } while cursor != nil
        return found
    }

    func finish(_ transaction: String) async throws(EmulatorClientError) {
        _ = try await ask(
            .post, "/emulator/transactions/\(transaction)/finish", body: EmptyBody(), expecting: IgnoredResponse.self)
    }

    func restore() async throws(EmulatorClientError) -> [RestoredPurchaseResponse] {
        try await ask(
            .post, "/emulator/restore", body: Restore(bundleId: bundleID, deviceId: id),
            expecting: PageResponse<RestoredPurchaseResponse>.self
        ).data
    }

    /// The current app receipt as DER.
    func receipt() async throws(EmulatorClientError) -> Data {
        let answer = try await ask(
            .get, "/emulator/receipt", query: [("bundleId", bundleID), ("deviceId", id)], expecting: Receipt.self)
        guard let data = Data(base64Encoded: answer.receipt) else { throw .unreadable(status: 200) }
        return data
    }

    /// The receipt of one transaction in the format of iOS 6, as DER.
    func receipt(of transaction: String) async throws(EmulatorClientError) -> Data {
        let answer = try await ask(
            .get, "/emulator/transactions/\(transaction)/receipt", query: [("deviceId", id)], expecting: Receipt.self)
        guard let data = Data(base64Encoded: answer.receipt) else { throw .unreadable(status: 200) }
        return data
    }

    /// The JWS of this account's download of the app.
    func appTransaction(account: String) async throws(EmulatorClientError) -> String {
        try await ask(
            .get, "/emulator/app-transaction",
            query: [("account", account), ("bundleId", bundleID), ("deviceId", id)], expecting: Download.self
        ).signedAppTransaction
    }

    /// The DER of the root certificate of all this store's signatures.
    func root() async throws(EmulatorClientError) -> [UInt8] {
        let request = HTTPRequest(method: .get, path: "/emulator/root.cer")
        let response: HTTPResponse
        do throws(HTTPError) { response = try await connection.send(request) } catch { throw .noResponse(error) }
        guard response.status == 200 else { throw .unreadable(status: response.status) }
        return response.body
    }

    // MARK: Purchases

    func purchase(_ wanted: PurchaseRequestBody) async throws(EmulatorClientError) -> (
        PurchaseResponse, TransactionResponse?
    ) {
        var question = wanted
        question.bundleId = bundleID
        question.deviceId = id
        let body = try await bytes(.post, "/emulator/purchases", body: question)
        guard let answer = try? JSONDecoder().decode(PurchaseResponse.self, from: body) else {
            throw .unreadable(status: 200)
        }
        return (answer, try? JSONDecoder().decode(TransactionResponse.self, from: body))
    }

    // MARK: Requests

    private var id: String { device.uuidString.lowercased() }
    private func path(_ end: String) -> String { "/emulator/devices/\(id)/\(end)" }

    private func ask<Answer: Decodable>(
        _ method: HTTPMethod, _ path: String, query: [(String, String)] = [], body: (any Encodable)? = nil,
        expecting: Answer.Type
    ) async throws(EmulatorClientError) -> Answer {
        var query = query
        if method == .get, path.hasPrefix("/emulator/devices/") { query.append(("bundleId", bundleID)) }
        let data = try await bytes(method, path, query: query, body: body)
        guard let answer = try? JSONDecoder().decode(Answer.self, from: data) else { throw .unreadable(status: 200) }
        return answer
    }

    private func bytes(
        _ method: HTTPMethod, _ path: String, query: [(String, String)] = [], body: (any Encodable)? = nil
    ) async throws(EmulatorClientError) -> Data {
        var headers = HTTPHeaders([("Accept", "application/json")])
        var sent: [UInt8] = []
        if let body {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            guard let data = try? encoder.encode(body) else { throw .unreadable(status: 0) }
            sent = [UInt8](data)
            headers.add("Content-Type", "application/json")
        }
        let request = HTTPRequest(
            method: method, path: path, query: query.map { (name: $0.0, value: $0.1) }, headers: headers, body: sent)
        let response: HTTPResponse
        do throws(HTTPError) { response = try await connection.send(request) } catch { throw .noResponse(error) }
        let data = Data(response.body)
        if (200..<300).contains(response.status) { return data }
        guard let problem = try? JSONDecoder().decode(ProblemResponse.self, from: data), response.status < 500 else {
            throw .unreadable(status: response.status)
        }
        throw .refused(code: problem.code, status: response.status, title: problem.title ?? "")
    }

    private struct SignIn: Encodable { let id: String }
    private struct Identifiers: Encodable {
        let bundleId: String
        let ids: [String]
    }
    private struct Restore: Encodable {
        let bundleId: String
        let deviceId: String
    }
    private struct EmptyBody: Encodable {}
    private struct IgnoredResponse: Decodable {}
    private struct TakenIntentResponse: Decodable { let takenBy: UUID? }
    private struct Receipt: Decodable { let receipt: String }
    private struct Download: Decodable { let signedAppTransaction: String }
    private struct ProblemResponse: Decodable {
        let code: String
        let title: String?
    }
}

/// The body of `POST /emulator/purchases`.
struct PurchaseRequestBody: Encodable, Sendable {
    struct Offer: Encodable, Sendable {
        struct Signature: Encodable, Sendable {
            var keyIdentifier: String
            var nonce: UUID
            /// In milliseconds since 1970.
            var timestamp: Int64
            /// Base64.
            var signature: String
        }

        /// `promotional`, `code` or `winBack`.
        var type: String
        var identifier: String?
        var signature: Signature?
        var jws: String?
        var code: String?
    }

    var productId: String
    var quantity = 1
    var appAccountToken: UUID?
    var offer: Offer?
    var introductoryEligibility: String?
    /// Nil pays a year up front.
    var monthlyBilling: Bool?
    /// Nil uses the account's setting.
    var outcome: String?
    var receipt = false
    fileprivate(set) var bundleId = ""
    fileprivate(set) var deviceId = ""

    init(_ productId: String) { self.productId = productId }
}

/// The connection to an emulated App Store: over HTTP to a running `till emulate`, or directly to one in this process.
public struct StoreConnection: Sendable {
    /// Sends a request whose path and query are the store's.
    let send: Send

    /// Connects to a running store.
    ///
    /// - Parameter url: for example `http://127.0.0.1:8789`.
    /// - Throws: `HTTPError` if the HTTP client can't be created.
    public static func http(_ url: String) throws -> StoreConnection {
        let base = url.hasSuffix("/") ? String(url.dropLast()) : url
        let fetch = try Fetch()
        return StoreConnection { (request) async throws(HTTPError) -> HTTPResponse in
            try await fetch.send(base + Self.target(of: request), request)
        }
    }

    /// Connects to a store in this process: `StoreConnection.inProcess { await emulator.respond(to: $0) }`.
    public static func inProcess(
        _ respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) -> StoreConnection {
        StoreConnection { (request) async throws(HTTPError) -> HTTPResponse in
            try await respond(request).arrived()
        }
    }

    /// The same connection with a function in between, for example one that interrupts or delays requests.
    public func through(
        _ client: @escaping @Sendable (HTTPRequest, Send) async throws(HTTPError) -> HTTPResponse
    ) -> StoreConnection {
        let send = send
        return StoreConnection { (request) async throws(HTTPError) -> HTTPResponse in try await client(request, send) }
    }

    public typealias Send = @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse

    private static func target(of request: HTTPRequest) -> String {
        let path = request.path.split(separator: "/", omittingEmptySubsequences: false).map { escaped($0) }
        let query = request.query.map { "\(escaped($0.name[...]))=\(escaped($0.value[...]))" }
        return path.joined(separator: "/") + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    private static func escaped(_ text: Substring) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    /// RFC 3986 §2.3.
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

/// Why the store did not carry out a request.
enum EmulatorClientError: Error, Sendable, Hashable {
    case noResponse(HTTPError)
    /// A response that isn't the store's: HTML, a proxy's error, or an injected fault.
    case unreadable(status: Int)
    /// A refusal with its stable code (docs/emulator.md).
    case refused(code: String, status: Int, title: String)

    /// The error that Apple's client would receive on a real network (facts/storekit-client A7), if there is one.
    var networkError: URLError? {
        switch self {
        case .refused: nil
        case .unreadable: URLError(.badServerResponse)
        case .noResponse(let error):
            switch error.kind {
            case .cannotResolve: URLError(.cannotFindHost)
            case .cannotConnect, .addressRefused: URLError(.cannotConnectToHost)
            case .timedOut: URLError(.timedOut)
            case .connectionLost: URLError(.networkConnectionLost)
            case .tls: URLError(.secureConnectionFailed)
            case .stopped: URLError(.cancelled)
            case .badURL: URLError(.badURL)
            case .responseTooLarge: URLError(.dataLengthExceedsMaximum)
            case .other: URLError(.notConnectedToInternet)
            }
        }
    }
}
