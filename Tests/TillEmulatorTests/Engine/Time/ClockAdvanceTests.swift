import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillThreads

@testable import TillEmulator

@Suite("Clock advances")
struct ClockAdvanceTests {
    private let start = EmulatedWorld.start
    private func hours(_ count: Int64) -> Instant { start.adding(seconds: count * 3_600) }

    @Test("A server that is down gets six attempts, at +1, +13, +37, +85 and +157 hours, with one text; then no more")
    func down() async throws {
        let world = try await TimedWorld { _, _ in 503 }
        await world.tellServer()
        try await world.buy()
        #expect(await world.advance("365d").status == 200)
        #expect(world.attempts.map(\.at) == [start, hours(1), hours(13), hours(37), hours(85), hours(157)])
        #expect(Set(world.attempts.map(\.signedPayload)).count == 1)
        #expect(await world.ask(.get, "/emulator/state").json["notifications"]?["pending"] == 0)
        await world.remove()
    }

    @Test("A server down for three days takes the attempt after 85 hours, and each attempt has its own date")
    func upAgain() async throws {
        let world = try await TimedWorld { world, _ in
            (try? world.emulator.store.now) ?? EmulatedWorld.start < EmulatedWorld.start.adding(seconds: 72 * 3_600)
                ? 500 : 206
        }
        await world.tellServer()
        try await world.buy()
        // In steps that end between the attempts, and on one of them.
        for span in ["30m", "30m", "11h", "3d", "2d"] { #expect(await world.advance(span).status == 200) }
        #expect(world.attempts.map(\.at) == [start, hours(1), hours(13), hours(37), hours(85)])
        let list = await world.ask(.get, "/emulator/notifications").json["data"]?.array
        let id = try #require(list?.first?["id"]?.string)
        let notified = await world.ask(.get, "/emulator/notifications/\(id)").json["sendAttempts"]?.array ?? []
        #expect(notified.map { $0["at"]?.string } == world.attempts.map { $0.at.rfc3339 })
        #expect(
            notified.map { $0["result"] } == Array(repeating: "UNSUCCESSFUL_HTTP_RESPONSE_CODE", count: 4) + ["SUCCESS"]
        )
        await world.remove()
    }

    @Test("The sandbox tries once, however long the advance is")
    func sandbox() async throws {
        let world = try await TimedWorld(EmulatorConfiguration()) { _, _ in 500 }
        await world.tellServer()
        try await world.buy()
        #expect(await world.advance("30d").status == 200)
        #expect(world.attempts.count == 1)
        #expect(await world.ask(.get, "/emulator/state").json["notifications"]?["failed"] == 1)
        await world.remove()
    }

    @Test("Scheduled changes and delivery attempts happen in one order by time")
    func oneOrder() async throws {
        let seen = Locked<[[String]]>([])
        let world = try await TimedWorld { world, _ in
            let planned = (try? await world.planned()) ?? []
            seen.withLock { $0.append(planned.map { String($0) }) }
            return 503
        }
        await world.tellServer()
        try await world.buy()
        try await world.plan([1: hours(0), 2: hours(1), 3: hours(20), 4: hours(36), 5: hours(84), 6: hours(86)])
        #expect(await world.advance("400h").status == 200)
        // Changes at the moment of an attempt happen before it.
        #expect(
            seen.withLock { $0 } == [
                ["2", "3", "4", "5", "6"], ["3", "4", "5", "6"], ["3", "4", "5", "6"], ["5", "6"], ["6"], [],
            ])
        await world.remove()
    }

    @Test("A server that calls during an advance finds the store at the notification's moment, and may buy then")
    func askedOnTheWay() async throws {
        let notified = Locked<[JSONValue]>([])
        let world = try await TimedWorld { world, payload in
            let clock = await world.ask(.get, "/emulator/clock").json
            let again = await world.advance("1d")
            let stop = await world.ask(.put, "/emulator/clock", ["stopped": true])
            var bought: JSONValue = .null
            if notified.withLock({ $0.count }) == 2 { bought = (try? await world.buy("points300")) ?? .null }
            notified.withLock {
                $0.append([
                    "now": clock["now"] ?? .null, "moving": clock["moving"] ?? .null,
                    "refused": again.json["code"] ?? .null, "stopRefused": stop.json["code"] ?? .null,
                    "bought": bought["purchaseDate"] ?? .null, "signed": payload["signedDate"] ?? .null,
                ])
            }
            return notified.withLock { $0.count } < 4 ? 503 : 200
        }
        await world.tellServer()
        try await world.buy()
        let answer = await world.advance("60d")
        #expect(answer.json["now"]?.string == start.adding(seconds: 60 * 86_400).rfc3339)
        let seen = notified.withLock { $0 }
        // Three attempts of the first, then the purchase at +13 h, which is sent at once, then the first's fourth.
        #expect(seen.map { $0["now"]?.string } == [0, 1, 13, 13, 37].map { hours($0).rfc3339 })
        #expect(seen.allSatisfy { $0["moving"] == true && $0["refused"] == "clock_is_moving" })
        #expect(seen.allSatisfy { $0["stopRefused"] == "clock_is_moving" })
        #expect(seen[2]["bought"]?.string == hours(13).rfc3339)
        #expect(seen.map { $0["signed"] } == [0, 0, 0, 13, 0].map { .int(hours($0).milliseconds) })
        await world.remove()
    }

    @Test("A year in one advance is the same as 365 days one by one")
    func dayByDay() async throws {
        func year(_ steps: [String]) async throws -> [[String]] {
            // The time of a renewal in its last day is random, so both years use the same seed.
            let world = try await TimedWorld(seed: 5) { world, _ in
                // Down every other day.
                let day = ((try? world.emulator.store.now.seconds) ?? 0) / 86_400
                return day.isMultiple(of: 2) ? 503 : 200
            }
            await world.tellServer()
            for account in ["a", "b", "c"] {
                try await world.buy("member.monthly", account: account)
                try await world.buy("points60", account: account)
                #expect(await world.advance("31h").status == 200)
            }
            for subject in 1...40 {
                try await world.plan([Int64(subject): start.adding(seconds: Int64(subject) * 777_777)])
            }
            for step in steps { #expect(await world.advance(step).status == 200) }
            let state = await world.ask(.get, "/emulator/state").json
            var result = world.attempts.map { [$0.type, $0.at.rfc3339] }
            result.append([state["now"]?.string ?? "", state["clock"]?["ahead"]?.encoded() ?? ""])
            for name in ["transactions", "subscriptions", "notifications"] {
                result.append([state[name]?.encoded() ?? ""])
            }
            // The numbers of subjects differ between stores; their dates do not.
            let upcoming = try await world.emulator.store.clockState().upcoming
            result.append(upcoming.map { "\($0.kind) \($0.date)" })
            await world.remove()
            return result
        }
        let whole = try await year(["365d"])
        let days = try await year(Array(repeating: "1d", count: 365))
        #expect(whole == days)
        // Three subscriptions of twelve months, with retries for half of their notifications.
        #expect(whole.count > 3 * 12)
    }

    @Test("A crash during an advance does not move the clock back before signed dates, and the rest happens later")
    func crash() async throws {
        let world = try await TimedWorld { world, _ in
            if world.attempts.count == 3 { await world.close() }
            return 503
        }
        await world.tellServer()
        try await world.buy()
        try await world.plan([1: hours(12), 2: hours(14)])
        let cut = await world.advance("30d")
        #expect(cut.status == 503 && cut.json["code"] == "unavailable")
        #expect(try world.emulator.store.now == hours(13))
        let later = try await TimedWorld(directory: world.directory) { _, _ in 200 }
        #expect(try later.emulator.store.now == hours(13))
        #expect(try await later.planned() == [2])
        // The result of the third attempt was not recorded, so it is repeated.
        #expect(await later.advance("30d").status == 200)
        #expect(later.attempts.map(\.at) == [hours(13)])
        #expect(try await later.planned() == [])
        await later.remove()
    }

    @Test("A cancelled advance ends at the last moment reached, and another one continues to the same end")
    func cancelled() async throws {
        let gate = Locked<CheckedContinuation<Void, Never>?>(nil)
        let world = try await TimedWorld { world, _ in
            if world.attempts.count == 2 { await withCheckedContinuation { c in gate.withLock { $0 = c } } }
            return 503
        }
        await world.tellServer()
        try await world.buy()
        let target = start.adding(seconds: 30 * 86_400)
        let journey = Task { try await world.emulator.store.advance(to: target) }
        while gate.withLock({ $0 == nil }) { try await Task.sleep(nanoseconds: 1_000_000) }
        journey.cancel()
        gate.withLock { $0 }?.resume()
        #expect(try await journey.value == .failure(.clockAdvanceInterrupted(at: hours(1))))
        world.passes(1_000)
        #expect(try world.emulator.store.now == hours(1).adding(seconds: 1))
        #expect(try await world.emulator.store.advance(to: target) == .success(target))
        #expect(world.attempts.map(\.at) == [0, 1, 13, 37, 85, 157].map { hours($0) })
        await world.remove()
    }

    @Test("A stopping emulator ends an advance where it is, and begins no other")
    func stopping() async throws {
        let world = try await TimedWorld { world, _ in
            if world.attempts.count == 2 { (try? world.emulator)?.stop() }
            return 503
        }
        await world.tellServer()
        try await world.buy()
        let cut = await world.advance("30d")
        #expect(cut.status == 503 && cut.json["code"] == "clock_advance_interrupted")
        #expect(cut.json["title"]?.string?.contains(hours(1).rfc3339) == true)
        #expect(await world.advance("1d").json["code"] == "clock_advance_interrupted")
        #expect(world.attempts.count == 2)
        await world.close()
        let later = try await TimedWorld(directory: world.directory) { _, _ in 200 }
        #expect(await later.advance("30d").status == 200)
        #expect(later.attempts.map(\.at) == [hours(13)])
        await later.remove()
    }

    @Test("Of several concurrent advances one runs, and the others are refused")
    func together() async throws {
        let world = try await TimedWorld { _, _ in
            await Task.yield()
            return 200
        }
        await world.tellServer()
        try await world.buy()
        let answers = await withTaskGroup(of: (Int, JSONValue).self) { group in
            for _ in 0..<20 { group.addTask { await world.advance("1d") } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let went = Int64(answers.count { $0.0 == 200 })
        #expect(went >= 1)
        #expect(answers.filter { $0.0 != 200 }.allSatisfy { $0.0 == 409 && $0.1["code"] == "clock_is_moving" })
        #expect(try world.emulator.store.now == start.adding(seconds: went * 86_400))
        #expect(world.attempts.count == 1)
        await world.remove()
    }

    @Test("Purchases during an advance are made at the clock's moment, and each is sent once")
    func purchases() async throws {
        let world = try await TimedWorld()
        await world.tellServer()
        try await world.plan(Dictionary(uniqueKeysWithValues: (1...200).map { ($0, hours($0)) }))
        let dates = try await withThrowingTaskGroup(of: String?.self) { group in
            group.addTask {
                #expect(await world.advance("300h").status == 200)
                return nil
            }
            for buyer in 0..<60 {
                group.addTask { try await world.buy(account: "buyer\(buyer)")["purchaseDate"]?.string }
            }
            return try await group.reduce(into: []) { $0.append($1) }.compactMap { $0.flatMap(Instant.init(rfc3339:)) }
        }
        #expect(dates.count == 60)
        #expect(dates.allSatisfy { $0 >= start && $0 <= hours(300) })
        try await world.emulator.sendDueNotifications()
        #expect(world.attempts.count == 60)
        #expect(Set(world.attempts.map(\.signedPayload)).count == 60)
        #expect(zip(world.attempts, world.attempts.dropFirst()).allSatisfy { $0.at <= $1.at })
        #expect(try await world.planned() == [])
        #expect(try world.emulator.store.now == hours(300))
        await world.remove()
    }

    @Test("Without a URL, an advance of a hundred years performs a thousand scheduled changes and reaches its target")
    func notSent() async throws {
        let world = try await TimedWorld()
        let dates = (1...1_000).map { (Int64($0), start.adding(seconds: Int64($0) * 3_000_000)) }
        try await world.plan(Dictionary(uniqueKeysWithValues: dates))
        #expect(await world.advance("36525d").status == 200)
        #expect(try await world.planned() == [])
        #expect(try world.emulator.store.now == start.adding(seconds: 36_525 * 86_400))
        await world.remove()
    }
}
