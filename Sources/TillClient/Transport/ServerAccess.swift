import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The user who is signed in to the app.
package struct UserSession: Hashable, Sendable {
    package let userID: UserID
    /// The user token that the app's backend issued.
    package let token: String

    package init(userID: UserID, token: String) {
        self.userID = userID
        self.token = token
    }
}

/// The connection to the purchase server.
package struct ServerAccess: Sendable {
    /// Without a trailing slash: `https://pay.example.com`.
    package let url: String
    package let transport: Transport
    /// Called before every request; nil while no user is signed in.
    package let session: @Sendable () async -> UserSession?
    /// Returns another token after the server refused the given one (401); called once for each request.
    package let renewed: @Sendable (UserSession) async -> UserSession?
    /// The language of the server's messages.
    package let language: Language

    /// - Parameter renewed: nil calls `session` again, which suffices for an app that renews its tokens itself.
    package init(
        url: String, transport: Transport, language: Language,
        renewed: (@Sendable (UserSession) async -> UserSession?)? = nil,
        session: @escaping @Sendable () async -> UserSession?
    ) {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.transport = transport
        self.language = language
        self.session = session
        self.renewed = renewed ?? { _ in await session() }
    }

    func post<Reply: Decodable>(
        _ path: String, _ body: some Encodable, as session: UserSession, expecting: Reply.Type
    ) async throws(ServerError) -> Reply {
        try await send("POST", path, body, as: session, expecting: Reply.self)
    }

    func put<Reply: Decodable>(
        _ path: String, _ body: some Encodable, as session: UserSession, expecting: Reply.Type
    ) async throws(ServerError) -> Reply {
        try await send("PUT", path, body, as: session, expecting: Reply.self)
    }

    private func send<Reply: Decodable>(
        _ method: String, _ path: String, _ body: some Encodable, as session: UserSession, expecting: Reply.Type
    ) async throws(ServerError) -> Reply {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(body) else { throw .noResponse(TransportError(.other, "no JSON")) }
        let response = try await exchange(
            method, path, headers: ["Content-Type": "application/json"], body: [UInt8](data), as: session)
        return try Self.read(response, expecting: Reply.self)
    }

    func get<Reply: Decodable>(
        _ path: String, as session: UserSession, expecting: Reply.Type
    ) async throws(ServerError) -> Reply {
        try Self.read(try await exchange("GET", path, as: session), expecting: Reply.self)
    }

    /// Sends one request and returns the response, of any kind. A refused token is replaced once, if the same user has
    /// another one.
    func exchange(
        _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8] = [],
        as session: UserSession? = nil
    ) async throws(ServerError) -> TransportResponse {
        let response = try await send(method, path, headers, body, token: session?.token)
        guard response.status == 401, let session, let fresh = await renewed(session),
            fresh.userID == session.userID, fresh.token != session.token
        else { return response }
        return try await send(method, path, headers, body, token: fresh.token)
    }

    private func send(
        _ method: String, _ path: String, _ headers: [String: String], _ body: [UInt8], token: String?
    ) async throws(ServerError) -> TransportResponse {
        var headers = headers
        headers["Accept"] = "application/json, application/problem+json"
        headers["Accept-Language"] = language.rawValue
        if let token { headers["Authorization"] = "Bearer \(token)" }
        let request = TransportRequest(method: method, url: url + path, headers: headers, body: body)
        do throws(TransportError) { return try await transport.send(request) } catch { throw .noResponse(error) }
    }

    /// The maximum in seconds that a proxy, or another party that answers in the server's place, can delay a paid
    /// purchase.
    static let longestRetryAfter: Int64 = 60

    /// Accepts only JSON of the expected shape as the server's answer. A proxy's page is refused, whatever its status.
    static func read<Reply: Decodable>(
        _ response: TransportResponse, expecting: Reply.Type
    ) throws(ServerError) -> Reply {
        let retryAfter = response.retryAfter.map { min(max($0, 0), 86_400) }
        let unreadable = ServerError.unreadable(
            status: response.status, retryAfter: retryAfter.map { min($0, longestRetryAfter) })
        let type = response.contentType.prefix { $0 != ";" && $0 != " " }.lowercased()
        let data = Data(response.body)
        switch response.status {
        case 200..<300:
            guard type == "application/json", let reply = try? JSONDecoder().decode(Reply.self, from: data) else {
                throw unreadable
            }
            return reply
        case 400..<600:
            guard type == ProblemDetails.contentType,
                let problem = try? JSONDecoder().decode(ProblemDetails.self, from: data)
            else {
                throw unreadable
            }
            throw .refused(ServerRefusal(problem, status: response.status, retryAfter: retryAfter))
        default: throw unreadable
        }
    }
}
