import Glibc
import Testing

@testable import TillHTTP

@Suite struct ListenerTests {
    @Test("A request arrives whole and its answer is sent back")
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

    @Test("HEAD is answered as GET without the body")
    func head() async throws {
        try await withListener(handler: { _ in HTTPResponse(status: 200, body: Array("hello".utf8)) }) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            for _ in 0..<2 {
                connection.send("HEAD / HTTP/1.1\r\nHost: t\r\n\r\n")
                let reply = try #require(connection.receive(bodiless: true))
                #expect(reply.status == 200)
                #expect(reply.header("Content-Length") == "5")
            }
        }
    }

    @Test("Requests sent in one go are answered in order")
    func pipelining() async throws {
        try await withListener { listener in
            let connection = try #require(RawConnection(port: listener.port))
            let requests = (0..<20).map { "POST /\($0) HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n\($0 + 10)" }
            connection.send(requests.joined())
            for index in 0..<20 {
                let reply = try #require(connection.receive())
                #expect(reply.header("X-Path") == "/\(index)")
                #expect(reply.text == "\(index + 10)")
            }
        }
    }

    @Test("Connection: close is honoured from either side")
    func closing() async throws {
        try await withListener(handler: { request in
            var response = HTTPResponse(status: 200)
            if request.path == "/bye" { response.headers.add("Connection", "close") }
            return response
        }) { listener in
            for request in [
                "GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", "GET /bye HTTP/1.1\r\nHost: t\r\n\r\n",
                "GET / HTTP/1.0\r\n\r\n",
            ] {
                let connection = try #require(RawConnection(port: listener.port))
                connection.send(request)
                #expect(try #require(connection.receive()).status == 200)
                #expect(connection.isClosedByPeer())
            }
        }
    }

    @Test("A handler cannot break the framing of its answer")
    func framing() async throws {
        try await withListener(handler: { request in
            var response = HTTPResponse(status: request.path == "/odd" ? 42 : 200, body: Array("hello".utf8))
            response.headers.add("Content-Length", "3")
            response.headers.add("Transfer-Encoding", "chunked")
            response.headers.add("X-Split", "a\r\nX-Forged: b")
            response.headers.add("X-Good", "c")
            return response
        }) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            let reply = try #require(connection.receive())
            #expect(reply.text == "hello")
            #expect(reply.header("X-Forged") == nil)
            #expect(reply.header("X-Good") == "c")
            connection.send("GET /odd HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try #require(connection.receive()).status == 500)
        }
    }

    @Test("A port in use is a fault with a name")
    func portInUse() async throws {
        try await withListener { listener in
            var configuration = ListenerConfiguration()
            configuration.port = listener.port
            let error = ListenerError.addressInUse(address: "127.0.0.1", port: listener.port)
            #expect(throws: error) {
                try Listener(configuration: configuration, bodyLimit: { _, _ in 0 }, handler: echo)
            }
            #expect(error.isRetryable)
        }
    }

    @Test("An invalid or foreign address is a fault with a name", arguments: ["256.1.1.1", "192.0.2.1"])
    func badAddress(_ address: String) {
        var configuration = ListenerConfiguration()
        configuration.address = address
        #expect(throws: ListenerError.badAddress(address)) {
            try Listener(configuration: configuration, bodyLimit: { _, _ in 0 }, handler: echo)
        }
    }

    @Test("A listener that is released frees its port")
    func dropped() async throws {
        var configuration = ListenerConfiguration()
        do {
            let listener = try Listener(configuration: configuration, bodyLimit: { _, _ in 0 }, handler: echo)
            configuration.port = listener.port
        }
        for _ in 0..<100 {
            if let again = try? Listener(configuration: configuration, bodyLimit: { _, _ in 0 }, handler: echo) {
                await again.stop(grace: 0)
                return
            }
            usleep(20_000)
        }
        Issue.record("the port is still taken")
    }

    @Test("One thread serves as well as several, and a caller can supply an executor")
    func variants() async throws {
        for (threads, executor) in [(1, nil), (4, nil), (2, globalConcurrentExecutor)] as [(Int, (any TaskExecutor)?)] {
            var configuration = ListenerConfiguration()
            configuration.threads = threads
            configuration.executor = executor
            try await withListener(configuration) { listener in
                let connection = try #require(RawConnection(port: listener.port))
                connection.send("GET /a HTTP/1.1\r\nHost: t\r\n\r\n")
                #expect(try #require(connection.receive()).header("X-Path") == "/a")
            }
        }
    }
}
