import Testing
import TillThreads

@testable import TillHTTP

/// A handler may give no answer: the client then sees its connection closed.
@Suite struct HangUpTests {
    /// Hangs up at `/silence`, at once or a little later, and echoes the rest.
    @Sendable private static func respond(_ request: HTTPRequest) async -> HTTPResponse {
        if request.path == "/later" { try? await Task.sleep(nanoseconds: 2_000_000) }
        return ["/silence", "/later"].contains(request.path) ? .hangUp : await echo(request)
    }

    @Test("The connection is closed without a byte, whether the handler hangs up at once or later")
    func closes() async throws {
        try await withListener(handler: Self.respond) { listener in
            for path in ["/silence", "/later"] {
                for method in ["GET", "HEAD", "DELETE"] {
                    let connection = try #require(RawConnection(port: listener.port))
                    connection.send("\(method) \(path) HTTP/1.1\r\nHost: t\r\n\r\n")
                    #expect(connection.isClosedByPeer(), "\(method) \(path)")
                }
                let connection = try #require(RawConnection(port: listener.port))
                connection.send("POST \(path) HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello")
                #expect(connection.isClosedByPeer(), "POST \(path)")
            }
            for _ in 0..<200 where listener.connections > 0 || listener.requestsUnderWay > 0 {
                try await Task.sleep(nanoseconds: 5_000_000)
            }
            #expect(listener.connections == 0)
            #expect(listener.requestsUnderWay == 0)
        }
    }

    @Test("Earlier answers on the same connection have arrived, and other connections go on")
    func onlyThatConnection() async throws {
        try await withListener(handler: Self.respond) { listener in
            let other = try #require(RawConnection(port: listener.port))
            let connection = try #require(RawConnection(port: listener.port))
            for path in ["/first", "/second"] {
                connection.send("GET \(path) HTTP/1.1\r\nHost: t\r\n\r\n")
                #expect(try #require(connection.receive()).header("X-Path") == path)
            }
            connection.send("GET /later HTTP/1.1\r\nHost: t\r\n\r\nGET /third HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(connection.isClosedByPeer())
            other.send("GET /other HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try #require(other.receive()).status == 200)
        }
    }

    @Test(
        "curl and Till's own client see an empty reply", .enabled(if: CurlProgram.isThere, "there is no /usr/bin/curl"))
    func clients() async throws {
        try await withListener(handler: Self.respond) { listener in
            let base = "http://127.0.0.1:\(listener.port)"
            let word = "%{http_code} %{exitcode}"
            #expect(try CurlProgram.run(["-w", word, base + "/silence"]) == "000 52")
            #expect(try CurlProgram.run(["-w", word, "-d", "hello", base + "/later"]) == "000 52")
            let fetch = try Fetch()
            defer { fetch.stop() }
            for path in ["/silence", "/later"] {
                let request = HTTPRequest(method: .post, path: "", body: Array("hello".utf8))
                await expectFault(.connectionLost) { try await fetch.send(base + path, request) }
            }
        }
    }

    @Test("On a reused connection libcurl retries once by itself: the handler sees both requests")
    func reusedConnection() async throws {
        let seen = Locked(0)
        try await withListener(handler: { request in
            seen.withLock { $0 += 1 }
            return await Self.respond(request)
        }) { listener in
            let base = "http://127.0.0.1:\(listener.port)"
            let fetch = try Fetch()
            defer { fetch.stop() }
            let request = HTTPRequest(method: .post, path: "", body: Array("hello".utf8))
            #expect(try await fetch.send(base + "/first", request).status == 200)
            await expectFault(.connectionLost) { try await fetch.send(base + "/silence", request) }
            #expect(seen.withLock { $0 } == 3)
        }
    }

    @Test("In process, a hang-up is a value, and turns into a fault when it is delivered")
    func inProcess() async throws {
        #expect(HTTPResponse.hangUp.isHangUp)
        #expect(!HTTPResponse(status: 200).isHangUp)
        #expect(try HTTPResponse(status: 404).arrived().status == 404)
        await expectFault(.connectionLost) { try HTTPResponse.hangUp.arrived() }
    }
}
