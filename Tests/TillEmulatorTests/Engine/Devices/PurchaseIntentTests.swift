import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Promoted purchases")
struct PurchaseIntentTests {
    private func tap(
        _ world: EmulatedWorld, _ product: String = "points60", _ more: [String: JSONValue] = [:]
    ) async -> (status: Int, json: JSONValue) {
        let body: [String: JSONValue] = ["account": "ann", "productId": .string("\(EmulatedWorld.app).\(product)")]
        let answer = await world.ask(.post, "/emulator/purchase-intents", .object(body.merging(more) { $1 }))
        return (answer.status, answer.json)
    }

    private func waiting(_ phone: Phone) async throws -> [String] {
        try await phone.update().intents.compactMap { $0["id"]?.string }
    }

    @Test("A tapped product waits for the app, also over a restart; the first device to take it keeps it")
    func taken() async throws {
        let world = try await EmulatedWorld()
        let (first, second) = (try await world.phone(1, of: "ann"), try await world.phone(2, of: "ann"))
        let stranger = try await world.phone(3, of: "eve")
        let id = try #require(await tap(world).json["id"]?.string)
        let offered = try #require(await tap(world, "member.yearly", ["offerId": "comeback"]).json["id"]?.string)
        #expect(try await waiting(first) == [id, offered])
        #expect(try await first.update().intents.last?["offerId"] == "comeback")
        #expect(try await waiting(second) == [id, offered])
        #expect(try await waiting(stranger).isEmpty)
        #expect(try await first.update(app: "com.example.other").intents.isEmpty)
        #expect(await stranger.post("/intents/\(id)/take").json["code"] == "unknown_intent")
        await world.close()
        let later = try await EmulatedWorld(directory: world.directory, start: world.now)
        let (one, two) = (Phone(id: first.id, world: later), Phone(id: second.id, world: later))
        for phone in [one, two, one] {
            let answer = await phone.post("/intents/\(id)/take")
            #expect(answer.status == 200 && answer.json["takenBy"] == .string(one.id))
        }
        #expect(try await waiting(one) == [offered])
        #expect(try await waiting(two) == [offered])
        await later.remove()
    }

    @Test("A tap on one device is for that device; without an account it is for the one signed in there")
    func onePhone() async throws {
        let world = try await EmulatedWorld()
        let (first, second) = (try await world.phone(1, of: "ann"), try await world.phone(2, of: "ann"))
        let tapped = await tap(world, "points60", ["account": .null, "deviceId": .string(first.id)])
        #expect(tapped.json["account"] == "ann")
        let id = try #require(tapped.json["id"]?.string)
        #expect(try await waiting(first) == [id])
        #expect(try await waiting(second).isEmpty)
        #expect(await second.post("/intents/\(id)/take").status == 404)
        #expect(await first.post("/intents/\(id)/take").status == 200)
        let foreign = await tap(world, "points60", ["account": "eve", "deviceId": .string(first.id)])
        #expect(foreign.json["code"] == "device_of_another_account")
        await world.remove()
    }

    @Test("A product not on sale there, an offer that the product lacks, and unlimited taps are refused")
    func refused() async throws {
        let world = try await EmulatedWorld()
        try await world.phone(1, of: "ann")
        #expect(await tap(world, "nothing").json["code"] == "unknown_product")
        #expect(await tap(world, "member.yearly", ["offerId": "nothing"]).json["code"] == "invalid_offer_identifier")
        #expect(await tap(world, "member.yearly", ["offerId": "welcome"]).status == 422, "one by a code")
        await world.put(account: "ann", ["storefront": "JPN"])
        #expect(await tap(world).json["code"] == "not_for_sale")
        await world.put(account: "ann", ["storefront": "CHN"])
        _ = await world.ask(.post, "/emulator/products/\(EmulatedWorld.app).points300/removeFromSale")
        #expect(await tap(world, "points300").json["code"] == "not_on_sale")
        for _ in 0..<PurchaseIntentTable.limit { #expect(await tap(world).status == 200) }
        #expect(await tap(world).json["code"] == "too_many_intents")
        #expect(await tap(world, "points60", ["bundleId": "com.example.other"]).status == 200)
        let phone = try await world.phone(1, of: "ann")
        #expect(try await waiting(phone).count == PurchaseIntentTable.limit)
        #expect(await phone.post("/intents/x/take").status == 400)
        #expect(await phone.post("/intents/3f2c1a00-1111-4222-8333-444455556666/take").json["code"] == "unknown_intent")
        await world.put(account: "ann", ["isDeleted": true])
        #expect(await tap(world).json["code"] == "account_deleted")
        await world.remove()
    }
}
