import Glibc
import Synchronization
import Testing
import TillThreads

@testable import TillHTTP

@Suite(.serialized) struct LoadTests {
    @Test("On 64 concurrent connections each request gets its own answer, and nothing is left behind")
    func nothingCrossed() async throws {
        try await withListener(handler: echoElsewhere) { listener in
            let port = listener.port
            let good = ExchangeCounter()
            await onThreads(64) { thread in
                guard let connection = RawConnection(port: port) else { return }
                for round in 0..<200 {
                    let size = (thread * 131 + round * 17) % 5_000
                    let body = "\(thread) \(round) " + String(repeating: "x", count: size)
                    connection.send(
                        "POST /\(thread)/\(round) HTTP/1.1\r\nHost: t\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                            + body)
                    guard let reply = connection.receive() else { return }
                    if reply.text == body, reply.header("X-Path") == "/\(thread)/\(round)" {
                        good.value.add(1, ordering: .relaxed)
                    }
                }
            }
            #expect(good.value.load(ordering: .relaxed) == 64 * 200)
            for _ in 0..<6_000 where listener.connections > 0 || listener.requestsUnderWay > 0 { usleep(10_000) }
            #expect(listener.requestsUnderWay == 0)
            #expect(listener.connections == 0)
        }
    }

    @Test("Clients that disconnect at any moment leave nothing behind")
    func disconnects() async throws {
        // libmicrohttpd misses an end that arrives together with the last bytes; the deadline does not.
        var configuration = ListenerConfiguration()
        configuration.headerDeadline = 500
        configuration.bodyDeadline = 500
        try await withListener(configuration, handler: echoElsewhere) { listener in
            let port = listener.port
            let whole = "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello"
            await onThreads(8) { thread in
                for cut in 0..<whole.utf8.count {
                    guard let connection = RawConnection(port: port) else { continue }
                    connection.send(whole.utf8.prefix(cut + 1))
                    // Some disconnect in the middle of a request, others while the handler has it.
                    if (cut + thread) % 3 == 0 { usleep(200) }
                }
            }
            let connection = try #require(RawConnection(port: port))
            connection.send(whole)
            #expect(try #require(connection.receive()).text == "hello")
            for _ in 0..<6_000 where listener.connections > 1 || listener.requestsUnderWay > 0 { usleep(10_000) }
            #expect(listener.connections <= 1)
            #expect(listener.requestsUnderWay == 0)
        }
    }

    @Test("When a client disconnects during its request, the handler still ends normally, and nothing is left behind")
    func goneWhileHandled() async throws {
        let handled = ExchangeCounter()
        try await withListener(handler: { _ in
            try? await Task.sleep(nanoseconds: 200_000_000)
            handled.value.add(1, ordering: .relaxed)
            return HTTPResponse(status: 200, body: [UInt8](repeating: 65, count: 100_000))
        }) { listener in
            for _ in 0..<20 {
                let connection = try #require(RawConnection(port: listener.port))
                connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
                usleep(5_000)
            }
            for _ in 0..<6_000 where listener.connections > 0 || listener.requestsUnderWay > 0 { usleep(10_000) }
            #expect(handled.value.load(ordering: .relaxed) == 20)
            #expect(listener.connections == 0)
            #expect(listener.requestsUnderWay == 0)
        }
    }

    @Test("2,500 idle connections do not keep a new client out")
    func idleConnections() async throws {
        try await withListener { listener in
            var idle: [RawConnection] = []
            for index in 0..<2_500 {
                let connection = try #require(RawConnection(port: listener.port))
                if index % 3 == 0 { connection.send("GET / HT") }
                if index % 3 == 1 {
                    connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
                    #expect(try #require(connection.receive()).status == 200)
                }
                idle.append(connection)
            }
            for _ in 0..<6_000 where listener.connections < 2_500 { usleep(10_000) }
            #expect(listener.connections == 2_500)
            for _ in 0..<20 {
                let connection = try #require(RawConnection(port: listener.port))
                connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
                #expect(try #require(connection.receive()).status == 200)
            }
            withExtendedLifetime(idle) {}
        }
    }

    @Test(
        "Past the limit the connection that waited longest makes room; busy ones are kept",
        arguments: [true, false])
    func limit(_ isPerAddress: Bool) async throws {
        var configuration = ListenerConfiguration()
        if isPerAddress { configuration.connectionLimitPerAddress = 10 } else { configuration.connectionLimit = 10 }
        // Gates instead of times: on a busy machine a request takes long to arrive, and another connection would wait
        // longest.
        let (isBusy, mayEnd) = (Locked(false), Locked(false))
        try await withListener(
            configuration,
            handler: { request in
                guard request.path == "/busy" else { return HTTPResponse(status: 200) }
                isBusy.withLock { $0 = true }
                while !mayEnd.withLock({ $0 }) { try? await Task.sleep(nanoseconds: 1_000_000) }
                return HTTPResponse(status: 200)
            }
        ) { listener in
            defer { mayEnd.withLock { $0 = true } }
            let busy = try #require(RawConnection(port: listener.port))
            busy.send("GET /busy HTTP/1.1\r\nHost: t\r\n\r\n")
            for _ in 0..<2_000 where !isBusy.withLock({ $0 }) { usleep(5_000) }
            #expect(isBusy.withLock { $0 })
            let first = try #require(RawConnection(port: listener.port))
            for _ in 0..<2_000 where listener.connections < 2 { usleep(5_000) }
            var idle: [RawConnection] = []
            for number in 1...9 {
                idle.append(try #require(RawConnection(port: listener.port)))
                // The ninth makes eleven connections, so the first is closed.
                for _ in 0..<2_000 where listener.connections < min(2 + number, 10) { usleep(5_000) }
            }
            #expect(first.isClosedByPeer())
            for connection in idle {
                connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
                #expect(try #require(connection.receive()).status == 200)
            }
            mayEnd.withLock { $0 = true }
            #expect(try #require(busy.receive()).status == 200)
        }
    }

    @Test("Slow requests that fill the listener do not keep a new client out")
    func slowCrowd() async throws {
        var configuration = ListenerConfiguration()
        configuration.connectionLimit = 50
        try await withListener(configuration) { listener in
            var crowd: [RawConnection] = []
            for index in 0..<200 {
                let connection = try #require(RawConnection(port: listener.port))
                connection.send("POST / HTTP/1.1\r\nHost: t\r\n")
                if index % 2 == 0 { connection.send("Content-Length: 10\r\n\r\n12345") }
                crowd.append(connection)
            }
            for _ in 0..<20 {
                let connection = try #require(RawConnection(port: listener.port))
                connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
                #expect(try #require(connection.receive()).status == 200)
            }
            withExtendedLifetime(crowd) {}
        }
    }

    @Test("When every connection is busy, a new one is closed at once")
    func allBusy() async throws {
        var configuration = ListenerConfiguration()
        configuration.connectionLimit = 5
        try await withListener(
            configuration,
            handler: { _ in
                try? await Task.sleep(nanoseconds: 500_000_000)
                return HTTPResponse(status: 200)
            }
        ) { listener in
            var busy: [RawConnection] = []
            for _ in 0..<5 {
                let connection = try #require(RawConnection(port: listener.port))
                connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
                busy.append(connection)
            }
            usleep(100_000)
            let more = try #require(RawConnection(port: listener.port, receiveTimeoutMilliseconds: 300))
            #expect(more.isClosedByPeer())
            for connection in busy { #expect(try #require(connection.receive()).status == 200) }
        }
    }
}
