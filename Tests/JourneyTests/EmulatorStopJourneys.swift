import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

/// `till emulate` as a process that is stopped during a clock advance.
@Suite("till emulate, stopped during a clock advance") struct EmulatorStopJourneys {
    private func ask(
        _ fetch: Fetch, _ base: String, _ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil
    ) async throws -> (status: Int, json: JSONValue) {
        let response = try await fetch.send(
            base + path, HTTPRequest(method: method, path: "", body: body.map { Array($0.encoded().utf8) } ?? []))
        return (response.status, (try? JSONValue(decoding: response.body)) ?? .null)
    }

    private func start(_ directory: String) async throws -> (process: TillProcess, base: String) {
        let process = try TillProcess.start(
            ["emulate", "--data", directory, "--environment", "production", "--json"])
        for await line in process.lines {
            let address = try? JSONValue(decoding: line)["listening"]?.string
            return (process, try #require(address, "\(line)"))
        }
        throw HTTPError(.other, "it never listened: \(process.complaints)")
    }

    @Test("SIGTERM ends the clock advance at once, and the next start continues it")
    func terminated() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("till-stop-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let fetch = try Fetch()
        defer { fetch.stop() }
        // Never answers in time, so the clock advance waits for it.
        let received = AsyncStream<Void>.makeStream()
        let server = try Listener(bodyLimit: { _, _ in 1 << 20 }) { _ in
            received.continuation.yield()
            try? await Task.sleep(for: .seconds(60))
            return HTTPResponse(status: 200)
        }
        let (process, base) = try await start(directory.path)
        defer { process.abandon() }
        let started = Date()
        #expect(
            try await ask(
                fetch, base, .put, "/emulator/notifications",
                ["url": .string("http://127.0.0.1:\(server.port)/")]
            ).status == 200)
        #expect(try await ask(fetch, base, .post, "/emulator/clock", ["advance": "400d"]).status == 200)
        let purchase: JSONValue = [
            "bundleId": "com.example.learn", "productId": "com.example.learn.points60", "receipt": false,
        ]
        #expect(try await ask(fetch, base, .post, "/emulator/purchases", purchase).status == 200)
        for await _ in received.stream { break }
        let stoppedAt = Date()
        async let journey = ask(fetch, base, .post, "/emulator/clock", ["advance": "400d"])
        while try await ask(fetch, base, .get, "/emulator/clock").json["moving"] != true {
            try await Task.sleep(for: .milliseconds(5))
        }
        process.send(SIGTERM)
        let cut = try await journey
        #expect(cut.status == 503 && cut.json["code"] == "clock_advance_interrupted")
        #expect(await process.end() == 0, "\(process.complaints)")
        // Neither the attempt in progress nor its time limit delays the stop.
        #expect(Date().timeIntervalSince(stoppedAt) < 8)

        let (again, newBase) = try await start(directory.path)
        defer { again.abandon() }
        let clock = try await ask(fetch, newBase, .get, "/emulator/clock").json
        let now = try #require(clock["now"]?.string.flatMap { Instant(rfc3339: $0) })
        let ahead = now.milliseconds - Int64(started.timeIntervalSince1970 * 1_000)
        #expect((400 * 86_400_000...401 * 86_400_000).contains(ahead))
        let waiting = try await ask(fetch, newBase, .get, "/emulator/state").json["notifications"]
        #expect(waiting?["total"] == 1 && waiting?["pending"] == 1)
        again.send(SIGTERM)
        #expect(await again.end() == 0)
        await server.stop(grace: 0)
    }
}
