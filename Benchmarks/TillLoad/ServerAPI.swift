import TillAppStore
import TillBilling
import TillHTTP

/// Our server's API as the load uses it, with a secret key.
struct ServerAPI: Sendable {
    let url: String
    let send: HTTPSend

    /// What became of a request: an answer, or none.
    enum Answer: Sendable, Hashable {
        case done(status: Int, outcome: String)
        case nothing
    }

    func openOrder(_ number: Int) async -> Answer {
        let (id, user, product) = (LoadSet.order(number), LoadSet.user(number), LoadSet.productID)
        return await post("/v1/orders", #"{"id":"\#(id)","userId":"\#(user)","productId":"\#(product)"}"#)
    }

    func submit(_ proof: String) async -> Answer {
        await post("/v1/transactions", #"{"signedTransaction":"\#(proof)"}"#)
    }

    func points(of user: String) async throws -> Int64 {
        let request = HTTPRequest(method: .get, path: "", headers: Self.headers)
        let response = try await send(url + "/v1/users/\(user)/wallet", request)
        return try JSONValue(decoding: response.body)["balances"]?["points"]?.int ?? 0
    }

    private func post(_ path: String, _ body: String) async -> Answer {
        let request = HTTPRequest(method: .post, path: "", headers: Self.headers, body: Array(body.utf8))
        guard let response = try? await send(url + path, request) else { return .nothing }
        let outcome = (try? JSONValue(decoding: response.body))?["outcome"]?.string ?? ""
        return .done(status: response.status, outcome: outcome)
    }

    private static var headers: HTTPHeaders {
        HTTPHeaders([
            (name: "Authorization", value: "Bearer \(LoadSet.secretKey)"),
            (name: "Content-Type", value: "application/json"),
        ])
    }
}
