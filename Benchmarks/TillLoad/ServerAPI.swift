import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// The server's API for the load, with a secret key.
struct ServerAPI: Sendable {
    let url: String
    let send: HTTPSend

    /// The result of a request: an answer, or none.
    enum Answer: Sendable, Hashable {
        case done(status: Int, outcome: String, isReplay: Bool = false)
        case nothing

        var status: Int {
            switch self {
            case .done(let status, _, _): status
            case .nothing: 0
            }
        }

        /// Whether this very request caused the grant, and the answer is not a repetition.
        var isFreshGrant: Bool { self == .done(status: 200, outcome: "granted", isReplay: false) }

        /// Whether the answer states that the grant exists.
        var confirmsGrant: Bool {
            switch self {
            case .done(200, "granted", _), .done(200, "alreadyGranted", _): true
            default: false
            }
        }
    }

    func openOrder(_ number: Int, key: String? = nil) async -> Answer {
        let (id, user, product) = (LoadSet.order(number), LoadSet.user(number), LoadSet.productID)
        return await post("/v1/orders", #"{"id":"\#(id)","userId":"\#(user)","productId":"\#(product)"}"#, key: key)
    }

    func submit(_ proof: String, key: String? = nil) async -> Answer {
        await post("/v1/transactions", #"{"signedTransaction":"\#(proof)"}"#, key: key)
    }

    func notify(_ payload: String) async -> Answer {
        await post("/v1/notifications/apple", #"{"signedPayload":"\#(payload)"}"#)
    }

    func debit(_ user: String, amount: Int64, reference: String) async -> Answer {
        await post(
            "/v1/users/\(user)/wallet/debits",
            #"{"currency":"points","amount":\#(amount),"reference":"\#(reference)"}"#)
    }

    /// The order's status; nil if the server does not answer or does not know it.
    func orderStatus(_ number: Int) async -> String? {
        let request = HTTPRequest(method: .get, path: "", headers: Self.headers)
        guard let response = try? await send(url + "/v1/orders/\(LoadSet.order(number))", request) else { return nil }
        return (try? JSONValue(decoding: response.body))?["status"]?.string
    }

    private func post(_ path: String, _ body: String, key: String? = nil) async -> Answer {
        var headers = Self.headers
        if let key { headers.add("Idempotency-Key", key) }
        let request = HTTPRequest(method: .post, path: "", headers: headers, body: Array(body.utf8))
        guard let response = try? await send(url + path, request) else { return .nothing }
        let outcome = (try? JSONValue(decoding: response.body))?["outcome"]?.string ?? ""
        let isReplay = response.headers["Idempotency-Replayed"] != nil
        return .done(status: response.status, outcome: outcome, isReplay: isReplay)
    }

    private static var headers: HTTPHeaders {
        HTTPHeaders([
            (name: "Authorization", value: "Bearer \(LoadSet.secretKey)"),
            (name: "Content-Type", value: "application/json"),
        ])
    }
}
