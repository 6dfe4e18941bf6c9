import Testing
import TillBilling
import TillJSON

@testable import TillEmulator

@Suite("The review of products (L1)")
struct ProductReviewTests {
    private static let localization: JSONValue = [["locale": "zh-Hans", "displayName": "学点", "description": "学点"]]

    private static func product(_ id: String, _ more: [String: JSONValue] = [:]) -> JSONValue {
        let plain: JSONValue = [
            "id": .string(id), "tier": 1, "state": "READY_TO_SUBMIT", "localizations": localization,
        ]
        return plain.with(more)
    }

    private func world(_ products: [JSONValue]) async throws -> EmulatedWorld {
        let world = try await EmulatedWorld()
        let answer = await world.ask(.put, "/emulator/products", ["products": .array(products)])
        try #require(answer.status == 200, "\(answer.json.encoded())")
        return world
    }

    private func step(
        _ world: EmulatedWorld, _ id: String, _ step: String, _ body: JSONValue? = nil
    ) async -> (state: String?, code: String?) {
        let answer = await world.ask(.post, "/emulator/products/\(id)/\(step)", body)
        #expect(answer.status == (answer.json["state"] == nil ? 409 : 200))
        return (answer.json["state"]?.string, answer.json["code"]?.string)
    }

    @Test("without screenshot or localization the state is Missing Metadata; complete it is Ready to Submit")
    func metadata() async throws {
        let world = try await world([
            Self.product("a", ["reviewScreenshot": false]), Self.product("b", ["localizations": []]),
            Self.product("c", ["state": "MISSING_METADATA"]), ["id": "d", "tier": 1],
        ])
        let states = try await world.emulator.store.products().map(\.state)
        #expect(states == [.missingMetadata, .missingMetadata, .readyToSubmit, .approved])
        #expect(await step(world, "a", "submit").code == "missing_metadata")
        let edited = await world.ask(.put, "/emulator/products/a", Self.product("a"))
        #expect(edited.json["state"] == "READY_TO_SUBMIT")
        #expect(await step(world, "a", "submit").state == "WAITING_FOR_REVIEW")
        await world.remove()
    }

    @Test("the first product needs an app version and waits for it; later ones need none")
    func first() async throws {
        let world = try await world([Self.product("a"), Self.product("b")])
        #expect(await step(world, "a", "submit").code == "needs_app_version")
        #expect(await step(world, "a", "submit", ["withAppVersion": true]).state == "WAITING_FOR_REVIEW")
        #expect(await step(world, "a", "startReview").state == "IN_REVIEW")
        #expect(await step(world, "a", "approve").state == "PENDING_BINARY_APPROVAL")
        #expect(await step(world, "b", "submit").code == "needs_app_version")
        #expect(await step(world, "a", "approve").state == "APPROVED")
        #expect(await step(world, "b", "submit").state == "WAITING_FOR_REVIEW")
        _ = await step(world, "b", "startReview")
        #expect(await step(world, "b", "approve").state == "APPROVED")
        await world.remove()
    }

    @Test("a rejected or returned product can be submitted again; one off sale can return unless Apple removed it")
    func back() async throws {
        let world = try await world([Self.product("a"), ["id": "b", "tier": 1]])
        for (verdict, state) in [("reject", "REJECTED"), ("requestChanges", "DEVELOPER_ACTION_NEEDED")] {
            #expect(await step(world, "a", "submit").state == "WAITING_FOR_REVIEW")
            _ = await step(world, "a", "startReview")
            #expect(await step(world, "a", verdict).state == state)
        }
        #expect(await step(world, "b", "removeFromSale").state == "DEVELOPER_REMOVED_FROM_SALE")
        #expect(await step(world, "b", "returnToSale").state == "APPROVED")
        #expect(await step(world, "b", "removeFromSale", ["by": "Apple"]).state == "REMOVED_FROM_SALE")
        #expect(await step(world, "b", "returnToSale").code == "illegal_step")
        #expect(await world.ask(.post, "/emulator/products/b/removeFromSale", ["by": "me"]).status == 400)
        #expect(await world.ask(.post, "/emulator/products/nobody/submit").json["code"] == "unknown_product")
        await world.remove()
    }

    @Test("only legal moves succeed: of 84 pairs of step and state, ten are legal")
    func legal() {
        var moves: [String] = []
        for state in ProductState.allCases {
            for step in ProductReview.Step.allCases {
                if let next = ProductReview.state(after: step, of: state, withAppVersion: false) {
                    moves.append("\(state.rawValue) \(step.rawValue) \(next.rawValue)")
                }
            }
        }
        #expect(
            moves.sorted() == [
                "APPROVED removeFromSale DEVELOPER_REMOVED_FROM_SALE",
                "DEVELOPER_ACTION_NEEDED submit WAITING_FOR_REVIEW",
                "DEVELOPER_REMOVED_FROM_SALE returnToSale APPROVED", "IN_REVIEW approve APPROVED",
                "IN_REVIEW reject REJECTED", "IN_REVIEW requestChanges DEVELOPER_ACTION_NEEDED",
                "PENDING_BINARY_APPROVAL approve APPROVED", "READY_TO_SUBMIT submit WAITING_FOR_REVIEW",
                "REJECTED submit WAITING_FOR_REVIEW", "WAITING_FOR_REVIEW startReview IN_REVIEW",
            ])
    }

    @Test("in review only name and prices can be edited; ids and kinds never")
    func edits() async throws {
        let world = try await world([Self.product("a"), ["id": "b", "tier": 1]])
        _ = await step(world, "a", "submit")
        #expect(
            await world.ask(.put, "/emulator/products/a", Self.product("a", ["familyShareable": false, "tier": 2]))
                .status == 200)
        _ = await step(world, "a", "startReview")
        let named = await world.ask(.put, "/emulator/products/a", Self.product("a", ["name": "New", "tier": 3]))
        #expect(named.json["state"] == "IN_REVIEW" && named.json["prices"]?["CHN"]?["amount"] == 1_800)
        let more = await world.ask(.put, "/emulator/products/a", Self.product("a", ["reviewScreenshot": false]))
        #expect(more.json["code"] == "not_editable")
        let kind = await world.ask(.put, "/emulator/products/b", Self.product("b", ["type": "Non-Consumable"]))
        #expect(kind.json["code"] == "kind_is_fixed")
        #expect(await world.ask(.put, "/emulator/products/b", Self.product("c")).status == 400)
        #expect(await world.ask(.put, "/emulator/products/c", Self.product("c")).json["code"] == "unknown_product")
        await world.remove()
    }

    @Test("testers get a product from Ready to Submit on, customers once it is approved and priced")
    func sold() {
        var product = StoreProduct(
            id: ProductID("a"), kind: .consumable, name: "a",
            prices: ["CHN": Money(amount: 600, currency: Currency("CNY"))])
        for state in ProductState.allCases {
            product.state = state
            #expect(product.isSold(in: .production) == (state == .approved))
            let isIncomplete = [.missingMetadata, .waitingForUpload, .processingContent].contains(state)
            #expect(product.isSold(in: .sandbox) == !isIncomplete)
        }
        product.prices = [:]
        product.state = .approved
        #expect(!product.isSold(in: .production) && !product.isSold(in: .sandbox))
    }
}

@Suite("Findings about the catalogue, each with its cure (L2)")
struct ProductFindingTests {
    private static let yuan: JSONValue = ["CHN": ["amount": 600, "currency": "CNY"]]

    private func findings(_ products: [JSONValue], app: [JSONValue]? = nil) async throws -> [JSONValue] {
        let world = try await EmulatedWorld()
        let put = await world.ask(.put, "/emulator/products", ["products": .array(products)])
        try #require(put.status == 200, "\(put.json.encoded())")
        let answer =
            if let app {
                await world.ask(.post, "/emulator/products/findings", ["products": .array(app)])
            } else {
                await world.ask(.get, "/emulator/products/findings")
            }
        await world.remove()
        return try #require(answer.json["data"]?.array, "\(answer.json.encoded())")
    }

    private func codes(_ findings: [JSONValue]) -> [String] {
        findings.map { "\($0["code"]?.string ?? "") \($0["productId"]?.string ?? "")" }
    }

    @Test("the sample catalogue has no findings")
    func sample() async throws {
        let world = try await EmulatedWorld()
        #expect(await world.ask(.get, "/emulator/products/findings").json == ["data": []])
        await world.remove()
    }

    @Test("each fault is named, in both languages, with its cure")
    func faults() async throws {
        let sub: JSONValue = [
            "id": "sub", "type": "Auto-Renewable Subscription", "subscriptionGroup": "g", "level": 2, "period": "P1M",
            "prices": Self.yuan,
            "offers": [["kind": "introductory", "discount": "FREE_TRIAL", "period": "P5D"]],
        ]
        let found = try await findings([
            [
                "id": "dear",
                "prices": ["CHN": ["amount": 990, "currency": "CNY"], "USA": ["amount": 485, "currency": "USD"]],
            ],
            ["id": "abroad", "prices": ["CHN": ["amount": 99, "currency": "USD"]]],
            ["id": "bare", "tier": 1, "state": "MISSING_METADATA", "reviewScreenshot": false], sub,
        ])
        #expect(
            codes(found) == [
                "price_off_the_table dear", "price_off_the_table dear", "foreign_currency abroad",
                "missing_screenshot bare", "missing_localization bare", "not_returned_by_the_store bare",
                "odd_offer_period sub", "odd_levels ",
            ])
        let yuan = try #require(found.first { $0["finding"]?["en"]?.string?.contains("9.90 CNY") == true })
        #expect(yuan["finding"]?["en"]?.string?.contains("on no classic tier") == true)
        for finding in found {
            for part in ["finding", "cure"] {
                for language in ["en", "zh"] { #expect(finding[part]?[language]?.string?.isEmpty == false) }
            }
        }
    }

    @Test("a first product without an app version is found")
    func first() async throws {
        let product: JSONValue = [
            "id": "a", "tier": 1, "state": "WAITING_FOR_REVIEW",
            "localizations": [["locale": "en", "displayName": "A", "description": "B"]],
        ]
        #expect(codes(try await findings([product])) == ["first_product_without_app_version a"])
        #expect(try await findings([product.with(["withAppVersion": true])]).isEmpty)
    }

    @Test("the app's own list is compared: an unknown id, a duplicate, a wrong type")
    func compared() async throws {
        let found = try await findings(
            [["id": "points60", "tier": 1], ["id": "pro", "type": "Non-Consumable", "tier": 3]],
            app: [
                ["id": "points60"], ["id": "point60", "type": "Consumable"], ["id": "points60"],
                ["id": "pro", "type": "Consumable"],
            ])
        #expect(codes(found) == ["unknown_id point60", "duplicate_id points60", "wrong_type pro"])
        #expect(found.first?["cure"]?["en"] == "Did you mean points60?")
    }
}
