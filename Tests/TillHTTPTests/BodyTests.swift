import Glibc
import Testing

@testable import TillHTTP

@Suite struct BodyTests {
    static let limit = 100_000

    private static func chunked(_ body: [UInt8], size: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = body[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(size)
            rest = rest.dropFirst(chunk.count)
            bytes += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Array("\r\n".utf8)
        }
        return bytes + Array("0\r\n\r\n".utf8)
    }

    private static func body(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    @Test("A body of exactly the limit arrives, with a length or in chunks", arguments: [0, 1, 4_096, limit])
    func arrives(_ count: Int) async throws {
        try await withListener(bodyLimit: Self.limit) { listener in
            let body = Self.body(count)
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: \(count)\r\n\r\n")
            connection.send(body)
            #expect(try #require(connection.receive()).body == body)
            // The second request on the connection shows that the framing is still in step.
            connection.send("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n")
            connection.send(Self.chunked(body, size: 7_001))
            let reply = try #require(connection.receive())
            #expect(reply.status == 200)
            #expect(reply.body == body)
        }
    }

    @Test("One byte over the limit is answered 413 before it is read")
    func announcedTooLarge() async throws {
        try await withListener(bodyLimit: Self.limit) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: \(Self.limit + 1)\r\n\r\n")
            let reply = try #require(connection.receive())
            #expect(reply.status == 413)
            #expect(reply.text.contains(#""code":"body_too_large""#))
            #expect(connection.isClosedByPeer())
        }
    }

    @Test("A client that sends a too large body before reading still gets the 413", arguments: [200_000, 3_000_000])
    func sentTooLarge(_ count: Int) async throws {
        try await withListener(bodyLimit: Self.limit) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: \(count)\r\n\r\n")
            connection.send(Self.body(count))
            #expect(try #require(connection.receive()).status == 413)
        }
    }

    @Test("A client that waits for 100 Continue gets the 413, or the 100, at once")
    func expectation() async throws {
        try await withListener(bodyLimit: Self.limit) { listener in
            let refused = try #require(RawConnection(port: listener.port))
            refused.send(
                "POST / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: \(Self.limit + 1)\r\n\r\n")
            #expect(try #require(refused.receive()).status == 413)
            let welcome = try #require(RawConnection(port: listener.port))
            welcome.send("POST / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
            welcome.send("abc")
            #expect(try #require(welcome.receive()).text == "abc")
        }
    }

    @Test("Long bodies share a bounded memory: one that finds no room gets a Retry-After; short ones always fit")
    func memory() async throws {
        var configuration = ListenerConfiguration()
        configuration.bodyMemoryLimit = 1 << 20
        try await withListener(configuration, bodyLimit: 1 << 20) { listener in
            func send(_ count: Int, of announced: Int) throws -> RawConnection {
                let connection = try #require(RawConnection(port: listener.port))
                connection.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: \(announced)\r\n\r\n")
                connection.send(Self.body(count))
                return connection
            }
            for _ in 0..<3 {
                for _ in 0..<6_000 where listener.requestsUnderWay > 0 { usleep(10_000) }
                var waiting: [RawConnection] = []
                for _ in 0..<3 { waiting.append(try send(300_000, of: 300_001)) }
                usleep(300_000)
                let refused = try #require(try send(600_000, of: 600_001).receive())
                #expect(refused.status == 503)
                #expect(refused.text.contains(#""code":"server_crowded""#))
                #expect(refused.text.contains(#""retryable":true"#))
                #expect(Int(refused.header("Retry-After") ?? "").map { $0 > 0 } == true)
                #expect(try #require(try send(32_768, of: 32_768).receive()).body.count == 32_768)
                // Earlier requests are not disturbed, and their memory is released afterwards.
                for connection in waiting {
                    connection.send("x")
                    #expect(try #require(connection.receive()).body.count == 300_001)
                }
                waiting = []
                // An answer arrives a moment before its request is released.
                for _ in 0..<6_000 where listener.requestsUnderWay > 0 { usleep(10_000) }
                #expect(try #require(try send(1 << 20, of: 1 << 20).receive()).body.count == 1 << 20)
            }
        }
    }

    @Test("Chunks that exceed the limit are answered 413 at once")
    func chunkedTooLarge() async throws {
        try await withListener(bodyLimit: Self.limit) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n")
            // The body has no end: the answer must not wait for it.
            connection.send(Self.chunked(Self.body(Self.limit + 1), size: 9_999).dropLast(5))
            let reply = try #require(connection.receive())
            #expect(reply.status == 413)
            #expect(connection.isClosedByPeer())
        }
    }

    @Test("Where no route takes a body, it is dropped and the handler answers without it")
    func unwanted() async throws {
        try await withListener(
            bodyLimit: 0,
            handler: { request in
                HTTPResponse(status: 404, body: Array("\(request.body.count)".utf8))
            }
        ) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            for _ in 0..<2 {
                connection.send("POST /nowhere HTTP/1.1\r\nHost: t\r\nContent-Length: 5000\r\n\r\n")
                connection.send(Self.body(5_000))
                let reply = try #require(connection.receive())
                #expect(reply.status == 404)
                #expect(reply.text == "0")
            }
        }
    }

    @Test("The limit is looked up by method and decoded path")
    func limitPerRoute() async throws {
        try await blocking {
            let listener = try Listener(
                bodyLimit: { method, path in method == .post && path == "/große" ? 10 : 2 }, handler: echo)
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("POST /gro%C3%9Fe HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\n0123456789")
            #expect(try #require(connection.receive()).status == 200)
            connection.send("PUT /gro%C3%9Fe HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\n0123456789")
            #expect(try #require(connection.receive()).status == 413)
            await listener.stop(grace: 1)
        }
    }
}
