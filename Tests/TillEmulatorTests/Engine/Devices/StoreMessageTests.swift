import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Messages of the App Store (facts/storekit-client)")
struct StoreMessageTests {
    private func show(_ phone: Phone, _ message: JSONValue?) async -> Int {
        await phone.post("/messages/\(message?["id"]?.string ?? "none")/shown").status
    }

    @Test("A price awaiting consent, a failed charge and a win-back offer each yield a message until it is shown")
    func causes() async throws {
        let world = try await EmulatedWorld()
        let (phone, other) = (try await world.phone(1, of: "ann"), try await world.phone(2, of: "ann"))
        let id = try world.identifier(try await world.buy("member.yearly", ["account": "ann"]))
        #expect(try await phone.update().messages.isEmpty)
        let price: (Int64) -> JSONValue = {
            ["price": ["amount": .int($0), "currency": "CNY"], "needsConsent": true]
        }
        try await world.subscription(id, "priceIncrease", price(29_800))
        let first = try #require(try await phone.update().messages.first)
        #expect(first["reason"] == "priceIncreaseConsent" && first["originalTransactionId"] == .string(id))
        #expect(try await other.update().messages == [first])
        #expect(await show(phone, first) == 200)
        #expect(await show(other, first) == 200, "twice is fine")
        #expect(try await phone.update().messages.isEmpty)
        #expect(try await other.update().messages.isEmpty)
        try await world.subscription(id, "priceIncrease", price(39_800))
        let second = try #require(try await phone.update().messages.first)
        #expect(second["id"] != first["id"], "another price is another message")
        try await world.subscription(id, "consent", ["accept": true])
        #expect(try await phone.update().messages.isEmpty)
        #expect(await show(phone, second) == 200, "it was on the screen while the cause went")
        try await world.subscription(id, "billingFailure")
        world.advance(seconds: 10 * 86_400)
        #expect(try await phone.update().reasons == ["billingIssue"])
        #expect(await show(phone, try await phone.update().messages.first) == 200)
        world.advance(seconds: 10 * 86_400)
        #expect(try await phone.update().messages.isEmpty, "the same failure still")
        world.advance(seconds: 60 * 86_400)
        #expect(try await phone.update().reasons == ["winBackOffer"])
        #expect(await show(phone, try await phone.update().messages.first) == 200)
        #expect(try await phone.update().messages.isEmpty)
        await world.remove()
    }

    @Test(
        "The next failure is a new message; shared and cancelled subscriptions cause none"
    )
    func newCauses() async throws {
        let world = try await EmulatedWorld.withStore()
        let phone = try await world.phone(1, of: "ann")
        let kid = try await world.phone(2, of: "kid")
        await world.put(account: "ann", ["family": "ann"])
        await world.put(account: "kid", ["family": "ann"])
        _ = await world.ask(.put, "/emulator/subscriptions/grace", ["days": 16])
        let id = try world.identifier(try await world.buy("family.monthly", ["account": "ann"]))
        var shown: [JSONValue] = []
        for month in 1...2 {
            try await world.subscription(id, "billingFailure")
            world.advance(seconds: 32 * 86_400)
            let message = try #require(try await phone.update().messages.first, "month \(month)")
            #expect(message["reason"] == "billingIssue" && !shown.contains(message))
            #expect(try await kid.update().messages.isEmpty)
            #expect(await show(phone, message) == 200)
            shown.append(message)
            try await world.subscription(id, "recover")
            #expect(try await phone.update().messages.isEmpty)
        }
        try await world.subscription(
            id, "priceIncrease", ["price": ["amount": 29_800, "currency": "CNY"], "needsConsent": true])
        try await world.subscription(id, "cancel")
        #expect(try await phone.update().messages.isEmpty)
        await world.remove()
    }

    @Test("A message of any kind can be created, for one app of one account, over a restart, up to a hundred")
    func made() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        let stranger = try await world.phone(2, of: "eve")
        func make(_ more: JSONValue = [:]) async -> (status: Int, json: JSONValue) {
            let answer = await world.ask(.post, "/emulator/messages", more.with(["account": "ann"]))
            return (answer.status, answer.json)
        }
        #expect(await make().json["reason"] == "generic")
        for reason in StoreMessage.Reason.allCases {
            #expect(await make(["reason": .string(reason.rawValue)]).status == 200)
        }
        #expect(await make(["reason": "other"]).status == 400)
        #expect(try await phone.update().reasons.count == 5)
        #expect(try await phone.update(app: "com.example.other").messages.isEmpty)
        #expect(try await stranger.update().messages.isEmpty)
        let first = try #require(try await phone.update().messages.first)
        #expect(await show(stranger, first) == 404)
        #expect(await show(phone, first) == 200)
        #expect(await show(phone, first) == 200)
        for id in ["none", "generic-1-2", "billingIssue-x-1", "winBackOffer-1-1"] {
            #expect(await phone.post("/messages/\(id)/shown").json["code"] == "unknown_message")
        }
        for _ in 4..<MessageTable.limit { #expect(await make().status == 200) }
        #expect(await make().json["code"] == "too_many_messages")
        await world.close()
        let later = try await EmulatedWorld(directory: world.directory, start: world.now)
        #expect(try await Phone(id: phone.id, world: later).update().messages.count == MessageTable.limit)
        await later.remove()
    }
}
