import Testing
import TillAppStore
import TillBilling
import TillHTTP

@testable import TillEmulator

@Suite("Purchases that wait for approval")
struct ApprovalTests {
    @Test(
        "G7: A child's purchase waits whatever its outcome would be, sends nothing, and is paid when approved",
        arguments: ["purchased", "deferred", "interrupted"])
    func askToBuy(_ outcome: String) async throws {
        let world = try await EmulatedWorld.withStore()
        await world.put(account: "kid", ["asksToBuy": true])
        let asked = try await world.buy("points60", ["account": "kid", "outcome": .string(outcome)])
        #expect(asked["outcome"] == "deferred")
        #expect(asked["signedTransaction"] == nil && asked["receipt"] == nil)
        #expect(await world.transactions(of: "kid", state: "deferred").count == 1)
        #expect(await world.transactions(of: "kid", state: "purchased").isEmpty)
        #expect(try await world.events() == [])
        world.advance(seconds: 86_399)
        let id = try world.identifier(asked)
        #expect(await world.post(id, "approve").json["state"] == "purchased")
        #expect(try await world.events() == ["ONE_TIME_CHARGE"])
        #expect(await world.transactions(of: "kid", state: "deferred").isEmpty)
        await world.remove()
    }

    @Test("L10: A child's cancelled or failed purchase requests no approval", arguments: ["cancelled", "failed"])
    func givenUp(_ outcome: String) async throws {
        let world = try await EmulatedWorld.withStore()
        await world.put(account: "kid", ["asksToBuy": true])
        let answer = try await world.buy("points60", ["account": "kid", "outcome": .string(outcome)])
        #expect(answer["outcome"]?.string == outcome)
        #expect(await world.transactions(of: "kid").isEmpty)
        await world.remove()
    }

    @Test("Several requests for one product are merged; another product, app or child has its own request")
    func merged() async throws {
        let world = try await EmulatedWorld.withStore()
        await world.put(account: "kid", ["asksToBuy": true])
        let first = try await world.buy("points60", ["account": "kid", "quantity": 2])
        let second = try await world.buy("points60", ["account": "kid", "quantity": 5])
        #expect(first["transactionId"] == second["transactionId"])
        #expect(second["quantity"] == 2)
        _ = try await world.buy("points300", ["account": "kid"])
        _ = try await world.buy("points60", ["account": "kid", "bundleId": "com.example.other"])
        _ = try await world.buy("points60", ["account": "sister", "outcome": "deferred"])
        #expect(await world.transactions(of: "kid", state: "deferred").count == 3)
        await world.post(try world.identifier(first), "approve")
        let later = try await world.buy("points60", ["account": "kid"])
        #expect(later["transactionId"] != first["transactionId"])
        await world.remove()
    }

    @Test("An unanswered request declines itself after 24 hours to the second, also after a restart")
    func expiry() async throws {
        let world = try await EmulatedWorld.withStore()
        let asked = try await world.buy("points60", ["account": "kid", "outcome": "deferred"])
        world.advance(seconds: 86_399)
        #expect(await world.transactions(of: "kid", state: "deferred").count == 1)
        await world.close()
        let later = try await EmulatedWorld.withStore(directory: world)
        later.advance(seconds: 1)
        #expect(await later.transactions(of: "kid", state: "declined").count == 1)
        #expect(await later.post(try world.identifier(asked), "approve").json["code"] == "approval_expired")
        let again = try await later.buy("points60", ["account": "kid", "outcome": "deferred"])
        #expect(again["transactionId"] != asked["transactionId"])
        #expect(try await later.events() == [])
        await later.remove()
    }

    @Test("T3: An interrupted purchase fails first, waits without a limit, and is then one paid transaction, sent once")
    func interrupted() async throws {
        let world = try await EmulatedWorld.withStore()
        let asked = try await world.buy("points300", ["quantity": 3, "outcome": "interrupted"])
        #expect(asked["outcome"] == "interrupted")
        let id = try world.identifier(asked)
        #expect(await world.transactions(of: "default", state: "interrupted").count == 1)
        world.advance(seconds: 30 * 86_400)
        let paid = await world.post(id, "approve").json
        let signed = try payload(of: paid["signedTransaction"]?.string)
        #expect(signed["quantity"] == 3)
        #expect(signed["productId"]?.string?.hasSuffix("points300") == true)
        #expect(signed["purchaseDate"] == .int(world.now.milliseconds))
        #expect(try await world.notified().map(\.transaction) == [id])
        #expect(await world.transactions(of: "default").count == 1)
        await world.remove()
    }

    @Test("A purchase that can't be charged at approval keeps waiting; a product owned by then closes it")
    func approvalRefused() async throws {
        let world = try await EmulatedWorld.withStore()
        let asked = try await world.buy("library", ["account": "kid", "outcome": "deferred"])
        let held = try await world.buy("library", ["account": "kid", "outcome": "interrupted"])
        let id = try world.identifier(asked)
        await world.put(account: "kid", ["paymentMethodWorks": false])
        #expect(await world.post(id, "approve").json["code"] == "payment_failed")
        await world.put(account: "kid", ["paymentMethodWorks": true])
        #expect(await world.post(id, "approve").status == 200)
        #expect(await world.post(try world.identifier(held), "approve").json["code"] == "owned_already")
        #expect(await world.transactions(of: "kid", state: "declined").count == 1)
        #expect(try await world.events() == ["ONE_TIME_CHARGE"])
        await world.remove()
    }

    @Test("An unknown state, or a state together with unfinished, is refused")
    func wrongState() async throws {
        let world = try await EmulatedWorld()
        #expect(await world.ask(.get, "/emulator/transactions", query: [("state", "paid")]).status == 400)
        let both: [(name: String, value: String)] = [("state", "purchased"), ("unfinished", "true")]
        #expect(await world.ask(.get, "/emulator/transactions", query: both).status == 400)
        await world.remove()
    }

    @Test("P10: A restore returns lasting purchases, under a new id each time, without refunded or consumed ones")
    func restore() async throws {
        let world = try await EmulatedWorld.withStore()
        let library = try world.identifier(try await world.buy("library"))
        let member = try world.identifier(try await world.buy("member.monthly"))
        var finished = [library, member]
        for product in ["points60", "course"] { finished.append(try world.identifier(try await world.buy(product))) }
        let empty = await world.ask(.post, "/emulator/restore")
        #expect(empty.json["data"]?.array == [], "everything is in the queue still")
        for id in finished { await world.post(id, "finish") }
        let first = await world.ask(.post, "/emulator/restore").json["data"]?.array ?? []
        #expect(Set(first.compactMap { $0["original"]?["transactionId"]?.string }) == [library, member])
        let second = await world.ask(.post, "/emulator/restore").json["data"]?.array ?? []
        let ids = (first + second).compactMap { $0["transactionId"]?.string }
        #expect(Set(ids).count == 4 && Set(ids).isDisjoint(with: finished))
        await world.post(library, "refund")
        let third = await world.ask(.post, "/emulator/restore").json["data"]?.array ?? []
        #expect(third.compactMap { $0["original"]?["transactionId"]?.string } == [member])
        #expect(await world.transactions(of: "default").count == 4, "a restore leaves no transaction behind")
        #expect(await world.ask(.post, "/emulator/restore", ["account": "nobody"]).json["code"] == "unknown_account")
        await world.remove()
    }
}
