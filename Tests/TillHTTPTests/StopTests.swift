import Glibc
import Synchronization
import Testing

@testable import TillHTTP

/// Stopping loses nothing: every accepted request is answered.
@Suite(.serialized) struct StopTests {
    @Test(
        "Requests in progress and one that still arrives are answered and closed; a new connection is refused"
    )
    func phases() async throws {
        try await blocking {
            let gate = Gate()
            let listener = try Listener(bodyLimit: { _, _ in 100 }) { request in
                if request.path == "/late" { await gate.pass() }
                return HTTPResponse(status: 200, body: Array(request.path.utf8))
            }
            let port = listener.port
            let late = try #require(RawConnection(port: port))
            late.send("GET /late HTTP/1.1\r\nHost: t\r\n\r\n")
            let uploading = try #require(RawConnection(port: port))
            uploading.send("POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhe")
            let keptAlive = try #require(RawConnection(port: port))
            keptAlive.send("GET /first HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try #require(keptAlive.receive()).status == 200)
            usleep(300_000)

            async let stopped: Int = listener.stop(grace: 20)
            var isOpen = true
            for _ in 0..<6_000 where isOpen {
                usleep(10_000)
                isOpen = RawConnection(port: port) != nil
            }
            #expect(!isOpen)
            keptAlive.send("GET /second HTTP/1.1\r\nHost: t\r\n\r\n")
            let second = try #require(keptAlive.receive())
            #expect(second.status == 200 && second.text == "/second")
            #expect(second.header("Connection")?.lowercased() == "close")
            uploading.send("llo")
            let uploaded = try #require(uploading.receive())
            #expect(uploaded.text == "/upload")
            #expect(uploaded.header("Connection")?.lowercased() == "close")
            gate.open()
            let answered = try #require(late.receive())
            #expect(answered.text == "/late")
            #expect(await stopped == 0)
            #expect(listener.connections == 0)
            #expect(listener.requestsUnderWay == 0)
        }
    }

    @Test("A listener that is about to stop accepts connections, and ends each with its answer")
    func lameDuck() async throws {
        try await blocking {
            let listener = try Listener(bodyLimit: { _, _ in 0 }, handler: echo)
            let keptAlive = try #require(RawConnection(port: listener.port))
            keptAlive.send("GET /first HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try #require(keptAlive.receive()).header("Connection")?.lowercased() != "close")
            listener.closeConnectionsAfterAnswers()
            let new = try #require(RawConnection(port: listener.port))
            for connection in [keptAlive, new] {
                connection.send("GET /next HTTP/1.1\r\nHost: t\r\n\r\n")
                let reply = try #require(connection.receive())
                #expect(reply.status == 200 && reply.header("Connection")?.lowercased() == "close")
            }
            await listener.stop(grace: 1)
        }
    }

    @Test("After a hand-over connections wait in the socket, and the next listener answers them")
    func handOver() async throws {
        try await blocking {
            let gate = Gate()
            let first = try Listener(bodyLimit: { _, _ in 100 }) { request in
                if request.path == "/late" { await gate.pass() }
                return HTTPResponse(status: 200, body: Array("first".utf8))
            }
            let socket = try first.duplicateSocket()
            defer { socket.close() }
            let late = try #require(RawConnection(port: first.port))
            late.send("GET /late HTTP/1.1\r\nHost: t\r\n\r\n")
            let arriving = try #require(RawConnection(port: first.port))
            arriving.send("POST /slow HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhe")
            for _ in 0..<6_000 where first.requests(olderThan: 200) < 2 { usleep(2_000) }

            async let stopped: Int = first.handOver(grace: 20)
            // Incomplete requests do not hold the hand-over up.
            let refused = try #require(arriving.receive())
            #expect(refused.status == 503 && refused.text.contains(#""code":"server_stopping""#))
            let waiting = try #require(RawConnection(port: first.port))
            waiting.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            gate.open()
            #expect(try #require(late.receive()).text == "first")
            #expect(await stopped == 1)

            var configuration = ListenerConfiguration()
            configuration.socket = socket
            let second = try Listener(configuration: configuration, bodyLimit: { _, _ in 0 }) { _ in
                HTTPResponse(status: 200, body: Array("second".utf8))
            }
            #expect(second.port == first.port)
            #expect(try #require(waiting.receive()).text == "second")
            await second.stop(grace: 1)
            #expect(RawConnection(port: second.port) == nil)
        }
    }

    @Test("A socket that a service manager holds goes on to take connections after the stop")
    func activated() async throws {
        try await blocking {
            let held = try ListeningSocket(address: "127.0.0.1", port: 0)
            defer { held.close() }
            var configuration = ListenerConfiguration()
            configuration.socket = try ListeningSocket(inheriting: held.descriptor, isHeldElsewhere: true)
            for round in 0..<2 {
                let waiting = try #require(RawConnection(port: held.port), "round \(round)")
                waiting.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
                let listener = try Listener(configuration: configuration, bodyLimit: { _, _ in 0 }, handler: echo)
                #expect(try #require(waiting.receive()).status == 200)
                await listener.stop(grace: 1)
            }
        }
    }

    @Test("A descriptor that is no listening TCP socket is refused with the reason")
    func unusable() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let file = open("/dev/null", O_RDONLY)
        let datagram = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { for descriptor in ends + [file, datagram] { close(descriptor) } }
        for (descriptor, reason) in [
            (file, "it is not a socket"), (ends[0], "it does not listen for connections"),
            (datagram, "it does not listen for connections"),
        ] {
            #expect(throws: ListenerError.notListening(descriptor: descriptor, reason: reason)) {
                try ListeningSocket(inheriting: descriptor, isHeldElsewhere: true)
            }
        }
    }

    @Test("A handler that exceeds the grace period is cancelled and its client gets 503")
    func grace() async throws {
        try await blocking {
            let gate = Gate()
            let listener = try Listener(bodyLimit: { _, _ in 0 }) { _ in
                // Ignores cancellation.
                await gate.pass()
                return HTTPResponse(status: 200)
            }
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            for _ in 0..<6_000 where listener.requestsUnderWay == 0 { usleep(2_000) }
            usleep(20_000)
            #expect(await listener.stop(grace: 0) == 1)
            let reply = try #require(connection.receive())
            #expect(reply.status == 503)
            #expect(reply.text.contains(#""code":"server_stopped""#))
            // Its late answer is dropped and does no harm.
            gate.open()
            for _ in 0..<6_000 where listener.requestsUnderWay > 0 { usleep(10_000) }
            #expect(listener.requestsUnderWay == 0)
        }
    }

    @Test("With no connection open, stopping takes no time")
    func atOnce() async throws {
        var shortest = Duration.seconds(60)
        for _ in 0..<5 {
            let listener = try Listener(bodyLimit: { _, _ in 0 }, handler: echo)
            shortest = min(shortest, await ContinuousClock().measure { await listener.stop(grace: 5) })
        }
        // With an open connection, stopping waits 200 ms for a next request.
        #expect(shortest < .milliseconds(200), "\(shortest)")
    }

    @Test("Stopping twice, or from two tasks, stops once")
    func twice() async throws {
        try await blocking {
            let listener = try Listener(bodyLimit: { _, _ in 0 }, handler: echo)
            async let one: Int = listener.stop(grace: 1)
            async let other: Int = listener.stop(grace: 1)
            _ = await (one, other)
            await listener.stop(grace: 1)
            #expect(RawConnection(port: listener.port) == nil)
        }
    }

    @Test("Under load every request that reached a handler is answered", arguments: 0..<3)
    func underLoad(_ round: Int) async throws {
        try await blocking {
            let handled = ExchangeCounter()
            let listener = try Listener(bodyLimit: { _, _ in 100 }) { request in
                handled.value.add(1, ordering: .relaxed)
                try? await Task.sleep(nanoseconds: 1_000_000)
                return HTTPResponse(status: 200, body: request.body)
            }
            let port = listener.port
            let answered = ExchangeCounter()
            let refused = ExchangeCounter()
            async let load: Void = onThreads(32) { thread in
                for _ in 0..<100_000 {
                    guard let connection = RawConnection(port: port) else { return }
                    for index in 0..<50 {
                        guard connection.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n\(10 + index)"),
                            let reply = connection.receive()
                        else { break }
                        if reply.status == 200, reply.text == "\(10 + index)" {
                            answered.value.add(1, ordering: .relaxed)
                        } else if reply.status == 503 {
                            refused.value.add(1, ordering: .relaxed)
                        }
                        if reply.header("Connection")?.lowercased() == "close" { break }
                    }
                }
            }
            usleep(300_000 + UInt32(round) * 37_000)
            await listener.stop(grace: 20)
            await load
            #expect(handled.value.load(ordering: .relaxed) > 20)
            #expect(answered.value.load(ordering: .relaxed) == handled.value.load(ordering: .relaxed))
            #expect(listener.requestsUnderWay == 0)
        }
    }
}
