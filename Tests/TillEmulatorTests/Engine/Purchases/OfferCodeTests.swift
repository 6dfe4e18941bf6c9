import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Offer codes and their redemption")
struct OfferCodeTests {
    private func make(_ world: EmulatedWorld, _ more: [String: JSONValue]) async -> (status: Int, json: JSONValue) {
        var body: [String: JSONValue] = ["productId": .string("\(EmulatedWorld.app).points60"), "offerId": "half"]
        body.merge(more) { _, new in new }
        let answer = await world.ask(.post, "/emulator/offer-codes", .object(body))
        return (answer.status, answer.json)
    }

    private func redeem(
        _ world: EmulatedWorld, _ code: String, _ account: String
    ) async -> (status: Int, json: JSONValue) {
        let answer = await world.ask(
            .post, "/emulator/offer-codes/\(code)/redeem",
            ["account": .string(account), "bundleId": .string(EmulatedWorld.app)])
        return (answer.status, answer.json)
    }

    @Test("A one-time code lowers the price of one purchase, with a token inside the app, without one outside")
    func once() async throws {
        let world = try await EmulatedWorld.withStore()
        let made = await make(world, ["count": 2])
        let codes = made.json["codes"]?.array?.compactMap(\.string) ?? []
        #expect(codes.count == 2 && Set(codes).count == 2)
        let token: JSONValue = "3f2c1a00-1111-4222-8333-444455556666"
        let inside = try await world.buy(
            "points60", ["appAccountToken": token, "offer": ["type": "code", "code": .string(codes[0].lowercased())]])
        let outside = await redeem(world, codes[1], "anna")
        for (bought, carried) in [(inside, Optional(token)), (outside.json, nil)] {
            let signed = try payload(of: bought["signedTransaction"]?.string)
            #expect(signed["price"] == 3_000)
            #expect(signed["offerType"] == 3)
            #expect(signed["offerIdentifier"] == "half")
            #expect(signed["offerDiscountType"] == "ONE_TIME")
            #expect(signed["offerPeriod"] == nil)
            #expect(signed["appAccountToken"] == carried)
        }
        #expect(await redeem(world, codes[0], "bo").json["code"] == "code_used_up")
        let state = await world.ask(.get, "/emulator/offer-codes/\(codes[0])").json
        #expect(state["remaining"] == 0 && state["redeemed"] == 1)
        #expect(try await world.events() == ["ONE_TIME_CHARGE", "ONE_TIME_CHARGE"])
        await world.remove()
    }

    @Test("Unknown, used-up, expired and foreign codes have their own refusals, and a refused customer keeps the code")
    func refusals() async throws {
        let world = try await EmulatedWorld.withStore()
        #expect(await redeem(world, "NOSUCHCODE", "bo").json["code"] == "unknown_code")
        #expect(await world.ask(.get, "/emulator/offer-codes/NOSUCHCODE").json["code"] == "unknown_code")
        let end = world.now.adding(seconds: 60).rfc3339
        _ = await make(world, ["code": "SPRING26", "limit": 2, "expiresAt": .string(end)])
        #expect(await make(world, ["code": "spring26"]).json["code"] == "code_taken")
        let other = await world.tryToBuy("points300", ["offer": ["type": "code", "code": "SPRING26"]])
        #expect(other.json["code"] == "code_of_another_product")
        let foreign = await world.tryToBuy(
            "points60", ["bundleId": "x.y", "offer": ["type": "code", "code": "SPRING26"]])
        #expect(foreign.json["code"] == "unknown_code")
        let several = await world.tryToBuy(
            "points60", ["quantity": 2, "offer": ["type": "code", "code": "SPRING26"]])
        #expect(several.json["code"] == "quantity_not_allowed")
        #expect(await redeem(world, "spring26", "bo").status == 200)
        #expect(await redeem(world, "SPRING26", "bo").json["code"] == "code_already_redeemed")
        world.advance(seconds: 60)
        #expect(await redeem(world, "SPRING26", "anna").json["code"] == "code_expired")
        #expect(await world.ask(.get, "/emulator/offer-codes/SPRING26").json["redeemed"] == 1)
        _ = await make(world, ["offerId": "dear", "code": "DEAR"])
        #expect(await redeem(world, "DEAR", "bo").json["code"] == "invalid_offer_price")
        #expect(await world.ask(.get, "/emulator/offer-codes/DEAR").json["redeemed"] == 0)
        #expect(await make(world, ["offerId": "none"]).json["code"] == "invalid_offer_identifier")
        for wrong in [["count": 0], ["count": 10_001], ["limit": 5], ["code": "a b"], ["code": "A", "count": 1]]
            as [[String: JSONValue]]
        {
            #expect(await make(world, wrong).status == 400)
        }
        await world.remove()
    }

    @Test("With many concurrent customers, exactly as many redeem a custom code as it allows")
    func race() async throws {
        let world = try await EmulatedWorld.withStore()
        _ = await make(world, ["code": "RACE", "limit": 7])
        let single = await make(world, ["count": 3]).json["codes"]?.array?.compactMap(\.string) ?? []
        let answers = await withTaskGroup(of: (String, Int).self) { group in
            for number in 0..<40 {
                let code = number % 2 == 0 ? "RACE" : single[number % 3]
                group.addTask { (code, await redeem(world, code, "racer\(number)").status) }
            }
            return await group.reduce(into: [(String, Int)]()) { $0.append($1) }
        }
        #expect(answers.filter { $0.0 == "RACE" && $0.1 == 200 }.count == 7)
        for code in single { #expect(answers.filter { $0.0 == code && $0.1 == 200 }.count == 1) }
        #expect(answers.filter { $0.1 == 409 }.count == 30)
        #expect(try await world.events().count == 10)
        await world.remove()
    }

    @Test("An app's codes are redeemed at most a million times a quarter, and again in the next quarter")
    func quarter() async throws {
        let world = try await EmulatedWorld.withStore()
        _ = await make(world, ["code": "MANY"])
        #expect(await redeem(world, "MANY", "a").status == 200)
        try await world.database.write { connection in
            _ = try connection.execute("UPDATE offer_code_quarters SET redeemed = 999999", [])
        }
        #expect(await redeem(world, "MANY", "b").status == 200)
        #expect(await redeem(world, "MANY", "c").json["code"] == "redemption_limit")
        // 2026-04-01, from 2026-03-01.
        world.advance(seconds: 31 * 86_400)
        #expect(await redeem(world, "MANY", "c").status == 200)
        await world.remove()
    }
}
