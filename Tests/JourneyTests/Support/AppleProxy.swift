import Foundation
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillServer
import TillThreads

/// The line on which a server asks the emulated store in Apple's place. A test can cut it, and count its requests.
final class AppleProxy: Sendable {
    private struct State {
        var emulator: Emulator?
        var outage: AppleConnectionError?
        var answer: AppleResponse?
        var asked: [String] = []
        var answersLeft: Int?
        var isCut: (@Sendable (String) -> Bool)?
        var isHeld: (@Sendable (String) -> Bool)?
        var rewrite: (@Sendable (JSONValue) -> JSONValue)?
        var isMalformed: (@Sendable (String) -> Bool)?
        var toStore: HTTPSend?
    }

    /// The app's shared secret: with it the server has no In-App Purchase key, and asks verifyReceipt.
    let secret: String?
    private let state = Locked(State())

    init(secret: String? = nil) { self.secret = secret }

    /// The way to the store's socket; nil asks the store in process.
    var toStore: HTTPSend? {
        get { state.withLock { $0.toStore } }
        set { state.withLock { $0.toStore = newValue } }
    }

    /// While set, there is no answer.
    var outage: AppleConnectionError? {
        get { state.withLock { $0.outage } }
        set { state.withLock { $0.outage = newValue } }
    }

    /// While set, every answer is this one.
    var answer: AppleResponse? {
        get { state.withLock { $0.answer } }
        set { state.withLock { $0.answer = newValue } }
    }

    /// While set, that many requests are answered, and then none.
    var answersLeft: Int? {
        get { state.withLock { $0.answersLeft } }
        set { state.withLock { $0.answersLeft = newValue } }
    }

    /// While set, the paths that get no answer.
    var isCut: (@Sendable (String) -> Bool)? {
        get { state.withLock { $0.isCut } }
        set { state.withLock { $0.isCut = newValue } }
    }

    /// While set, answers on these paths are held until it is cleared.
    var isHeld: (@Sendable (String) -> Bool)? {
        get { state.withLock { $0.isHeld } }
        set { state.withLock { $0.isHeld = newValue } }
    }

    /// While set, changes every answer.
    var rewrite: (@Sendable (JSONValue) -> JSONValue)? {
        get { state.withLock { $0.rewrite } }
        set { state.withLock { $0.rewrite = newValue } }
    }

    /// While set, request bodies with this property get status 21002.
    var isMalformed: (@Sendable (String) -> Bool)? {
        get { state.withLock { $0.isMalformed } }
        set { state.withLock { $0.isMalformed = newValue } }
    }

    /// Apple's answer about a transaction that it does not know.
    static let notFound = AppleResponse(
        status: 404, headers: [.init("Content-Type", "application/json")],
        body: Array(#"{"errorCode": 4040010, "errorMessage": "Transaction id not found."}"#.utf8))

    /// Paths in the order of the requests, outages included.
    var asked: [String] { state.withLock { $0.asked } }

    /// The clients of the app's server: of the API, or of verifyReceipt.
    ///
    /// - Parameter log: takes a line about each request.
    func clients(
        of emulator: Emulator, time: TestClock, log: Log = .none
    ) async throws -> (ServerAPI?, VerifyReceiptClient?) {
        guard let secret else { return (try await serverAPI(of: emulator, time: time, log: log), nil) }
        state.withLock { $0.emulator = emulator }
        let client = VerifyReceiptClient(
            exchange: logging(exchange(_:), in: log, clock: { time.now }),
            hosts: .emulator(at: "http://store.test"), secret: AppSharedSecret(secret))
        return (nil, client)
    }

    /// The API of the app that the emulator sells, over this line.
    func serverAPI(of emulator: Emulator, time: TestClock, log: Log = .none) async throws -> ServerAPI {
        state.withLock { $0.emulator = emulator }
        let key = try await Reply(emulator.respond(to: HTTPRequest(method: .get, path: "/emulator/api-key")))
        let effects = AppleEffects(
            exchange: logging(exchange(_:), in: log, clock: { time.now }),
            clock: { time.now }, entropy: RandomBytes.make, pause: { time.advance(seconds: max(1, $0 / 1_000)) })
        return ServerAPI(
            key: try InAppPurchaseKey(
                issuerID: key["issuerId"].text, keyID: key["keyId"].text,
                privateKey: PrivateKey(pem: key["privateKey"].text)),
            bundleID: Shop.bundleID, hosts: .emulator(at: "http://store.test"), environments: [.production, .sandbox],
            effects: effects, budget: RequestBudget(effects: effects))
    }

    private func exchange(_ request: AppleRequest) async throws(AppleConnectionError) -> AppleResponse {
        let path = String(request.url.dropFirst("http://store.test".count))
        let (state, isCut) = state.withLock { state in
            state.asked.append(path)
            let isCut = state.answersLeft == 0
            if let left = state.answersLeft, left > 0 { state.answersLeft = left - 1 }
            return (state, isCut)
        }
        while isHeld?(path) == true, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
        if isCut || state.isCut?(path) == true { throw AppleConnectionError(.connectionLost) }
        if let outage = state.outage { throw outage }
        if let answer = state.answer { return answer }
        if state.isMalformed?(String(decoding: request.body, as: UTF8.self)) == true {
            return AppleResponse(
                status: 200, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"status":21002}"#.utf8))
        }
        guard let emulator = state.emulator, let method = HTTPMethod(rawValue: request.method.rawValue) else {
            throw AppleConnectionError(.unreachable)
        }
        let headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
        let parts = path.split(separator: "?", maxSplits: 1).map(String.init)
        guard let query = try? PercentEncoding.items((parts.count > 1 ? parts[1] : "").utf8) else {
            throw AppleConnectionError(.unreachable)
        }
        let message = HTTPRequest(method: method, path: parts[0], query: query, headers: headers, body: request.body)
        let response: HTTPResponse
        do throws(HTTPError) {
            if let toStore = state.toStore {
                response = try await toStore(path, message)
            } else {
                response = await emulator.respond(to: message)
            }
        } catch {
            throw AppleConnectionError(.unreachable, error.detail)
        }
        var body = response.body
        if let rewrite = state.rewrite, let answer = try? JSONValue(decoding: body) {
            body = Array(rewrite(answer).encoded().utf8)
        }
        return AppleResponse(
            status: response.status, headers: response.headers.fields.map { .init($0.name, $0.value) }, body: body)
    }
}

extension Fetch {
    /// Sends requests to paths of one origin.
    func to(_ origin: String) -> HTTPSend {
        { [self] path, request async throws(HTTPError) in try await send(origin + path, request) }
    }
}
