import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Fault rates at the control API")
struct FaultControlTests {
    @Test("PUT replaces all settings and returns them, GET shows them, DELETE and an empty object turn faults off")
    func replaces() async throws {
        try await FaultyWorld.open { world in
            let off = await world.ask(.get, "/emulator/faults").json
            #expect(off["seed"] == .null && off["html"] == 0.0 && off["endpoints"] == [:])
            let first: JSONValue = [
                "seed": 7, "drop": 0.5, "html": 0, "delayFrom": 10, "delayTo": 20, "clockSkew": -5,
                "endpoints": ["history": ["rateLimit": 1, "reorderWithin": 50], "notifications": ["duplicate": 0.25]],
            ]
            let set = await world.ask(.put, "/emulator/faults", first)
            #expect(set.status == 200)
            #expect(set.json["seed"] == 7)
            #expect(set.json["dropBefore"] == 0.25 && set.json["dropAfter"] == 0.25)
            #expect(set.json["delayFrom"] == 10 && set.json["delayTo"] == 20 && set.json["clockSkew"] == -5)
            #expect(set.json["endpoints"]?["history"] == ["rateLimit": 1.0, "reorderWithin": 50])
            #expect(set.json["endpoints"]?["notifications"] == ["duplicate": 0.25])
            #expect(await world.ask(.get, "/emulator/faults").json == set.json)
            let second = await world.ask(.put, "/emulator/faults", ["html": 1]).json
            #expect(second["dropBefore"] == 0.0 && second["html"] == 1.0 && second["endpoints"] == [:])
            #expect(second["clockSkew"] == 0)
            let seed = try #require(second["seed"]?.int)
            #expect((0...FaultSettings.largestSeed).contains(seed), "one was chosen, and is told")
            #expect(await world.buy().status != 429)
            #expect(await world.ask(.put, "/emulator/faults", [:]).json == off)
            #expect(await world.buy().status == 200)
            _ = await world.ask(.put, "/emulator/faults", ["html": 1])
            #expect(await world.ask(.delete, "/emulator/faults").json == off)
        }
    }

    @Test("An endpoint's own fault rates override the common ones, one by one")
    func overlay() {
        var settings = FaultSettings(seed: 0, defaults: FaultRates([.html: 0.5, .delay: 0.1]))
        settings.defaults.clockSkew = 9
        settings.endpoints[.history] = FaultRates([.html: 0])
        let history = settings.rates(of: .history)
        #expect(history.chance(of: .html) == 0 && history.chance(of: .delay) == 0.1 && history.skew == 9)
        #expect(settings.rates(of: .finish) == settings.defaults)
    }

    @Test(
        "Wrong names and values are refused by name, in both languages, and change nothing",
        arguments: [
            ("{\"dorp\":1}", "unknown_member", "drop"), ("{\"drop\":1.01}", "wrong_value", "\"drop\""),
            ("{\"drop\":-0.1}", "wrong_value", "\"drop\""), ("{\"html\":\"0.5\"}", "wrong_value", "\"html\""),
            ("{\"html\":true}", "wrong_value", "\"html\""), ("{\"html\":1e400}", "not_json", "JSON"),
            ("{\"delayFrom\":120001}", "wrong_value", "120000"), ("{\"delayTo\":0.5}", "wrong_value", "\"delayTo\""),
            ("{\"delayFrom\":20,\"delayTo\":10}", "wrong_value", "delayFrom"),
            ("{\"reorderWithin\":-1}", "wrong_value", "reorderWithin"),
            ("{\"clockSkew\":9223372036854775807}", "wrong_value", "clockSkew"),
            ("{\"seed\":-1}", "wrong_value", "seed"), ("{\"seed\":9007199254740992}", "wrong_value", "seed"),
            ("{\"endpoints\":{\"histroy\":{\"drop\":1}}}", "unknown_member", "history"),
            ("{\"endpoints\":{\"history\":{\"dorp\":1}}}", "unknown_member", "drop"),
            ("{\"endpoints\":{\"history\":{\"drop\":2}}}", "wrong_value", "\"drop\""),
            ("{\"endpoints\":{\"history\":{\"seed\":2}}}", "unknown_member", "seed"),
            ("{\"endpoints\":{\"history\":1}}", "not_an_object", "object"),
            ("{\"endpoints\":[]}", "wrong_value", "object"), ("[]", "not_an_object", "object"),
        ])
    func refuses(_ text: String, _ code: String, _ word: String) async throws {
        try await FaultyWorld.open { world in
            try await world.change(["seed": 3, "html": 1])
            let before = await world.ask(.get, "/emulator/faults").json
            for language in ["en", "zh"] {
                let response = await world.emulator.respond(
                    to: HTTPRequest(
                        method: .put, path: "/emulator/faults", headers: HTTPHeaders([("Accept-Language", language)]),
                        body: Array(text.utf8)))
                let problem = try JSONValue(decoding: response.body)
                #expect(response.status == 400)
                #expect(problem["code"]?.string == code)
                let title = try #require(problem["title"]?.string)
                if language == "en" { #expect(title.contains(word), "\(title)") }
                #expect(title.unicodeScalars.contains { $0.value > 0x4E00 } == (language == "zh"), "\(title)")
            }
            #expect(await world.ask(.get, "/emulator/faults").json == before)
        }
    }

    @Test("Fault rates and seed outlive a restart, and each start draws other faults")
    func durable() async throws {
        let world = try await EmulatedWorld()
        _ = await world.ask(
            .put, "/emulator/faults", ["seed": 11, "html": 0.5, "endpoints": ["purchases": ["html": 0]]])
        func pages(_ world: EmulatedWorld) async -> [Bool] {
            var pages: [Bool] = []
            for _ in 0..<40 {
                let answer = await world.ask(.get, "/inApps/v2/history/1").response
                pages.append(answer.headers["Content-Type"]?.hasPrefix("text/html") == true)
            }
            return pages
        }
        let first = await pages(world)
        let notified = await world.ask(.get, "/emulator/faults").json
        await world.close()
        let later = try await EmulatedWorld(directory: world.directory, start: world.now)
        let reopened = await later.ask(.get, "/emulator/faults").json
        for member in ["seed", "html", "endpoints"] { #expect(reopened[member] == notified[member]) }
        #expect(reopened["requests"] == [:])
        let second = await pages(later)
        #expect(second != first)
        _ = await later.ask(.put, "/emulator/faults", ["seed": 11, "html": 0.5])
        #expect(await pages(later) == first, "the same rates set again begin again")
        _ = await later.ask(.delete, "/emulator/faults")
        await later.close()
        let last = try await EmulatedWorld(directory: world.directory, start: world.now)
        #expect(await last.ask(.get, "/emulator/faults").json["seed"] == .null)
        await last.remove()
    }
}
