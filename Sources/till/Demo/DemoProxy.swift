import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillThreads

/// A proxy between one buyer's device and the purchase server. It forwards everything, records the server's answers to
/// proofs, and can hold a proof back, which interrupts a purchase without the app's help.
final class DemoProxy: Sendable {
    /// A proof in a request: the order and transaction stand beside a receipt (StoreKit 1), or in the signed payload
    /// (StoreKit 2).
    struct Proof: Sendable {
        let order: String
        let transaction: String

        init(_ request: [UInt8]) {
            let body = try? JSONValue(decoding: request)
            let parts = body?["signedTransaction"]?.string?.split(separator: ".") ?? []
            let signed = parts.count == 3 ? Base64.decode(parts[1], .url).flatMap { try? JSONValue(decoding: $0) } : nil
            order = (body?["orderId"] ?? signed?["appAccountToken"])?.string ?? ""
            transaction = (body?["transactionId"] ?? signed?["transactionId"])?.string ?? ""
        }
    }

    private struct State {
        var isHolding = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var outcomes: [String] = []
    }

    /// The proofs that were held back; a stream for a single reader.
    let held: AsyncStream<Proof>
    private let server: String
    private let fetch: Fetch
    private let state: Locked<State>
    private let proofs: AsyncStream<Proof>.Continuation
    private let listener: Locked<Listener?>

    /// - Throws: `CommandError` if no port is available.
    init(to server: String, _ fetch: Fetch) throws {
        self.server = server
        self.fetch = fetch
        (held, proofs) = AsyncStream<Proof>.makeStream()
        state = Locked(State())
        listener = Locked(nil)
        do throws(ListenerError) {
            let listening = try Listener(bodyLimit: { _, _ in 8 << 20 }) { [weak self] request in
                await self?.forward(request) ?? .hangUp
            }
            listener.withLock { $0 = listening }
        } catch {
            throw error.failure(address: "127.0.0.1")
        }
    }

    var url: String { "http://127.0.0.1:\(listener.withLock { $0?.port ?? 0 })" }

    /// The server's answers to proofs: outcomes, or codes of refusals.
    var outcomes: [String] { state.withLock { $0.outcomes } }

    /// Holds back all proofs from now on.
    func hold() { state.withLock { $0.isHolding = true } }

    /// Drops the held requests; later ones are forwarded.
    func cut() {
        let waiting = state.withLock { state in
            state.isHolding = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func close() async {
        cut()
        proofs.finish()
        await listener.withLock { listener in
            defer { listener = nil }
            return listener
        }?.stop(grace: 5)
    }

    private func forward(_ request: HTTPRequest) async -> HTTPResponse {
        let isProof = request.method == .post && request.path == Paths.transactions
        if isProof, await wasHeld(request) { return .hangUp }
        var headers = HTTPHeaders()
        for (name, value) in request.headers.fields where Self.forwarded.contains(name.lowercased()) {
            headers.add(name, value)
        }
        let query = request.query.map { "\(Paths.escaped($0.name))=\(Paths.escaped($0.value))" }.joined(separator: "&")
        let address = server + request.path + (query.isEmpty ? "" : "?" + query)
        let onward = HTTPRequest(method: request.method, path: "", headers: headers, body: request.body)
        guard var response = try? await fetch.send(address, onward) else { return .hangUp }
        if isProof { note(response) }
        response.headers = HTTPHeaders(
            response.headers.fields.filter { Self.returned.contains($0.name.lowercased()) })
        return response
    }

    private func wasHeld(_ request: HTTPRequest) async -> Bool {
        guard state.withLock({ $0.isHolding }) else { return false }
        proofs.yield(Proof(request.body))
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isHolding { state.waiting.append(continuation) }
                return !state.isHolding
            }
            if isOver { continuation.resume() }
        }
        return true
    }

    private func note(_ response: HTTPResponse) {
        let answer = try? JSONValue(decoding: response.body)
        let outcome = answer?["outcome"]?.string ?? answer?["code"]?.string ?? "status \(response.status)"
        state.withLock { $0.outcomes.append(outcome) }
    }

    /// The client kit's own headers; the others belong to one connection.
    private static let forwarded: Set<String> = [
        "accept", "accept-language", "authorization", "content-type", "idempotency-key", "if-none-match",
    ]
    private static let returned: Set<String> = ["content-type", "etag", "retry-after", "cache-control"]
}
