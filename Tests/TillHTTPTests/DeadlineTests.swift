import Glibc
import Testing

@testable import TillHTTP

/// Deadlines are absolute: a byte now and then does not extend them.
@Suite struct DeadlineTests {
    private static var short: ListenerConfiguration {
        var configuration = ListenerConfiguration()
        configuration.headerDeadline = 400
        configuration.bodyDeadline = 400
        configuration.idleDeadline = 400
        configuration.sendDeadline = 400
        configuration.handlerDeadline = 400
        return configuration
    }

    /// Sends a byte every 50 ms until the other end closes; returns how long that took, or nil after 20 s.
    private static func trickle(_ connection: RawConnection, _ bytes: [UInt8]) -> Int? {
        let start = monotonicMilliseconds()
        connection.setReceiveTimeout(50)
        for index in 0..<400 {
            connection.send([bytes[index % bytes.count]])
            if connection.hasEnded() { return monotonicMilliseconds() - start }
        }
        return nil
    }

    @Test("A request line that trickles in is cut off")
    func slowRequestLine() async throws {
        try await withListener(Self.short) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET /")
            let time = try #require(Self.trickle(connection, Array("a".utf8)))
            #expect((300..<10_000).contains(time))
        }
    }

    @Test("A header that trickles in is answered 408 and cut off")
    func slowHeader() async throws {
        try await withListener(Self.short) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET / HTTP/1.1\r\nHost: t\r\n")
            let time = try #require(Self.trickle(connection, Array("X: y\r\n".utf8)))
            #expect((300..<10_000).contains(time))
            let reply = try #require(connection.receive())
            #expect(reply.status == 408)
            #expect(reply.text.contains(#""code":"request_too_slow""#))
        }
    }

    @Test("A body that trickles in is answered 408 and cut off, with a length or in chunks", arguments: [true, false])
    func slowBody(_ hasLength: Bool) async throws {
        try await withListener(Self.short) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            let framing = hasLength ? "Content-Length: 1000" : "Transfer-Encoding: chunked"
            connection.send("POST / HTTP/1.1\r\nHost: t\r\n\(framing)\r\n\r\n")
            let time = try #require(Self.trickle(connection, Array((hasLength ? "a" : "1\r\na\r\n").utf8)))
            #expect((300..<10_000).contains(time))
            #expect(try #require(connection.receive()).status == 408)
        }
    }

    @Test("A kept-alive connection is closed after a long idle time, and not before")
    func idle() async throws {
        var configuration = Self.short
        configuration.headerDeadline = 10_000
        configuration.idleDeadline = 3_000
        try await withListener(configuration) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            for _ in 0..<4 {
                usleep(900_000)
                connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
                #expect(try #require(connection.receive()).status == 200)
            }
            #expect(connection.isClosedByPeer())
        }
    }

    @Test("A client that does not read the answer is cut off")
    func slowReader() async throws {
        let big = [UInt8](repeating: 65, count: 32 << 20)
        try await withListener(Self.short, handler: { _ in HTTPResponse(status: 200, body: big) }) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            for _ in 0..<6_000 where listener.requestsUnderWay == 0 { usleep(1_000) }
            for _ in 0..<6_000 where listener.connections > 0 || listener.requestsUnderWay > 0 { usleep(20_000) }
            #expect(listener.connections == 0)
            #expect(listener.requestsUnderWay == 0)
        }
    }

    @Test("A handler past its deadline is cancelled, and the answer it gives then is still sent")
    func slowHandler() async throws {
        try await withListener(
            Self.short,
            handler: { _ in
                // Ends early when cancelled, as a fetch or a wait does.
                try? await Task.sleep(nanoseconds: 10_000_000_000)
                return HTTPResponse(status: Task.isCancelled ? 503 : 200)
            }
        ) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try #require(connection.receive()).status == 503)
        }
    }

    @Test("A late handler within its deadline is awaited while other requests are served")
    func lateHandler() async throws {
        var configuration = ListenerConfiguration()
        configuration.threads = 1
        configuration.bodyDeadline = 100
        configuration.idleDeadline = 100
        let gate = Gate()
        try await withListener(
            configuration,
            handler: { request in
                if request.path == "/late" { await gate.pass() }
                return HTTPResponse(status: 200, body: Array(request.path.utf8))
            }
        ) { listener in
            let late = try #require(RawConnection(port: listener.port))
            late.send("GET /late HTTP/1.1\r\nHost: t\r\n\r\n")
            for _ in 0..<20 {
                let prompt = try #require(RawConnection(port: listener.port))
                prompt.send("GET /prompt HTTP/1.1\r\nHost: t\r\n\r\n")
                #expect(try #require(prompt.receive()).text == "/prompt")
                usleep(20_000)
            }
            gate.open()
            #expect(try #require(late.receive()).text == "/late")
        }
    }
}

extension RawConnection {
    /// Whether the other end has closed; the data it sent can still be received.
    func hasEnded() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count > 0 {
            push(Array(buffer[..<count]))
            return false
        }
        return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)
    }
}
