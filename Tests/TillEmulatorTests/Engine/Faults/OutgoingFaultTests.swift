import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillThreads

@testable import TillEmulator

@Suite("Each fault alone, on notifications")
struct OutgoingFaultTests {
    /// A world with a server behind a URL, and fault rates for notifications.
    private static func open(
        _ rates: JSONValue, retries: [Int64] = [], _ body: (FaultyWorld) async throws -> Void
    ) async throws {
        var configuration = EmulatorConfiguration()
        configuration.notificationRetries = retries
        try await FaultyWorld.open(configuration) { world in
            _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/hook"])
            try await world.change(["seed": 1, "endpoints": ["notifications": rates]])
            try await body(world)
        }
    }

    private static func uuids(_ notifications: [String]) throws -> [String] {
        try notifications.map { try payload(of: $0)["notificationUUID"]?.string ?? "" }
    }

    /// The results of the attempts, in order.
    private static func results(_ world: FaultyWorld) async throws -> [String] {
        try await world.emulator.store.ask { connection in
            try connection.query("SELECT result FROM send_attempts ORDER BY notification, attempt", []) {
                $0.text("result")
            }
        }
    }

    @Test(
        "Each fault determines whether the notification arrives, and which result the store records",
        arguments: [
            ("dropBefore", 0, "TIMED_OUT"), ("dropAfter", 1, "PREMATURE_CLOSE"), ("duplicate", 2, "SUCCESS"),
            ("error5xx", 0, "UNSUCCESSFUL_HTTP_RESPONSE_CODE"), ("html", 0, "UNSUCCESSFUL_HTTP_RESPONSE_CODE"),
            ("rateLimit", 0, "UNSUCCESSFUL_HTTP_RESPONSE_CODE"), ("delay", 1, "SUCCESS"), ("forgery", 1, "SUCCESS"),
            ("internalStatus", 1, "SUCCESS"), ("lostApplicationUsername", 1, "SUCCESS"),
        ] as [(String, Int, String)])
    func alone(_ fault: String, _ arrivals: Int, _ result: String) async throws {
        try await Self.open([fault: 1]) { world in
            _ = await world.buy()
            await world.emulator.sendDueNotifications()
            #expect(world.notifications.count == arrivals)
            #expect(Set(world.notifications).count <= 1)
            let results = try await Self.results(world)
            #expect(results == [result])
            #expect(world.waited.count == (fault == "delay" ? 1 : 0))
            let strikes = fault == "internalStatus" || fault == "lostApplicationUsername" ? 0 : 1
            #expect(await world.struck("notifications", fault) == Int64(strikes))
        }
    }

    @Test("Over a socket the results are the same, and a closed connection is recorded as such")
    func socket() async throws {
        let received = Locked(0)
        let hangsUp = Locked(false)
        let listener = try Listener(bodyLimit: { _, _ in 1 << 20 }) { _ in
            received.withLock { $0 += 1 }
            return hangsUp.withLock { $0 } ? .hangUp : HTTPResponse(status: 200)
        }
        let fetch = try Fetch()
        try await FaultyWorld.open(send: fetch.send) { world in
            let url = "http://127.0.0.1:\(listener.port)/hook"
            _ = await world.ask(.put, "/emulator/notifications", ["url": .string(url)])
            let expected: [(fault: String, arrivals: Int, result: String)] = [
                ("dropBefore", 0, "TIMED_OUT"), ("dropAfter", 1, "PREMATURE_CLOSE"), ("duplicate", 2, "SUCCESS"),
                ("reorder", 1, "TIMED_OUT"), ("error5xx", 0, "UNSUCCESSFUL_HTTP_RESPONSE_CODE"),
                ("clockSkew", 1, "SUCCESS"),
            ]
            for (fault, arrivals, _) in expected {
                try await world.change(["endpoints": ["notifications": .object([fault: 1])]])
                let before = received.withLock { $0 }
                _ = await world.buy()
                await world.emulator.sendDueNotifications()
                #expect(received.withLock { $0 } - before == arrivals, "\(fault)")
            }
            try await world.change([:])
            hangsUp.withLock { $0 = true }
            _ = await world.buy()
            await world.emulator.sendDueNotifications()
            let results = try await Self.results(world)
            #expect(results == expected.map(\.result) + ["PREMATURE_CLOSE"])
        }
        fetch.stop()
        await listener.stop(grace: 1)
    }

    @Test("A forged notification is refused only for its signature")
    func forged() async throws {
        try await Self.open(["forgery": 1]) { world in
            _ = await world.buy()
            await world.emulator.sendDueNotifications()
            try await world.change([:])
            _ = await world.buy()
            await world.emulator.sendDueNotifications()
            var policy = TrustPolicy(bundleID: nil, environments: nil, now: { world.world.now })
            policy.roots = [world.emulator.issuer.rootCertificate]
            let verifier = try SignedDataVerifier(policy: policy)
            #expect(world.notifications.count == 2)
            #expect(throws: VerificationError.self) { try verifier.notification(world.notifications[0]) }
            do throws(VerificationError) {
                _ = try verifier.notification(world.notifications[0])
            } catch {
                #expect(error.verdict == .badSignature)
            }
            _ = try verifier.notification(world.notifications[1])
        }
    }

    @Test("reorder: each notification changes places with the next; the overtaken one times out and still arrives")
    func reordered() async throws {
        try await Self.open(["reorder": 1]) { world in
            for _ in 0..<5 { _ = await world.buy() }
            await world.emulator.sendDueNotifications()
            let inOrder = try await world.emulator.store.ask { connection in
                try connection.query("SELECT uuid FROM notifications ORDER BY number", []) { $0.text("uuid") }
            }
            let arrived = try Self.uuids(world.notifications)
            #expect(inOrder.count == 5)
            // The last has no later one and arrives after all others are sent.
            #expect(arrived == [1, 0, 3, 2, 4].map { inOrder[$0] })
            #expect(
                try await Self.results(world) == ["TIMED_OUT", "SUCCESS", "TIMED_OUT", "SUCCESS", "TIMED_OUT"])
        }
    }

    @Test("Under run, a held notification that is not overtaken arrives after two wakes at the latest")
    func lateUnderRun() async throws {
        try await Self.open(["reorder": 1]) { world in
            let running = Task { await world.emulator.run() }
            _ = await world.buy()
            for _ in 0..<2_000 where world.notifications.isEmpty {
                world.emulator.wake()
                try await Task.sleep(nanoseconds: 2_000_000)
            }
            #expect(world.notifications.count == 1)
            running.cancel()
            await running.value
        }
    }

    @Test("Under all faults with retries every notification arrives, under its own UUID, and none is invented")
    func combinedFaults() async throws {
        let retries = [Int64](repeating: 1_000, count: 30)
        try await Self.open(["drop": 0.3, "duplicate": 0.3, "reorder": 0.3, "delay": 0.3], retries: retries) { world in
            for _ in 0..<40 { #expect(await world.buy().status == 200) }
            for _ in 0..<40 {
                await world.emulator.sendDueNotifications()
                world.world.advance(seconds: 2)
            }
            let state = await world.ask(.get, "/emulator/state").json
            #expect(state["notifications"]?["pending"] == 0)
            let noted = try await world.emulator.store.ask { connection in
                try connection.query("SELECT uuid FROM notifications", []) { $0.text("uuid") }
            }
            let arrived = try Self.uuids(world.notifications)
            #expect(noted.count == 40)
            #expect(Set(arrived) == Set(noted))
            #expect(arrived.count > 40, "some came more than once")
            // Always the same text: it describes the event's moment, not the attempt.
            #expect(Set(world.notifications).count == 40)
            for fault in ["dropBefore", "dropAfter", "duplicate", "reorder", "delay"] {
                #expect(await world.struck("notifications", fault) > 0, "\(fault)")
            }
        }
    }
}
