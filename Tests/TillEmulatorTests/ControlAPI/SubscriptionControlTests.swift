import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Subscriptions at the control API")
struct SubscriptionControlTests {
    private func post(
        _ world: SubscribedWorld, _ path: String, _ body: JSONValue? = nil
    ) async -> (status: Int, json: JSONValue) {
        let request = HTTPRequest(
            method: .post, path: "/emulator/subscriptions/" + path, query: [], headers: HTTPHeaders([]),
            body: body.map { Array($0.encoded().utf8) } ?? [])
        let response = await world.emulator.respond(to: request)
        return (response.status, (try? JSONValue(decoding: response.body)) ?? .null)
    }

    private func get(
        _ world: SubscribedWorld, _ path: String, _ query: [(name: String, value: String)] = []
    ) async -> (status: Int, json: JSONValue) {
        let request = HTTPRequest(
            method: .get, path: "/emulator/subscriptions" + path, query: query, headers: HTTPHeaders([]), body: [])
        let response = await world.emulator.respond(to: request)
        return (response.status, (try? JSONValue(decoding: response.body)) ?? .null)
    }

    @Test("Every action has a route, which answers with the updated subscription")
    func acts() async throws {
        let world = try await SubscribedWorld()
        let id = try await world.bought("basic.monthly").id.text
        #expect(await post(world, "\(id)/cancel").json["renews"] == false)
        #expect(await post(world, "\(id)/resume").json["renews"] == true)
        let raised = await post(
            world, "\(id)/priceIncrease",
            [
                "price": ["amount": 399, "currency": "USD"], "needsConsent": true,
                "effectiveDate": "2026-03-02T00:00:00Z",
            ])
        #expect(raised.json["priceIncrease"] == "pending")
        #expect(await post(world, "\(id)/consent", ["accept": true]).json["priceIncrease"] == "accepted")
        #expect(await post(world, "\(id)/extend", ["days": 5]).json["expiresDate"] == "2026-04-06T08:30:00.000Z")
        let waiting = await post(world, "\(id)/upgrade", ["productId": "basic.annual"])
        #expect(waiting.json["outcome"] == "scheduled")
        #expect(waiting.json["subscription"]?["renewalProductId"] == "basic.annual")
        let upgraded = await post(world, "\(id)/upgrade", ["productId": "premium.monthly"])
        #expect(upgraded.json["outcome"] == "purchased")
        #expect(upgraded.json["transaction"]?["originalTransactionId"] == .string(id))
        #expect(upgraded.json["subscription"]?["productId"] == "premium.monthly")
        #expect(await post(world, "\(id)/billingFailure").json["billingFails"] == true)
        world.advance(days: 40)
        #expect(await get(world, "/\(id)").json["state"] == "billingRetry")
        let recovered = await post(world, "\(id)/recover")
        #expect(recovered.json["state"] == "active")
        #expect(recovered.json["billingFails"] == false)
        await world.remove()
    }

    @Test("Lists are paged, for one account or app or for all")
    func pages() async throws {
        let world = try await SubscribedWorld()
        for index in 0..<5 { try await world.bought("basic.monthly", account: "a\(index % 3)\(index)") }
        let first = await get(world, "", [("limit", "3")])
        #expect(first.json["data"]?.array?.count == 3)
        let cursor = try #require(first.json["nextCursor"]?.string)
        let second = await get(world, "", [("limit", "3"), ("cursor", cursor)])
        #expect(second.json["data"]?.array?.count == 2)
        #expect(second.json["hasMore"] == false)
        #expect(await get(world, "", [("account", "a11")]).json["data"]?.array?.count == 1)
        #expect(await get(world, "", [("bundleId", "com.example.none")]).json["data"] == [])
        await world.remove()
    }

    @Test("An impossible action is refused with its own code")
    func refusals() async throws {
        let world = try await SubscribedWorld()
        let id = try await world.bought("basic.monthly").id.text
        let table: [(String, JSONValue?, Int, String)] = [
            ("1/cancel", nil, 404, "unknown_subscription"),
            ("01/cancel", nil, 404, "unknown_subscription"),
            ("99999999999999999999/cancel", nil, 404, "unknown_subscription"),
            ("\(id)/cancel", ["why": 1], 400, "unknown_member"),
            ("\(id)/upgrade", [:], 400, "missing_member"),
            ("\(id)/upgrade", ["productId": "nothing"], 422, "unknown_product"),
            ("\(id)/upgrade", ["productId": "basic.monthly"], 409, "already_subscribed"),
            ("\(id)/recover", nil, 409, "nothing_to_recover"),
            ("\(id)/consent", [:], 400, "missing_member"),
            ("\(id)/consent", ["accept": true], 409, "no_consent_asked"),
            ("\(id)/extend", ["days": 91], 400, "wrong_value"),
            ("\(id)/extend", [:], 400, "missing_member"),
            ("\(id)/priceIncrease", [:], 400, "missing_member"),
            ("\(id)/priceIncrease", ["price": ["amount": -1, "currency": "USD"]], 400, "wrong_value"),
            ("\(id)/priceIncrease", ["price": ["amount": .int(.max), "currency": "USD"]], 400, "wrong_value"),
            ("\(id)/priceIncrease", ["price": ["amount": 1, "currency": "USD"]], 422, "not_an_increase"),
            (
                "\(id)/priceIncrease", ["price": ["amount": 999, "currency": "USD"], "effectiveDate": "soon"], 400,
                "wrong_value"
            ),
        ]
        for (path, body, status, code) in table {
            let answer = await post(world, path, body)
            #expect(answer.status == status, "\(path)")
            #expect(answer.json["code"]?.string == code, "\(path)")
        }
        #expect(await get(world, "/7").status == 404)
        #expect(try await world.names() == ["SUBSCRIBED/INITIAL_BUY"])
        await world.remove()
    }
}
