import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

@Suite("till serve, as a process, follows the clock of apple.emulator and no other (issue 20)")
struct EmulatorClockJourneys {
    private static func now() -> Instant { Instant(seconds: Int64(Date().timeIntervalSince1970)) }

    /// Names an emulated store in the configuration, beside which `till serve` then starts.
    private static func configure(_ files: ServerProcess, emulator port: UInt16?) throws {
        var apple: [String: JSONValue] = [
            "bundleId": .string(Shop.bundleID), "environments": ["Sandbox"], "roots": ["root.pem"],
        ]
        if let port { apple["emulator"] = .string("http://127.0.0.1:\(port)") }
        try files.configure("apple", .object(apple))
    }

    private static func openOrder(_ files: ServerProcess, _ port: UInt16, _ number: Int) async throws -> Instant {
        let order = ProvenOrder(of: "ann", number)
        let reply = try await files.send(
            port, .post, "/v1/orders", order.opening(["productId": .string(Shop.points60)]), as: .user("ann"))
        #expect(reply.status == 201, "\(reply.body)")
        return try #require(Instant(rfc3339: reply["createdAt"].text))
    }

    @Test("After forty days at the store the server's time is the store's, and tokens signed on this machine are valid")
    func advanced() async throws {
        try await ServerProcess.withFiles { files in
            let router = files.emulator.router
            let listener = try Listener(bodyLimit: router.bodyLimit(method:path:), handler: router.respond(to:))
            try Self.configure(files, emulator: listener.port)
            let (process, port) = try await files.start()
            #expect(abs(try await Self.openOrder(files, port, 1).seconds - Self.now().seconds) < 60)
            let advance = HTTPRequest(
                method: .post, path: "/emulator/clock", body: Array(#"{"advance": "40d"}"#.utf8))
            #expect(await files.emulator.respond(to: advance).status == 200)
            try await Task.sleep(for: .milliseconds(50))
            let ahead = try await Self.openOrder(files, port, 2).seconds - Self.now().seconds
            #expect(abs(ahead - 40 * 86_400) < 60, "\(ahead)")
            // The store goes away: the server counts on.
            await listener.stop(grace: 0)
            let later = try await Self.openOrder(files, port, 3).seconds - Self.now().seconds
            #expect(abs(later - 40 * 86_400) < 60, "\(later)")
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
    }

    @Test("Without apple.emulator, a store that was advanced, and a notification with a forged Date, change nothing")
    func otherwise() async throws {
        try await ServerProcess.withFiles { files in
            try Self.configure(files, emulator: nil)
            let (process, port) = try await files.start()
            let advance = HTTPRequest(
                method: .post, path: "/emulator/clock", body: Array(#"{"advance": "40d"}"#.utf8))
            #expect(await files.emulator.respond(to: advance).status == 200)
            let fetch = try Fetch()
            defer { fetch.stop() }
            let headers = HTTPHeaders([
                ("Date", "Thu, 01 Jan 2099 00:00:00 GMT"), ("Content-Type", "application/json"),
            ])
            _ = try await fetch.send(
                "http://127.0.0.1:\(port)/v1/notifications/apple",
                HTTPRequest(method: .post, path: "", headers: headers, body: Array(#"{"signedPayload": "a.b.c"}"#.utf8))
            )
            #expect(abs(try await Self.openOrder(files, port, 1).seconds - Self.now().seconds) < 60)
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
    }

    @Test("A store that hangs is named at the start, and delays answers by a moment once")
    func hangs() async throws {
        try await ServerProcess.withFiles { files in
            let listener = try Listener(
                bodyLimit: { _, _ in 0 },
                handler: { _ in
                    try? await Task.sleep(for: .seconds(20))
                    return HTTPResponse(status: 200)
                })
            try Self.configure(files, emulator: listener.port)
            let (process, port) = try await files.start()
            // The log's thread writes a moment after the server listens.
            let named = "the clock of the emulated store can't be read"
            for _ in 0..<500 where !process.complaints.contains(named) { try await Task.sleep(for: .milliseconds(10)) }
            #expect(process.complaints.contains(named))
            let start = ContinuousClock.now
            for number in 0..<20 { _ = try await Self.openOrder(files, port, number) }
            #expect(ContinuousClock.now - start < .seconds(2))
            process.send(SIGTERM)
            #expect(await process.end() == 0)
            await listener.stop(grace: 0)
        }
    }
}
