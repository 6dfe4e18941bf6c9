import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Who is signed in to the app, as the app's own sign-in says.
package struct Session: Hashable, Sendable {
    package let userID: UserID
    /// The user token that the app's backend issued (CONTRACT §2).
    package let token: String

    package init(userID: UserID, token: String) {
        self.userID = userID
        self.token = token
    }
}

/// The way to the purchase server.
package struct ServerAccess: Sendable {
    /// Without a slash at the end: `https://pay.example.com`.
    package let url: String
    package let transport: Transport
    /// Asked before every request; nil while nobody is signed in.
    package let session: @Sendable () async -> Session?
    /// In which language the server speaks.
    package let language: Language

    package init(
        url: String, transport: Transport, language: Language, session: @escaping @Sendable () async -> Session?
    ) {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.transport = transport
        self.language = language
        self.session = session
    }

    func post<Reply: Decodable>(
        _ path: String, _ body: some Encodable, as session: Session, expecting: Reply.Type
    ) async throws(ServerFault) -> Reply {
        guard let data = try? JSONEncoder().encode(body) else { throw .noAnswer(TransportFault(.other, "no JSON")) }
        let request = TransportRequest(
            method: "POST", url: url + path,
            headers: [
                "Authorization": "Bearer \(session.token)", "Content-Type": "application/json",
                "Accept": "application/json, application/problem+json", "Accept-Language": language.rawValue,
            ], body: [UInt8](data))
        let response: TransportResponse
        do throws(TransportFault) { response = try await transport.send(request) } catch { throw .noAnswer(error) }
        return try Self.read(response, expecting: Reply.self)
    }

    /// Only JSON of the expected shape is the server's word. A proxy's page is none, whatever status it carries (P11).
    static func read<Reply: Decodable>(
        _ response: TransportResponse, expecting: Reply.Type
    ) throws(ServerFault) -> Reply {
        let retryAfter = response.retryAfter.map { min(max($0, 0), 86_400) }
        let unreadable = ServerFault.unreadable(status: response.status, retryAfter: retryAfter)
        let type = response.contentType.prefix { $0 != ";" && $0 != " " }.lowercased()
        let data = Data(response.body)
        switch response.status {
        case 200..<300:
            guard type == "application/json", let reply = try? JSONDecoder().decode(Reply.self, from: data) else {
                throw unreadable
            }
            return reply
        case 400..<600:
            guard type == Problem.contentType, let problem = try? JSONDecoder().decode(Problem.self, from: data) else {
                throw unreadable
            }
            throw .refused(ServerRefusal(problem, status: response.status, retryAfter: retryAfter))
        default: throw unreadable
        }
    }
}
