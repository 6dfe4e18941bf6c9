import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("The store's clock")
struct ClockTests {
    private let start = EmulatedWorld.start

    @Test("It shows the given time, and after an advance it is ahead by that much, also after a restart")
    func ahead() async throws {
        let world = try await TimedWorld()
        #expect(await world.ask(.get, "/emulator/clock").json["ahead"] == 0)
        let moved = await world.advance("30d")
        #expect(moved.status == 200)
        #expect(moved.json["now"]?.string == start.adding(seconds: 30 * 86_400).rfc3339)
        #expect(moved.json["ahead"] == .int(30 * 86_400_000))
        #expect(moved.json["stopped"] == false && moved.json["moving"] == false)
        world.passes(5_000)
        #expect(try world.emulator.store.now == start.adding(seconds: 30 * 86_400 + 5))
        await world.close()
        let later = try await TimedWorld(directory: world.directory, start: start.adding(seconds: 60))
        #expect(try later.emulator.store.now == start.adding(seconds: 30 * 86_400 + 60))
        let bought = try await later.buy()
        #expect(bought["purchaseDate"]?.string == start.adding(seconds: 30 * 86_400 + 60).rfc3339)
        await later.remove()
    }

    @Test("A stopped clock moves only by advances, and runs again from where it stands")
    func stopped() async throws {
        let world = try await TimedWorld()
        #expect(await world.ask(.put, "/emulator/clock", ["stopped": true]).json["stopped"] == true)
        world.passes(1_000_000)
        #expect(try world.emulator.store.now == start)
        #expect(try await world.buy()["purchaseDate"]?.string == start.rfc3339)
        let moved = await world.advance("1d")
        #expect(moved.json["stopped"] == true)
        world.passes(1_000_000)
        #expect(try world.emulator.store.now == start.adding(seconds: 86_400))
        await world.close()
        let later = try await TimedWorld(directory: world.directory, start: start.adding(seconds: 7 * 86_400))
        #expect(try later.emulator.store.now == start.adding(seconds: 86_400))
        #expect(await later.ask(.put, "/emulator/clock", ["stopped": true]).json["stopped"] == true)
        let going = await later.ask(.put, "/emulator/clock", ["stopped": false])
        #expect(going.json["stopped"] == false)
        #expect(going.json["ahead"] == .int(-6 * 86_400_000))
        later.passes(2_000)
        #expect(try later.emulator.store.now == start.adding(seconds: 86_402))
        await later.close()
        let last = try await TimedWorld(directory: world.directory, start: start.adding(seconds: 8 * 86_400))
        #expect(try last.emulator.store.now == start.adding(seconds: 2 * 86_400))
        await last.remove()
    }

    @Test("A given clock that goes backwards does not move the store back")
    func backwards() async throws {
        let world = try await TimedWorld()
        #expect(try world.emulator.store.now == start)
        world.passes(-60_000)
        #expect(try world.emulator.store.now == start)
        world.passes(61_000)
        #expect(try world.emulator.store.now == start.adding(seconds: 1))
        await world.remove()
    }

    @Test(
        "Hostile spans and dates are refused by name, and the clock does not move",
        arguments: [
            (["advance": "30"], 400, "wrong_value"), (["advance": 30], 400, "wrong_value"),
            (["advance": "-1d"], 400, "wrong_value"), (["advance": "999999999999999999999d"], 400, "wrong_value"),
            (["advance": "101w99999999d"], 400, "wrong_value"), (["advance": [:]], 400, "wrong_value"),
            (["to": "2026-02-30T00:00:00Z"], 400, "wrong_value"), (["to": "yesterday"], 400, "wrong_value"),
            (["to": 1_800_000_000_000], 400, "wrong_value"), (["to": "1969-12-31T23:59:59Z"], 400, "wrong_value"),
            (["to": "2026-03-01T08:30:00.122Z"], 422, "clock_only_goes_forward"),
            (["to": "1970-01-01T00:00:00Z"], 422, "clock_only_goes_forward"),
            (["to": "2126-03-03T00:00:00Z"], 422, "too_far_ahead"),
            (["to": "9999-12-31T23:59:59.999Z"], 422, "too_far_ahead"),
            ([:], 400, "advance_or_to"), (["advance": "1d", "to": "2027-01-01T00:00:00Z"], 400, "advance_or_to"),
            (["advanced": "1d"], 400, "unknown_member"), (["advance": .null], 400, "advance_or_to"),
        ] as [(JSONValue, Int, String)])
    func hostile(_ body: JSONValue, _ status: Int, _ code: String) async throws {
        let world = try await TimedWorld()
        let answer = await world.ask(.post, "/emulator/clock", body)
        #expect(answer.status == status)
        #expect(answer.json["code"]?.string == code)
        if code == "wrong_value" {
            let name = body["advance"] == nil ? "2027-01-01T00:00:00.000Z" : "\"30d\""
            #expect(answer.json["title"]?.string?.contains(name) == true)
        }
        #expect(await world.ask(.get, "/emulator/clock").json["now"]?.string == start.rfc3339)
        await world.remove()
    }

    @Test("After repeated advances the clock ends before the year 10000 and says so")
    func farthest() async throws {
        let clock = StoreClock({ EmulatedWorld.start })
        func go(_ span: Int64) -> Result<Instant, StoreRefusal> {
            let result = clock.beginAdvance { $0.adding(milliseconds: span) }
            if case .success(let target) = result {
                clock.hold(at: target)
                clock.endAdvance()
            }
            return result
        }
        for _ in 0..<79 { #expect(throws: Never.self) { try go(Span.longest.milliseconds).get() } }
        #expect(clock.now > Instant(rfc3339: "9920-01-01T00:00:00Z")!)
        #expect(throws: StoreRefusal.tooFarAhead) { try go(Span.longest.milliseconds).get() }
        #expect(try go(StoreClock.end.milliseconds - clock.now.milliseconds).get() == StoreClock.end)
        #expect(throws: StoreRefusal.tooFarAhead) { try go(1).get() }
        #expect(throws: StoreRefusal.tooFarAhead) { try go(.max).get() }
        #expect(clock.now.rfc3339 == "9999-12-31T23:59:59.999Z")
    }

    @Test("The next events are listed: scheduled changes and delivery attempts, in one order")
    func upcoming() async throws {
        let world = try await TimedWorld()
        await world.tellServer()
        world.answer { _, _ in 503 }
        #expect(await world.ask(.get, "/emulator/clock").json["next"] == .null)
        try await world.buy()
        try await world.emulator.sendDueNotifications()
        try await world.plan([7: start.adding(seconds: 1_800), 8: start.adding(seconds: 5_400)])
        let clock = await world.ask(.get, "/emulator/clock").json
        let upcoming = try #require(clock["upcoming"]?.array)
        #expect(upcoming.map { $0["kind"] } == ["subscription", "notification", "subscription"])
        #expect(upcoming.map { $0["subject"] == "7" || $0["subject"] == "8" } == [true, false, true])
        #expect(upcoming[1]["date"]?.string == start.adding(seconds: 3_600).rfc3339)
        #expect(clock["next"] == upcoming[0])
        #expect(clock["pace"] == "real")
        let state = await world.ask(.get, "/emulator/state").json
        #expect(state["nextDue"] == upcoming[0] && state["clock"]?["upcoming"]?.array == upcoming)
        await world.remove()
    }

    @Test("An unknown pace is refused, and the rest of the call has no effect")
    func pace() async throws {
        let world = try await TimedWorld()
        let answer = await world.ask(.put, "/emulator/clock", ["pace": "fast", "stopped": true])
        #expect(answer.json["code"] == "wrong_value")
        #expect(await world.ask(.get, "/emulator/clock").json["stopped"] == false)
        for pace in RenewalPace.allCases {
            #expect(await world.ask(.put, "/emulator/clock", ["pace": .string(pace.rawValue)]).status == 200)
        }
        await world.remove()
    }
}
