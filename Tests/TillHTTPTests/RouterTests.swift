import Testing

@testable import TillHTTP

@Suite struct RouterTests {
    private static func router() -> Router {
        var router = Router { _, status, _ in HTTPResponse(status: status) }
        @Sendable func says(_ text: String) -> Router.Handler {
            { _, _ in HTTPResponse(status: 200, body: Array(text.utf8)) }
        }
        router.on(.get, "/", says("root"))
        router.on(.get, "/v1/orders/{id}") { _, parameters in
            HTTPResponse(status: 200, body: Array("order \(parameters["id"])".utf8))
        }
        router.on(.get, "/v1/orders/latest", says("latest"))
        router.on(.post, "/v1/orders", bodyLimit: 10, says("made"))
        router.on(.get, "/v1/orders", says("list"))
        router.on(.post, "/v1/orders/{id}/cancel", says("cancelled"))
        router.on(.get, "/v1/users/{user}/orders/{id}") { _, parameters in
            HTTPResponse(status: 200, body: Array("\(parameters["user"]) \(parameters["id"])".utf8))
        }
        return router
    }

    static let answers: [(HTTPMethod, String, Int, String)] = [
        (.get, "/", 200, "root"),
        (.get, "/v1/orders/7", 200, "order 7"),
        (.get, "/v1/orders/a b", 200, "order a b"),
        (.get, "/v1/orders/latest", 200, "latest"),
        (.head, "/v1/orders/latest", 200, "latest"),
        (.get, "/v1/orders/", 200, "list"),
        (.post, "/v1/orders", 200, "made"),
        (.post, "/v1/orders/7/cancel", 200, "cancelled"),
        (.get, "/v1/users/u/orders/o", 200, "u o"),
        (.get, "/v1/Orders", 404, ""),
        (.get, "/v1", 404, ""),
        (.get, "/v1//orders", 404, ""),
        (.get, "//v1/orders", 404, ""),
        (.get, "/v1/users//orders/o", 404, ""),
        (.get, "/v1/orders/7/cancel/now", 404, ""),
        (.put, "/v1/orders", 405, ""),
        (.get, "/v1/orders/7/cancel", 405, ""),
    ]

    @Test("A path finds its route, a literal before a parameter", arguments: answers)
    func finds(_ method: HTTPMethod, _ path: String, _ status: Int, _ text: String) async {
        let response = await Self.router().respond(to: HTTPRequest(method: method, path: path))
        #expect(response.status == status)
        #expect(String(decoding: response.body, as: UTF8.self) == text)
    }

    @Test("405 lists the allowed methods, HEAD with GET; 404 lists none")
    func allow() async {
        let router = Self.router()
        let put = await router.respond(to: HTTPRequest(method: .put, path: "/v1/orders"))
        #expect(put.headers["Allow"] == "POST, GET, HEAD")
        let nowhere = await router.respond(to: HTTPRequest(method: .put, path: "/nowhere"))
        #expect(nowhere.headers["Allow"] == nil)
    }

    @Test("The body limit is that of the route, and zero where no route exists")
    func limits() {
        let router = Self.router()
        #expect(router.bodyLimit(method: .post, path: "/v1/orders") == 10)
        #expect(router.bodyLimit(method: .post, path: "/v1/orders/7/cancel") == 1 << 20)
        #expect(router.bodyLimit(method: .put, path: "/v1/orders") == 0)
        #expect(router.bodyLimit(method: .post, path: "/nowhere") == 0)
    }

    @Test("Over a socket an escaped slash does not split a segment but is refused; other escapes stay in one segment")
    func escapes() async throws {
        let router = Self.router()
        let listener = try Listener(bodyLimit: router.bodyLimit(method:path:), handler: router.respond(to:))
        try await blocking {
            for (target, status, text) in [
                ("/v1/orders/a%2Fcancel", 400, nil), ("/v1/orders/%E5%AD%A6%25", 200, "order 学%"),
                ("/v1/%6Frders/7", 400, nil), ("/nowhere", 404, nil),
            ] {
                let connection = try #require(RawConnection(port: listener.port))
                connection.send("GET \(target) HTTP/1.1\r\nHost: t\r\n\r\n")
                let reply = try #require(connection.receive())
                #expect(reply.status == status)
                if let text { #expect(reply.text == text) }
            }
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("POST /v1/orders HTTP/1.1\r\nHost: t\r\nContent-Length: 11\r\n\r\n01234567890")
            #expect(try #require(connection.receive()).status == 413)
        }
        await listener.stop(grace: 1)
    }
}
