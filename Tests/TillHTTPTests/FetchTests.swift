import Foundation
import Glibc
import Synchronization
import Testing

@testable import TillHTTP

@Suite struct FetchTests {
    private func url(_ listener: Listener, _ path: String = "/") -> String {
        "http://127.0.0.1:\(listener.port)\(path)"
    }

    @Test("Method, path, query, headers and body arrive, and come back", arguments: HTTPMethod.allCases)
    func echoes(_ method: HTTPMethod) async throws {
        try await withListener(handler: { request in
            var response = await echo(request)
            response.status = 201
            response.headers.add("X-Got", request.headers["X-Sent"] ?? "-")
            response.headers.add("X-Type", request.headers["Content-Type"] ?? "-")
            return response
        }) { listener in
            let fetch = try Fetch()
            defer { fetch.stop() }
            let body = [UInt8]("hé\0llo".utf8)
            for content in method == .head ? [[]] : [[], body] {
                let response = try await fetch.send(
                    url(listener, "/a%20b?c=d"),
                    HTTPRequest(
                        method: method, path: "/ignored", headers: HTTPHeaders([("X-Sent", "yes")]), body: content))
                #expect(response.status == 201)
                #expect(response.headers["x-method"] == method.rawValue)
                #expect(response.headers["X-Path"] == "/a b")
                #expect(response.headers["X-Query"] == "c=d")
                #expect(response.headers["X-Got"] == "yes")
                // No media type is sent unless the caller sets one.
                #expect(response.headers["X-Type"] == "-")
                #expect(response.body == content)
            }
        }
    }

    @Test("Connections are reused")
    func reuse() async throws {
        try await withListener { listener in
            let fetch = try Fetch()
            defer { fetch.stop() }
            for _ in 0..<50 { _ = try await fetch.send(url(listener), HTTPRequest(method: .get, path: "/")) }
            #expect(listener.connections == 1)
        }
    }

    @Test("Of many concurrent requests, each gets its own answer")
    func concurrent() async throws {
        try await withListener(handler: echoElsewhere) { listener in
            let fetch = try Fetch()
            defer { fetch.stop() }
            let send = fetch.send
            let target = url(listener)
            let good = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<1_000 {
                    group.addTask {
                        let body = Array("\(index) \(String(repeating: "x", count: index % 997))".utf8)
                        return try await send(target, HTTPRequest(method: .post, path: "/", body: body)).body == body
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(good == 1_000)
            #expect(listener.connections <= 64)
        }
    }

    @Test("A redirect is an answer like any other")
    func redirects() async throws {
        try await withListener(handler: { request in
            guard request.path == "/" else { return HTTPResponse(status: 200) }
            return HTTPResponse(status: 307, headers: HTTPHeaders([("Location", "/elsewhere")]))
        }) { listener in
            let fetch = try Fetch()
            defer { fetch.stop() }
            let response = try await fetch.send(url(listener), HTTPRequest(method: .post, path: "/"))
            #expect(response.status == 307)
            #expect(response.headers["Location"] == "/elsewhere")
        }
    }

    @Test("An answer of exactly the limit arrives, one byte more is a fault", arguments: [true, false])
    func bound(_ hasLength: Bool) async throws {
        try await withServer { connection in
            _ = connection.receive()
            let size = connection.lastHead.contains("/over") ? 10_001 : 10_000
            let framing = hasLength ? "Content-Length: \(size)\r\n" : "Connection: close\r\n"
            connection.send("HTTP/1.1 200 OK\r\n\(framing)\r\n" + String(repeating: "x", count: size))
        } _: { port in
            var configuration = FetchConfiguration()
            configuration.responseLimit = 10_000
            let fetch = try Fetch(configuration: configuration)
            defer { fetch.stop() }
            let request = HTTPRequest(method: .get, path: "/")
            #expect(try await fetch.send("http://127.0.0.1:\(port)/", request).body.count == 10_000)
            await expectFault(.responseTooLarge) {
                try await fetch.send("http://127.0.0.1:\(port)/over", request)
            }
        }
    }

    @Test("An answer's endless header is a fault")
    func endlessHeader() async throws {
        try await withServer { connection in
            _ = connection.receive()
            connection.send("HTTP/1.1 200 OK\r\n")
            while connection.send("X-Y: \(String(repeating: "z", count: 1_000))\r\n") {}
        } _: { port in
            let fetch = try Fetch()
            defer { fetch.stop() }
            await expectFault(.responseTooLarge) {
                try await fetch.send("http://127.0.0.1:\(port)/", HTTPRequest(method: .get, path: "/"))
            }
        }
    }

    @Test("No answer, half an answer and an invalid answer are each a fault with a name")
    func badAnswers() async throws {
        let cases: [(String, HTTPError.Kind)] = [
            ("", .connectionLost), ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", .connectionLost),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", .connectionLost),
            ("SSH-2.0-OpenSSH_9.2\r\n", .connectionLost),
        ]
        for (answer, kind) in cases {
            try await withServer { connection in
                _ = connection.receive()
                connection.send(answer)
            } _: { port in
                let fetch = try Fetch()
                defer { fetch.stop() }
                await expectFault(kind) {
                    try await fetch.send("http://127.0.0.1:\(port)/", HTTPRequest(method: .get, path: "/"))
                }
            }
        }
    }

    @Test("No listener, an unknown host, no TLS and an invalid URL are each a fault with a name")
    func faults() async throws {
        try await withListener { listener in
            let fetch = try Fetch()
            defer { fetch.stop() }
            let request = HTTPRequest(method: .get, path: "/")
            await expectFault(.cannotConnect) { try await fetch.send("http://127.0.0.1:1/", request) }
            await expectFault(.cannotResolve) { try await fetch.send("http://nobody.invalid/", request) }
            await expectFault(.tls) { try await fetch.send("https://127.0.0.1:\(listener.port)/", request) }
            for bad in ["", "/", "127.0.0.1:\(listener.port)/", "file:///etc/passwd", "ftp://127.0.0.1/", "http://"] {
                await expectFault(.badURL) { try await fetch.send(bad, request) }
            }
            for header in [("X\r\nY", "z"), ("X", "y\r\nZ: z"), ("", "y"), ("X:", "y")] {
                await expectFault(.badURL) {
                    let headers = HTTPHeaders([header])
                    return try await fetch.send(url(listener), HTTPRequest(method: .get, path: "/", headers: headers))
                }
            }
        }
    }

    @Test("The environment's proxy is not used")
    func noProxy() async throws {
        setenv("http_proxy", "http://127.0.0.1:1", 1)
        defer { unsetenv("http_proxy") }
        try await withListener { listener in
            let fetch = try Fetch()
            defer { fetch.stop() }
            #expect(try await fetch.send(url(listener), HTTPRequest(method: .get, path: "/")).status == 200)
            var configuration = FetchConfiguration()
            configuration.proxy = "http://127.0.0.1:1"
            let proxied = try Fetch(configuration: configuration)
            defer { proxied.stop() }
            await expectFault(.cannotConnect) {
                try await proxied.send(url(listener), HTTPRequest(method: .get, path: "/"))
            }
        }
    }

    @Test("A request that takes too long is a fault")
    func timeOut() async throws {
        try await withListener(handler: { _ in
            try? await Task.sleep(nanoseconds: 2_000_000_000)
            return HTTPResponse(status: 200)
        }) { listener in
            var configuration = FetchConfiguration()
            configuration.totalTimeout = 200
            let fetch = try Fetch(configuration: configuration)
            defer { fetch.stop() }
            await expectFault(.timedOut) {
                try await fetch.send(url(listener), HTTPRequest(method: .get, path: "/"))
            }
        }
    }

    @Test("Cancelling the caller aborts its transfer; stopping aborts all, and later ones at once")
    func stopping() async throws {
        try await withListener(handler: { _ in
            try? await Task.sleep(nanoseconds: 4_000_000_000)
            return HTTPResponse(status: 200)
        }) { listener in
            let fetch = try Fetch()
            let send = fetch.send
            let target = url(listener)
            let request = HTTPRequest(method: .get, path: "/")
            // Without an abort, both would be answered after a while.
            let cancelled = Task { await expectFault(.stopped) { try await send(target, request) } }
            let stopped = Task { await expectFault(.stopped) { try await send(target, request) } }
            for _ in 0..<6_000 where listener.requestsUnderWay < 2 { usleep(5_000) }
            cancelled.cancel()
            await cancelled.value
            fetch.stop()
            await stopped.value
            await expectFault(.stopped) { try await send(target, request) }
        }
    }

    @Test(
        "An independent client, curl, understands the listener",
        .enabled(if: CurlProgram.isThere, "there is no /usr/bin/curl"))
    func curl() async throws {
        try await withListener(bodyLimit: 2_000_000) { listener in
            let big = String(repeating: "0123456789", count: 150_000)
            let small = try CurlProgram.run(["-d", "a=b&c", "\(url(listener))x"])
            #expect(small == "a=b&c")
            // Over a megabyte, curl waits for 100 Continue first.
            #expect(try CurlProgram.run(["--data-binary", "@-", url(listener)], input: big) == big)
            let chunked = ["-H", "Transfer-Encoding: chunked", "--data-binary", "@-", url(listener)]
            #expect(try CurlProgram.run(chunked, input: big) == big)
            let tooLarge = ["-w", "%{http_code}", "-o", "/dev/null", "--data-binary", "@-", url(listener)]
            #expect(try CurlProgram.run(tooLarge, input: big + big) == "413")
            #expect(try CurlProgram.run(tooLarge + ["-H", "Expect:"], input: big + big) == "413")
            #expect(try CurlProgram.run(["-I", url(listener)]).hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }
}
