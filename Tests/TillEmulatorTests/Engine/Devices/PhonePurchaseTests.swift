import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Purchases on a device")
struct PhonePurchaseTests {
    private static let token = "3f2c91ab-0000-4000-8000-0000000000aa"

    @Test(
        "The account's default outcome applies unless the purchase names one",
        arguments: [
            ("purchased", "purchased", 1), ("cancelled", "cancelled", 0), ("failed", "failed", 0),
            ("deferred", "deferred", 1), ("interrupted", "interrupted", 1),
        ])
    func paymentSheet(_ sheet: String, _ outcome: String, _ count: Int) async throws {
        let world = try await EmulatedWorld.withStore()
        let phone = try await world.phone(1, of: "ann")
        #expect(await world.ask(.get, "/emulator/accounts/ann").json["paymentSheet"] == "purchased")
        #expect(
            await world.put(account: "ann", ["paymentSheet": .string(sheet)]).json["paymentSheet"] == .string(sheet))
        await world.close()
        let later = try await EmulatedWorld.withStore(directory: world)
        for product in ["points60", "member.monthly"] {
            let bought = try await later.buy(product, ["deviceId": .string(phone.id)])
            #expect(bought["outcome"] == .string(outcome))
        }
        #expect(await later.transactions(of: "ann").count == 2 * count)
        let notified = try await later.buy("points300", ["account": "ann", "outcome": "purchased"])
        #expect(notified["outcome"] == "purchased")
        #expect(await later.put(account: "ann", ["paymentSheet": "yes"]).status == 400)
        let redeemed = await later.ask(
            .post, "/emulator/offer-codes",
            ["productId": "com.example.learnpoints.points60", "offerId": "half", "code": "SPRING", "limit": 5])
        try #require(redeemed.status == 200, "\(redeemed.json.encoded())")
        let code = await later.ask(.post, "/emulator/offer-codes/SPRING/redeem", ["account": "ann"])
        #expect(code.json["outcome"] == "purchased", "a code is no payment sheet")
        await later.remove()
    }

    @Test("Without an account, a device's signed-in account buys, restores and owns the receipt; a named account wins")
    func whosePhone() async throws {
        let world = try await EmulatedWorld.withStore()
        let phone = try await world.phone(1, of: "ann")
        let device = JSONValue.string(phone.id)
        let bought = try await world.buy("library", ["deviceId": device])
        #expect(bought["account"] == "ann")
        let id = try world.identifier(bought)
        await world.post(id, "finish")
        let restored = await world.ask(.post, "/emulator/restore", ["deviceId": device])
        let original = restored.json["data"]?.array?.first?["original"]
        #expect(original?["transactionId"] == .string(id))
        #expect(
            await world.ask(.post, "/emulator/restore").json["code"] == "unknown_account",
            "the default account bought nothing")
        for path in ["receipt", "app-transaction"] {
            let answer = await world.ask(.get, "/emulator/\(path)", query: [("deviceId", phone.id)])
            #expect(answer.json["account"] == "ann", "\(path)")
        }
        let all = await world.ask(.get, "/emulator/transactions", query: [("deviceId", phone.id)])
        #expect(all.json["data"]?.array?.count == 1)
        let unknown = "3f2c1a00-9999-4222-8333-444455556666"
        #expect(await world.tryToBuy("points60", ["deviceId": .string(unknown)]).json["code"] == "unknown_device")
        let loose = await world.ask(.get, "/emulator/receipt", query: [("deviceId", unknown)])
        #expect(loose.json["account"] == "default", "a receipt is bound to any number")
        let named = await world.ask(.get, "/emulator/receipt", query: [("deviceId", phone.id), ("account", "eve")])
        #expect(named.json["account"] == "eve")
        await world.put(account: "eve", [:])
        let foreign = await world.tryToBuy("points60", ["account": "eve", "deviceId": device])
        #expect(foreign.json["code"] == "device_of_another_account")
        await world.remove()
    }

    @Test(
        "T3: A waiting purchase answers with its id and state, and is later paid with that id, quantity and token",
        arguments: ["deferred", "interrupted"], [false, true])
    func waiting(_ outcome: String, _ isLost: Bool) async throws {
        let world = try await EmulatedWorld.withStore()
        let phone = try await world.phone(1, of: "ann")
        if isLost { _ = await world.ask(.put, "/emulator/faults", ["lostApplicationUsername": 1]) }
        let start = try await phone.update().position
        let asked = try await world.buy(
            "points60",
            [
                "deviceId": .string(phone.id), "outcome": .string(outcome), "quantity": 3,
                "appAccountToken": .string(Self.token),
            ])
        let id = try world.identifier(asked)
        #expect(asked["outcome"] == .string(outcome) && asked["state"] == .string(outcome))
        #expect(asked["signedTransaction"] == nil && asked["quantity"] == 3)
        let waiting = try await phone.update(after: start)
        #expect(waiting.ids == [id] && waiting.changed.first?["state"] == .string(outcome))
        #expect(waiting.changed.first?["signedTransaction"] == nil)
        world.advance(seconds: 3_600)
        await world.post(id, "approve")
        let paid = try await phone.update(after: waiting.position)
        #expect(paid.ids == [id])
        let item = try #require(paid.changed.first)
        #expect(item["state"] == "purchased" && item["quantity"] == 3)
        #expect(item["appAccountToken"] == (isLost ? nil : .string(Self.token)))
        let signed = try payload(of: item["signedTransaction"]?.string)
        #expect(signed["quantity"] == 3 && signed["appAccountToken"] == (isLost ? nil : .string(Self.token)))
        #expect(signed["deviceVerification"]?.string?.isEmpty == false)
        #expect(try await phone.set("unfinished") == [id])
        await world.remove()
    }
}
