import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillThreads

@testable import TillEmulator

@Suite("Delayed and held requests")
struct FaultWaitTests {
    /// Real time, as in the executable.
    @Sendable private static func sleep(_ milliseconds: Int64) async {
        try? await Task.sleep(for: .milliseconds(milliseconds))
    }

    private static func milliseconds(_ body: () async throws -> Void) async rethrows -> Int64 {
        let start = ContinuousClock.now
        try await body()
        return Int64((ContinuousClock.now - start) / .milliseconds(1))
    }

    @Test("reorder: the first request is processed after the next one, and both are answered")
    func reorders() async throws {
        try await FaultyWorld.open(pause: Self.sleep) { world in
            try await world.change(["reorder": 1, "reorderWithin": 60_000])
            let ended = Locked<[Int]>([])
            let waited = await Self.milliseconds {
                await withTaskGroup(of: Void.self) { group in
                    for number in 1...2 {
                        group.addTask {
                            let bought = await world.buy("points60", ["quantity": .int(Int64(number))])
                            #expect(bought.status == 200)
                            ended.withLock { $0.append(number) }
                        }
                        // The second is sent once the first is held.
                        while number == 1, await world.struck("purchases", "reorder") == 0 { await Self.sleep(1) }
                    }
                }
            }
            // Both answers may reach their callers at the same moment: the numbers below show the order.
            #expect(ended.withLock { $0 }.sorted() == [1, 2])
            #expect(waited < 30_000, "the test did not wait for real time")
            let list = await world.ask(.get, "/emulator/transactions").json["data"]?.array ?? []
            let quantities = list.sorted { ($0["transactionId"]?.string ?? "") < ($1["transactionId"]?.string ?? "") }
                .map { $0["quantity"] }
            #expect(quantities == [2, 1])
            #expect(await world.struck("purchases", "reorder") == 1)
        }
    }

    @Test("reorder: a held request without a later one continues when its time is over")
    func bounded() async throws {
        try await FaultyWorld.open(pause: Self.sleep) { world in
            try await world.change(["reorder": 1, "reorderWithin": 30])
            for _ in 0..<3 { #expect(await world.buy().status == 200) }
            #expect(await world.struck("purchases", "reorder") == 3)
            #expect(world.waited == [30, 30, 30])
        }
    }

    @Test("A hundred concurrent requests under every fault are all answered", arguments: [0.3, 1])
    func crowd(_ chance: Double) async throws {
        try await FaultyWorld.open(pause: Self.sleep) { world in
            try await world.change([
                "seed": 6, "reorder": .double(chance), "delay": .double(chance), "delayFrom": 1, "delayTo": 20,
                "reorderWithin": 200, "duplicate": .double(chance / 4), "drop": .double(chance / 4),
            ])
            let ends = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        number % 2 == 0
                            ? await world.buy().isHangUp : await world.ask(.get, "/inApps/v2/history/1").isHangUp
                    }
                }
                return await group.reduce(into: [Bool]()) { $0.append($1) }
            }
            #expect(ends.count == 100)
            #expect(ends.contains(true) && ends.contains(false))
            let faults = await world.ask(.get, "/emulator/faults").json
            #expect(faults["requests"]?["purchases"] == 50 && faults["requests"]?["history"] == 50)
            let before = await world.struck("purchases", "dropBefore")
            let twice = await world.struck("purchases", "duplicate")
            #expect(await world.total() == 50 - before + twice)
        }
    }

    enum Release: CaseIterable {
        case ended, turnedOff, cancelled
    }

    @Test(
        "Held requests continue at once when faults end, fault rates change, or they are cancelled",
        arguments: Release.allCases)
    func released(_ release: Release) async throws {
        try await FaultyWorld.open(pause: Self.sleep) { world in
            let limit: JSONValue = .int(FaultRates.longestWait)
            try await world.change([
                "delayFrom": limit, "delayTo": limit, "reorderWithin": limit,
                "endpoints": ["purchases": ["delay": 1], "history": ["reorder": 1]],
            ])
            let waited = try await Self.milliseconds {
                let buying = Task { await world.buy().status }
                let asking = Task { await world.ask(.get, "/inApps/v2/history/1").isHangUp }
                while world.waited.count < 2 { await Self.sleep(1) }
                switch release {
                case .ended: world.emulator.endFaults()
                case .turnedOff: try await world.change([:])
                case .cancelled:
                    buying.cancel()
                    asking.cancel()
                }
                #expect(await buying.value == 200)
                #expect(await asking.value == false)
            }
            #expect(waited < 60_000)
            if release == .ended { #expect(await world.buy().status == 200) }
        }
    }

    @Test("A request released before it starts to wait does not wait, and each place holds one request")
    func places() async {
        let room = DelayedRequests(pause: Self.sleep)
        let place = room.makeTicket()
        room.release(place)
        let waited = await Self.milliseconds { await room.wait(60_000, in: place) }
        #expect(waited < 30_000)
        #expect(room.makeTicket() != place)
        await DelayedRequests(pause: nil).wait(60_000)
        #expect(!DelayedRequests(pause: nil).canWait)
    }
}
