import Testing
import TillBilling
import TillJSON

@testable import TillEmulator

@Suite("The historic free subscription (L1)")
struct FreeSubscriptionTests {
    private static let id = "com.example.learnpoints.newsstand"
    private static let magazine: JSONValue = [
        "id": .string(id), "type": "Free Subscription", "name": "Magazine", "tier": 0,
        "localizations": [["locale": "en-US", "displayName": "Magazine", "description": "Free for all"]],
    ]
    private static let coins: JSONValue = ["id": "com.example.learnpoints.points60", "tier": 1]

    /// A store whose developer has had a free subscription since the days of Newsstand.
    private func world() async throws -> EmulatedWorld {
        var configuration = EmulatorConfiguration()
        configuration.products = try ProductFile(
            Array(JSONValue.object(["products": [Self.coins, Self.magazine]]).encoded().utf8)
        ).products
        return try await EmulatedWorld(configuration)
    }

    @Test("an old catalogue has it, shows it and keeps it unchanged")
    func old() async throws {
        let world = try await world()
        let listed = try #require(await world.ask(.get, "/emulator/products").json["data"]?.array)
        let kept = try #require(listed.last)
        #expect(kept["type"] == "Free Subscription" && kept["state"] == "APPROVED")
        #expect(await world.ask(.put, "/emulator/products", ["products": .array(listed)]).status == 200)
        for (more, code) in [
            (["name": "New"], "discontinued_type"), (["reviewScreenshot": false], "discontinued_type"),
            (["tier": 1], "wrong_value"),
        ] as [([String: JSONValue], String)] {
            let changed = await world.ask(
                .put, "/emulator/products", ["products": [Self.coins, Self.magazine.with(more)]])
            #expect(changed.json["code"] == .string(code), "\(changed.json.encoded())")
            let edited = await world.ask(.put, "/emulator/products/\(Self.id)", Self.magazine.with(more))
            #expect(edited.json["code"] == .string(code), "\(edited.json.encoded())")
        }
        for step in ProductReview.Step.allCases {
            let answer = await world.ask(.post, "/emulator/products/\(Self.id)/\(step.rawValue)")
            #expect(answer.json["code"] == "discontinued_type", "\(step)")
        }
        let amended = await world.ask(.post, "/emulator/products/\(Self.id)/metadata", ["name": "New"])
        #expect(amended.json["code"] == "discontinued_type")
        #expect(await world.ask(.get, "/emulator/products").json["data"]?.array == listed)
        #expect(await world.ask(.get, "/emulator/products/findings").json == ["data": []])
        await world.remove()
    }

    @Test("none can be created, not even under the id of a removed product")
    func new() async throws {
        let world = try await EmulatedWorld()
        let listed = try #require(await world.ask(.get, "/emulator/products").json["data"]?.array)
        let created = await world.ask(.post, "/emulator/products", Self.magazine)
        #expect(created.status == 409 && created.json["code"] == "discontinued_type")
        let replaced = await world.ask(.put, "/emulator/products", ["products": .array(listed + [Self.magazine])])
        #expect(replaced.status == 409 && replaced.json["code"] == "discontinued_type")
        #expect(await world.ask(.get, "/emulator/products").json["data"]?.array == listed)
        let chinese = await world.ask(
            .post, "/emulator/products", Self.magazine, headers: [("Accept-Language", "zh")])
        #expect(chinese.json["title"]?.string?.contains("免费订阅") == true)
        await world.remove()
    }

    @Test("nobody can buy it: the store refuses the purchase, and a device finds no such product")
    func bought() async throws {
        let world = try await world()
        let purchase = await world.ask(
            .post, "/emulator/purchases", ["bundleId": "com.example.learnpoints", "productId": .string(Self.id)])
        #expect(purchase.status == 409 && purchase.json["code"] == "discontinued_type")
        let phone = "3f2c91ab-0000-4000-8000-000000000001"
        _ = await world.ask(.put, "/emulator/accounts/ann", [:])
        _ = await world.ask(.put, "/emulator/accounts/ann/devices", ["id": .string(phone)])
        let products = await world.ask(
            .get, "/emulator/devices/\(phone)/products", query: [("ids", Self.id)])
        #expect(products.json["invalid"]?.array == [.string(Self.id)], "\(products.json.encoded())")
        #expect(await world.ask(.get, "/emulator/transactions").json["data"]?.array?.isEmpty == true)
        let page = await world.see("/emulator/page/product", [("id", Self.id)])
        #expect(page.text.contains("Apple discontinued free subscriptions"))
        #expect(!page.text.contains("save-product") && !page.text.contains("submitProduct"))
        await world.remove()
    }

    @Test("with a price or an offer it is no free subscription")
    func free() throws {
        for more: [String: JSONValue] in [
            ["tier": 1], ["familyShareable": true], ["subscriptionGroup": "g"],
            ["offers": [["kind": "code", "identifier": "a", "discount": "ONE_TIME", "prices": [:]]]],
        ] {
            let file: JSONValue = ["products": [Self.magazine.with(more)]]
            #expect(throws: ProductFile.FormatError.self, "\(more)") { try ProductFile(Array(file.encoded().utf8)) }
        }
    }
}
