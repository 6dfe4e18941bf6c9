import Glibc
import Testing

@testable import TillHTTP

/// Answers with what it was asked: method, path, query, and the body as it came.
func echo(_ request: HTTPRequest) async -> HTTPResponse {
    var response = HTTPResponse(status: 200, body: request.body)
    response.headers.add("X-Method", request.method.rawValue)
    response.headers.add("X-Path", request.path)
    response.headers.add("X-Query", request.query.map { "\($0.name)=\($0.value)" }.joined(separator: ";"))
    response.headers.add("X-Peer", request.peer)
    return response
}

/// A listener that is stopped when the test is over.
func withListener<Result>(
    _ configuration: ListenerConfiguration = ListenerConfiguration(),
    bodyLimit: Int = 1 << 20,
    handler: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = echo,
    _ body: (Listener) async throws -> Result
) async throws -> Result {
    let listener = try Listener(configuration: configuration, bodyLimit: { _, _ in bodyLimit }, handler: handler)
    do {
        let result = try await body(listener)
        await listener.stop(grace: 2)
        return result
    } catch {
        await listener.stop(grace: 0)
        throw error
    }
}

@Suite struct ListenerTests {
    @Test("A request arrives whole and its answer goes back")
    func echoes() async throws {
        try await withListener { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send(
                "POST /v1/a%20b?x=1&y=%E5%AD%A6+p HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello")
            let reply = try #require(connection.receive())
            #expect(reply.status == 200)
            #expect(reply.text == "hello")
            #expect(reply.header("X-Method") == "POST")
            #expect(reply.header("X-Path") == "/v1/a b")
            #expect(reply.header("X-Query") == "x=1;y=学 p")
            #expect(reply.header("X-Peer") == "127.0.0.1")
        }
    }
}
