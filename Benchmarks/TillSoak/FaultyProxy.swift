import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillThreads

/// The network between all phones and the server, or the store. It cuts, delays and repeats requests, and records them:
/// the soak knows from the requests, not from the ledger, who opened which order.
final class FaultyProxy: Sendable {
    /// The rate of each fault.
    struct FaultRates: Sendable {
        /// The request does not arrive, and there is no response.
        var cutBefore = 0.0
        /// The request arrives, and the response is lost.
        var cutAfter = 0.0
        var delay = 0.0
        /// The request arrives twice.
        var duplicate = 0.0
        /// A captive portal's page replaces the response.
        var page = 0.0

        static let smooth = FaultRates()
    }

    private struct State {
        var rates = FaultRates.smooth
        var random: SeededRandom
        var owners: [OrderID: String] = [:]
        var proofs: [JSONValue] = []
    }

    private let name: String
    private let target: String
    private let send: HTTPSend
    private let tally: Tally
    private let state: Locked<State>
    private let listener = Locked<Listener?>(nil)

    init(_ name: String, to target: String, seed: UInt64, send: @escaping HTTPSend, tally: Tally) throws {
        self.name = name
        self.target = target
        self.send = send
        self.tally = tally
        state = Locked(State(random: SeededRandom(seed: seed, player: "line to the \(name)")))
        let listening = try Listener(bodyLimit: { _, _ in 8 << 20 }) { [weak self] request in
            await self?.carry(request) ?? .hangUp
        }
        listener.withLock { $0 = listening }
    }

    var url: String { "http://127.0.0.1:\(listener.withLock { $0?.port ?? 0 })" }

    /// The user who opened each order, according to the requests.
    var owners: [OrderID: String] { state.withLock { $0.owners } }

    /// The latest proofs in requests.
    var proofs: [JSONValue] { state.withLock { $0.proofs } }

    func setRates(_ rates: FaultRates) { state.withLock { $0.rates = rates } }

    func close() async {
        await listener.withLock { listener in
            defer { listener = nil }
            return listener
        }?.stop(grace: 5)
    }

    // MARK: Forwarding

    private struct RequestFaults {
        var isCutBefore = false
        var isCutAfter = false
        var isDouble = false
        var isPage = false
        var delay: Duration?
    }

    private func draw() -> RequestFaults {
        state.withLock { state in
            let rates = state.rates
            var requestFaults = RequestFaults()
            requestFaults.isCutBefore = state.random.occurs(rates.cutBefore)
            requestFaults.isCutAfter = state.random.occurs(rates.cutAfter)
            requestFaults.isDouble = state.random.occurs(rates.duplicate)
            requestFaults.isPage = state.random.occurs(rates.page)
            if state.random.occurs(rates.delay) { requestFaults.delay = state.random.duration(0.05...1.5) }
            return requestFaults
        }
    }

    private func carry(_ request: HTTPRequest) async -> HTTPResponse {
        tally.add(.requests, name)
        note(request)
        let requestFaults = draw()
        if let delay = requestFaults.delay {
            tally.add(.faults, "\(name) line: delay")
            try? await Task.sleep(for: delay)
        }
        if requestFaults.isCutBefore {
            tally.add(.faults, "\(name) line: cut before")
            return .hangUp
        }
        if requestFaults.isPage {
            tally.add(.faults, "\(name) line: page")
            return Self.page
        }
        if requestFaults.isDouble {
            tally.add(.faults, "\(name) line: duplicate")
            _ = try? await forward(request)
        }
        guard var response = try? await forward(request) else { return .hangUp }
        note(response, to: request)
        if requestFaults.isCutAfter {
            tally.add(.faults, "\(name) line: cut after")
            return .hangUp
        }
        response.headers = HTTPHeaders(
            response.headers.fields.filter { !Self.ofOneConnection.contains($0.name.lowercased()) })
        return response
    }

    private func forward(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        let headers = HTTPHeaders(
            request.headers.fields.filter { !Self.ofOneConnection.contains($0.name.lowercased()) })
        let query = request.query.map { "\(Paths.escaped($0.name))=\(Paths.escaped($0.value))" }.joined(separator: "&")
        let path = request.path.split(separator: "/", omittingEmptySubsequences: false)
            .map { Paths.escaped(String($0)) }.joined(separator: "/")
        return try await send(
            target + path + (query.isEmpty ? "" : "?" + query),
            HTTPRequest(method: request.method, path: "", headers: headers, body: request.body))
    }

    // MARK: Records

    private func note(_ request: HTTPRequest) {
        guard request.method == .post, let body = try? JSONValue(decoding: request.body) else { return }
        if request.path == Paths.transactions {
            state.withLock { state in
                state.proofs.append(body)
                if state.proofs.count > 100 { state.proofs.removeFirst() }
            }
        }
        guard request.path == Paths.orders, let id = body["id"]?.string.flatMap({ UniqueID($0) }),
            let user = Self.subject(request.headers["Authorization"])
        else { return }
        state.withLock { $0.owners[id] = user }
    }

    private func note(_ response: HTTPResponse, to request: HTTPRequest) {
        guard request.method == .post, request.path == Paths.transactions else { return }
        let answer = try? JSONValue(decoding: response.body)
        tally.add(.answers, (answer?["outcome"] ?? answer?["code"])?.string ?? "status \(response.status)")
    }

    /// The user that a user token names.
    private static func subject(_ authorization: String?) -> String? {
        guard let parts = authorization?.split(separator: "."), parts.count == 3,
            let claims = Base64.decode(parts[1], .url).flatMap({ try? JSONValue(decoding: $0) })
        else { return nil }
        return claims["sub"]?.string
    }

    private static let ofOneConnection: Set<String> = [
        "accept-encoding", "connection", "content-length", "date", "expect", "host", "keep-alive", "transfer-encoding",
    ]

    private static var page: HTTPResponse {
        HTTPResponse(
            status: 200, headers: HTTPHeaders([(name: "Content-Type", value: "text/html; charset=utf-8")]),
            body: Array("<!doctype html><title>Welcome</title><p>Sign in to use this network.".utf8))
    }
}
