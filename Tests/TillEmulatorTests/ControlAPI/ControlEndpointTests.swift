import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("The control API's answers to bad input")
struct ControlEndpointTests {
    private let good: [String: JSONValue] = [
        "bundleId": "com.example.learnpoints", "productId": "com.example.learnpoints.points60",
    ]

    private func with(_ more: [String: JSONValue]) -> JSONValue { .object(good.merging(more) { _, new in new }) }

    @Test("An unknown member is an error that names the nearest known one")
    func unknownMember() async throws {
        let world = try await EmulatedWorld()
        let answer = await world.ask(.post, "/emulator/purchases", with(["apAccountToken": "x"]))
        #expect(answer.status == 400)
        #expect(answer.json["code"] == "unknown_member")
        #expect(answer.json["title"]?.string?.contains("did you mean \"appAccountToken\"?") == true)
        #expect(answer.response.headers["Content-Type"] == "application/problem+json")
        let chinese = await world.ask(
            .post, "/emulator/purchases", with(["apAccountToken": "x"]),
            headers: [("Accept-Language", "zh-CN,zh;q=0.9")])
        #expect(chinese.json["title"]?.string?.contains("是否想写 “appAccountToken”") == true)
        #expect(chinese.json["code"] == "unknown_member")
        await world.remove()
    }

    @Test("A null counts as absent: {\"url\": null} turns notifications off (regression: it was refused)")
    func null() async throws {
        let world = try await EmulatedWorld()
        let on = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
        #expect(on.json["url"] == "http://127.0.0.1:9/")
        let off = await world.ask(.put, "/emulator/notifications", ["url": .null])
        #expect(off.status == 200)
        #expect(off.json["url"] == .null)
        #expect(await world.ask(.get, "/emulator/state").json["notifications"]?["url"] == .null)
        let bought = await world.ask(
            .post, "/emulator/purchases",
            with(["quantity": .null, "appAccountToken": .null, "storefront": .null, "outcome": .null, "receipt": .null])
        )
        #expect(bought.status == 200)
        let missing = await world.ask(.post, "/emulator/purchases", with(["productId": .null]))
        #expect(missing.json["code"] == "missing_member")
        await world.remove()
    }

    @Test(
        "Wrong types and values are refused by name, and nothing is bought",
        arguments: [
            "quantity": JSONValue.int(11), "quantity ": .int(0), "appAccountToken": "not-a-uuid", "outcome": "maybe",
            "storefront": "cn", "receipt": "yes", "account": .string(String(repeating: "a", count: 201)),
            "bundleId": .int(3), "productId": .array([]),
        ])
    func wrongValue(_ name: String, _ value: JSONValue) async throws {
        let world = try await EmulatedWorld()
        let member = name.trimmingCharacters(in: .whitespaces)
        let answer = await world.ask(.post, "/emulator/purchases", with([member: value]))
        #expect(answer.status == 400)
        #expect(answer.json["code"] == "wrong_value")
        #expect(answer.json["title"]?.string?.contains("\"\(member)\"") == true)
        #expect(await world.ask(.get, "/emulator/state").json["transactions"]?["total"] == 0)
        await world.remove()
    }

    @Test("A body that is no JSON object, or lacks a member, is refused with the reason")
    func noObject() async throws {
        let world = try await EmulatedWorld()
        let broken = HTTPRequest(method: .post, path: "/emulator/purchases", body: Array("{".utf8))
        #expect(try JSONValue(decoding: await world.emulator.respond(to: broken).body)["code"] == "not_json")
        #expect(await world.ask(.post, "/emulator/purchases", [1, 2]).json["code"] == "not_an_object")
        #expect(await world.ask(.post, "/emulator/purchases", [:]).json["code"] == "missing_member")
        #expect(await world.ask(.get, "/emulator/purchases").status == 405)
        #expect(await world.ask(.get, "/emulator/nothing").status == 404)
        await world.remove()
    }

    @Test("The refusal of an unknown product names the nearest one; a storefront without a price is refused")
    func products() async throws {
        let world = try await EmulatedWorld()
        let unknown = await world.ask(
            .post, "/emulator/purchases", with(["productId": "com.example.learnpoints.point60"]))
        #expect(unknown.status == 422)
        #expect(unknown.json["code"] == "unknown_product")
        #expect(unknown.json["title"]?.string?.contains("com.example.learnpoints.points60") == true)
        let abroad = await world.ask(.post, "/emulator/purchases", with(["storefront": "DEU"]))
        #expect(abroad.json["code"] == "not_for_sale")
        let many = await world.ask(
            .post, "/emulator/purchases", with(["productId": "com.example.learnpoints.library", "quantity": 2]))
        #expect(many.json["code"] == "quantity_not_allowed")
        await world.remove()
    }

    @Test("The catalogue is replaced completely or not at all")
    func catalogue() async throws {
        let world = try await EmulatedWorld()
        let price: JSONValue = ["CHN": ["amount": 600, "currency": "CNY"], "JPN": ["amount": 120, "currency": "JPY"]]
        let bad: [JSONValue] = [
            ["products": [["id": "a b", "prices": price]]],
            ["products": [["id": "a", "prices": price], ["id": "a", "prices": price]]],
            ["products": [["id": "a", "prices": [:]]]],
            ["products": [["id": "a", "prices": ["CHN": ["amount": 6.5, "currency": "CNY"]]]]],
            ["products": [["id": "a", "prices": price, "type": "Auto-Renewable Subscription"]]],
            ["products": [["id": "a", "prices": price, "period": "P1M"]]],
            ["products": [["id": "a", "price": price]]],
            ["product": []],
            [:],
        ]
        for body in bad {
            let answer = await world.ask(.put, "/emulator/products", body)
            #expect(answer.status == 400, "\(body.encoded())")
        }
        #expect(await world.ask(.get, "/emulator/products").json["data"]?.array?.count == 8)
        let good: JSONValue = ["products": [["id": "gold.10", "name": "Ten gold", "prices": price]]]
        #expect(await world.ask(.put, "/emulator/products", good).status == 200)
        let bought = await world.ask(
            .post, "/emulator/purchases",
            ["bundleId": "com.example.other", "productId": "gold.10", "storefront": "JPN", "quantity": 2])
        let signed = try payload(of: bought.json["signedTransaction"]?.string)
        // ¥120 twice; the yen has no minor unit, and Apple's thousandths are of the yen.
        #expect(signed["price"] == 240_000)
        #expect(signed["currency"] == "JPY")
        #expect(signed["bundleId"] == "com.example.other")
        await world.remove()
    }

    @Test(
        "An unknown or malformed transaction id is 404", arguments: ["1", "abc", "-5", "007", "99999999999999999999"])
    func unknownTransaction(_ id: String) async throws {
        let world = try await EmulatedWorld()
        #expect(await world.ask(.post, "/emulator/transactions/\(id)/finish").status == 404)
        #expect(await world.ask(.post, "/emulator/transactions/\(id)/refund").json["code"] == "unknown_transaction")
        await world.remove()
    }

    @Test("A store created for sandbox does not open as production")
    func environments() async throws {
        let world = try await EmulatedWorld()
        await world.close()
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        await #expect(throws: (any Error).self) {
            try await EmulatedWorld(configuration, directory: world.directory)
        }
        try? FileManager.default.removeItem(at: world.directory)
    }
}
