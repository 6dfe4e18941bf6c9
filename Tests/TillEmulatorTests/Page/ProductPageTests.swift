import Testing
import TillBilling
import TillJSON

@testable import TillEmulator

@Suite("The product forms of the emulated store's page (L1)")
struct ProductPageTests {
    private static let id = "com.example.learnpoints.points100"
    private static let form = [
        "name": "100 <points>", "productId": id, "type": "Consumable", "tier": "1", "reviewScreenshot": "false",
        "displayName": "", "description": "", "locale": "zh-Hans", "to": "/emulator/page/products",
    ]

    private func state(_ world: EmulatedWorld) async -> String? {
        let listed = await world.ask(.get, "/emulator/products").json["data"]?.array ?? []
        return listed.first { $0["id"]?.string == Self.id }?["state"]?.string
    }

    private func page(_ world: EmulatedWorld, _ language: String = "en") async -> SeenPage {
        await world.see("/emulator/page/product", [("id", Self.id)], language)
    }

    /// A store without an approved product: its first one goes with an app version.
    private func newShop() async throws -> EmulatedWorld {
        var configuration = EmulatorConfiguration()
        configuration.products = []
        return try await EmulatedWorld(configuration)
    }

    @Test("a product goes from Missing Metadata to Ready to Submit, into review with an app version, and on sale")
    func life() async throws {
        let world = try await newShop()
        #expect(await world.submit("createProduct", Self.form).status == 303)
        #expect(await state(world) == "MISSING_METADATA")
        let incomplete = await page(world)
        #expect(incomplete.text.contains("Missing: review screenshot, name and description for customers"))
        #expect(!incomplete.text.contains("data-action=\"submitProduct\""))
        #expect(incomplete.text.contains("100 &lt;points&gt;") && !incomplete.text.contains("<points>"))
        #expect(await page(world, "zh").text.contains("缺少：审核截图、面向客户的名称与描述"))

        let back = "/emulator/page/product?id=\(Self.id)"
        _ = await world.submit("editProduct", ["id": Self.id, "reviewScreenshot": "true", "to": back])
        #expect(await state(world) == "MISSING_METADATA")
        let saved = await world.submit(
            "editProduct",
            ["id": Self.id, "displayName": "100 学点", "description": "学点", "locale": "zh-Hans", "tier": "2", "to": back])
        #expect(saved.headers["Location"] == back)
        #expect(await state(world) == "READY_TO_SUBMIT")
        let ready = await world.see("/emulator/page/product", [("id", Self.id)], cookies: saved.cookies)
        #expect(ready.text.contains("\(Self.id): Ready to submit."))
        #expect(ready.text.contains("12.00 CNY"), "the new tier's price")
        // The first product can't be submitted alone.
        #expect(ready.text.contains("Submit with an app version") && !ready.text.contains("Submit alone"))
        _ = await world.submit("submitProduct", ["id": Self.id, "withAppVersion": "false"])
        #expect(await state(world) == "READY_TO_SUBMIT")
        for (action, fields, state) in [
            ("submitProduct", ["withAppVersion": "true"], "WAITING_FOR_REVIEW"), ("startReview", [:], "IN_REVIEW"),
            ("requestChanges", [:], "DEVELOPER_ACTION_NEEDED"),
            ("submitProduct", ["withAppVersion": "true"], "WAITING_FOR_REVIEW"), ("startReview", [:], "IN_REVIEW"),
            ("approveProduct", [:], "PENDING_BINARY_APPROVAL"), ("approveProduct", [:], "APPROVED"),
            ("removeFromSale", ["by": "developer"], "DEVELOPER_REMOVED_FROM_SALE"), ("returnToSale", [:], "APPROVED"),
        ] as [(String, [String: String], String)] {
            let button = "data-action=\"\(action)\""
            #expect(await page(world).text.contains(button), "\(action)")
            _ = await world.submit(action, fields.merging(["id": Self.id]) { $1 })
            #expect(await self.state(world) == state, "\(action)")
        }
        await world.remove()
    }

    @Test("a state offers the buttons of its legal moves alone, and another move is refused with the reason")
    func legal() async throws {
        let world = try await newShop()
        _ = await world.submit("createProduct", Self.form)
        let actions = PageAction.allCases.filter { $0.reviewStep != nil }
        for state in ProductState.allCases {
            let product: JSONValue = [
                "id": .string(Self.id), "tier": 1, "state": .string(state.rawValue),
                "reviewScreenshot": .bool(state != .missingMetadata),
                "localizations": [["locale": "en-US", "displayName": "A", "description": "B"]],
            ]
            #expect(await world.ask(.put, "/emulator/products", ["products": [product]]).status == 200)
            let text = await page(world).text
            for action in actions {
                guard let step = action.reviewStep else { continue }
                let isLegal = ProductReview.state(after: step, of: state, withAppVersion: true) != nil
                #expect(text.contains("data-action=\"\(action.rawValue)\"") == isLegal, "\(state) \(action)")
                guard !isLegal else { continue }
                let refused = await world.submit(action.rawValue, ["id": Self.id, "withAppVersion": "true"])
                let said = await world.see("/emulator/page/products", cookies: refused.cookies)
                #expect(said.text.contains("role=\"alert\""), "\(state) \(action)")
                #expect(await self.state(world) == state.rawValue)
            }
        }
        await world.remove()
    }

    @Test("an id is taken for good, and bad input is refused in the page's language without creating anything")
    func refusals() async throws {
        let world = try await EmulatedWorld()
        let before = await world.ask(.get, "/emulator/products").json
        for (changes, english, chinese) in [
            (["productId": "com.example.learnpoints.points60"], "already", "已有商品"),
            (["productId": "a b"], "letters, digits", "字母、数字"), (["productId": ""], "id", "id"),
            (["tier": "99"], "a price tier", "价格档"),
            (["type": "Free Subscription", "tier": "0"], "discontinued", "停用"),
            (["type": "Auto-Renewable Subscription"], "subscriptionGroup", "subscriptionGroup"),
            (["name": String(repeating: "n", count: 65)], "64", "64"),
        ] {
            let form = Self.form.merging(changes) { $1 }
            let refused = await world.submit("createProduct", form)
            let page = await world.see("/emulator/page/products", cookies: refused.cookies)
            #expect(page.text.contains("role=\"alert\"") && page.text.contains(english), "\(changes): \(page.text)")
            let zh = await world.submit("createProduct", form, "zh")
            #expect(await world.see("/emulator/page/products", [], "zh", cookies: zh.cookies).text.contains(chinese))
        }
        #expect(await world.ask(.get, "/emulator/products").json == before)
        let foreign = await world.submit(
            "createProduct", Self.form, origin: "http://evil.example", site: "cross-site")
        #expect(foreign.status == 403)
        #expect(await world.see("/emulator/page/product", [("id", "nothing")]).status == 404)
        // A removed id can't come back.
        _ = await world.ask(.put, "/emulator/products", ["products": [["id": "only", "tier": 1]]])
        let used = await world.ask(.post, "/emulator/products", ["id": "com.example.learnpoints.points60", "tier": 1])
        #expect(used.json["code"] == "id_was_used")
        await world.remove()
    }

    @Test("a subscription is created with its group and period; after an approved product it is submitted alone")
    func subscription() async throws {
        let world = try await EmulatedWorld()
        let created = await world.submit(
            "createProduct",
            Self.form.merging([
                "type": "Auto-Renewable Subscription", "subscriptionGroup": "members", "period": "P1M",
                "reviewScreenshot": "true", "displayName": "Member", "description": "Each month",
            ]) { $1 })
        #expect(created.status == 303)
        #expect(await state(world) == "READY_TO_SUBMIT")
        #expect(await page(world).text.contains("Submit alone"))
        _ = await world.submit("submitProduct", ["id": Self.id, "withAppVersion": "false"])
        #expect(await state(world) == "WAITING_FOR_REVIEW")
        await world.remove()
    }
}
