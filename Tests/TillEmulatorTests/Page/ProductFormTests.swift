import Testing
import TillBilling
import TillJSON

@testable import TillEmulator

@Suite("Products in Till's own form")
struct ProductFormTests {
    private func put(_ world: EmulatedWorld, _ products: [JSONValue], force: Bool = false) async -> (
        status: Int, json: JSONValue
    ) {
        let answer = await world.ask(
            .put, "/emulator/products", query: force ? [("force", "true")] : [], ["products": .array(products)])
        return (answer.status, answer.json)
    }

    private static let yuan: JSONValue = ["CHN": ["amount": 600, "currency": "CNY"]]

    private func subscription(_ more: [String: JSONValue] = [:]) -> JSONValue {
        let plain: JSONValue = [
            "id": "sub", "type": "Auto-Renewable Subscription", "prices": Self.yuan, "subscriptionGroup": "g",
            "period": "P1M",
        ]
        return plain.with(more)
    }

    private func offer(_ more: [String: JSONValue] = [:]) -> JSONValue {
        let plain: JSONValue = [
            "kind": "promotional", "identifier": "half", "discount": "PAY_UP_FRONT", "period": "P3M",
            "prices": Self.yuan,
        ]
        return plain.with(more)
    }

    @Test("PUT accepts what GET returns, and GET then returns it again")
    func roundTrip() async throws {
        let world = try await EmulatedWorld()
        let given = try #require(await world.ask(.get, "/emulator/products").json["data"]?.array)
        #expect(given.count == 8)
        let yearly = try #require(given.last)
        #expect(
            yearly["offers"]?.array?.compactMap { $0["kind"]?.string } == [
                "introductory", "promotional", "code", "winBack",
            ])
        #expect(yearly["level"] == 1 && yearly["monthlyBilling"] == true && yearly["familyShareable"] == true)
        let all =
            given + [
                subscription([
                    "period": "P1Y", "monthlyBilling": true, "monthlyPrices": Self.yuan, "level": 3,
                    "state": "REJECTED", "reviewScreenshot": false, "withAppVersion": true,
                    "offers": [
                        offer(), offer(["kind": "introductory", "identifier": .null]),
                        offer(["kind": "code", "identifier": "return", "customers": ["EXPIRED"]]),
                    ],
                    "localizations": [["locale": "en-US", "displayName": "A", "description": "B"]],
                ])
            ]
        let first = await put(world, all)
        #expect(first.status == 200, "\(first.json.encoded())")
        #expect(first.json["ignored"] == [])
        let written = try #require(await world.ask(.get, "/emulator/products").json["data"]?.array)
        #expect(written.count == 9 && Array(written.prefix(8)) == given)
        #expect(written.last?["monthlyPrices"] == Self.yuan)
        #expect(written.last?["offers"]?.array?.last?["customers"] == ["EXPIRED"])
        #expect(written.last?["state"] == "REJECTED" && written.last?["withAppVersion"] == true)
        #expect(await put(world, written).json["data"]?.array == written)
        #expect(await world.ask(.get, "/emulator/products").json["data"]?.array == written)
        await world.remove()
    }

    @Test("a tier is a price in every storefront whose currency is in the table, and explicit prices override it")
    func tiers() async throws {
        let world = try await EmulatedWorld()
        let answer = await put(
            world,
            [
                ["id": "one", "tier": 1],
                ["id": "a", "tier": "A", "prices": ["JPN": ["amount": 160, "currency": "JPY"]]],
            ])
        let one = try #require(answer.json["data"]?.array?.first?["prices"])
        #expect(one["CHN"] == ["amount": 600, "currency": "CNY"] && one["USA"] == ["amount": 99, "currency": "USD"])
        #expect(one["FRA"] == ["amount": 109, "currency": "EUR"] && one["UKR"] == ["amount": 99, "currency": "USD"])
        #expect(one["BRA"] == nil && one["IND"] == nil)
        let a = try #require(answer.json["data"]?.array?.last?["prices"])
        #expect(a["CHN"] == ["amount": 100, "currency": "CNY"] && a["JPN"] == ["amount": 160, "currency": "JPY"])
        for tier in [.int(88), "C", .int(-1), .bool(true)] as [JSONValue] {
            let wrong = await put(world, [["id": "x", "tier": tier]])
            #expect(wrong.json["title"]?.string?.contains("products[0].tier") == true)
        }
        await world.remove()
    }

    @Test("a product that App Store Connect would not save is refused by the member's path")
    func refused() async throws {
        let world = try await EmulatedWorld()
        let long = JSONValue.string(String(repeating: "x", count: 65))
        let many = { (kind: String) in
            JSONValue.array((0..<11).map { offer(["kind": .string(kind), "identifier": .string("o\($0)")]) })
        }
        let cases: [(product: JSONValue, says: String)] = [
            (["id": "a b", "prices": Self.yuan], "products[0]"),
            (["id": "a", "prices": Self.yuan, "name": long], "products[0].name"),
            (["id": "a", "prices": Self.yuan, "tpye": "Consumable"], "did you mean \"type\""),
            (["id": "a", "prices": Self.yuan, "familyShareable": true], "familyShareable"),
            (["id": "a", "prices": Self.yuan, "level": 1], "level"),
            (["id": "a", "prices": Self.yuan, "offers": [offer()]], "products[0].offers[0]"),
            (["id": "a", "prices": ["CHN": ["amount": -1, "currency": "CNY"]]], "products[0].prices.CHN.amount"),
            (["id": "a"], "products[0].prices"),
            (subscription(["period": "P4M"]), "products[0].period"),
            (subscription(["period": .null]), "products[0].period"),
            (subscription(["level": 0]), "products[0].level"),
            (subscription(["monthlyBilling": true]), "by the month"),
            (subscription(["offers": many("promotional")]), "at most 10 promotional"),
            (subscription(["offers": many("code")]), "at most 10 code"),
            (subscription(["offers": [offer(), offer()]]), "names no offer twice"),
            (subscription(["offers": [offer(["identifier": .null])]]), "products[0].offers[0]"),
            (subscription(["offers": [offer(["kind": "introductory"])]]), "products[0].offers[0]"),
            (subscription(["offers": [offer(["periods": 2])]]), "pay as you go"),
            (subscription(["offers": [offer(["discount": "PAY_AS_YOU_GO"])]]), "own period, P1M"),
            (subscription(["offers": [offer(["discount": "ONE_TIME"])]]), "ONE_TIME"),
            (subscription(["offers": [offer(["prices": [:]])]]), "free trial"),
            (subscription(["offers": [offer(["customers": ["NEW"]])]]), "only by code"),
            (subscription(["offers": [offer(["kind": "code", "customers": []])]]), "each named once"),
            (subscription(["offers": [offer(["kind": "code", "customers": ["NEW", "NEW"]])]]), "each named once"),
            (subscription(["offers": [offer(["kind": "code", "customers": ["OLD"]])]]), "customers[0]"),
            (subscription(["monthlyPrices": Self.yuan]), "only with monthlyBilling"),
            (subscription(["period": "P1Y", "monthlyBilling": true, "monthlyPrices": [:]]), "monthlyPrices"),
            (subscription(["offers": [offer(["period": "P0D"])]]), "products[0].offers[0].period"),
            (subscription(["localizations": [["locale": "en", "displayName": "A"]]]), "localizations[0].description"),
        ]
        for (product, says) in cases {
            let answer = await put(world, [product])
            #expect(answer.status == 400, "\(product.encoded())")
            #expect(answer.json["title"]?.string?.contains(says) == true, "\(answer.json.encoded())")
        }
        #expect(await world.ask(.get, "/emulator/products").json["data"]?.array?.count == 8)
        await world.remove()
    }

    @Test("a removed id is never given again unless forced; a kind never changes")
    func usedIDs() async throws {
        let world = try await EmulatedWorld()
        let (a, b): (JSONValue, JSONValue) = (["id": "a", "prices": Self.yuan], ["id": "b", "prices": Self.yuan])
        #expect(await put(world, [a, b]).status == 200)
        let number = try #require(try await world.emulator.store.products().last?.appleID)
        #expect(await put(world, [a]).status == 200)
        let again = await put(world, [a, b])
        #expect(again.status == 409 && again.json["code"] == "id_was_used")
        #expect(await world.ask(.get, "/emulator/products").json["data"]?.array?.count == 1)
        #expect(await put(world, [a, b], force: true).status == 200)
        #expect(try await world.emulator.store.products().last?.appleID == number)
        let other = a.with(["type": "Non-Consumable"])
        for force in [false, true] {
            let answer = await put(world, [other, b], force: force)
            #expect(answer.status == 409 && answer.json["code"] == "kind_is_fixed")
        }
        #expect(
            await world.ask(.put, "/emulator/products", query: [("force", "maybe")], ["products": []]).status == 400)
        await world.remove()
    }

    @Test("a purchase reads one price, the same as in the whole product")
    func priced() async throws {
        let world = try await EmulatedWorld()
        _ = await put(world, [["id": "one", "tier": 1]])
        let (whole, one, none) = try await world.emulator.store.ask { connection in
            (
                try ProductTable.find(ProductID("one"), connection),
                try ProductTable.priced(ProductID("one"), storefront: "CHN", connection),
                try ProductTable.priced(ProductID("one"), storefront: "BRA", connection)
            )
        }
        #expect(one?.prices.count == 1 && one?.prices["CHN"] == whole?.prices["CHN"])
        #expect(none != nil && none?.prices.isEmpty == true)
        #expect(whole.map { $0.prices.count > 100 } == true)
        await world.remove()
    }
}
