import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Products on a device")
struct OfferedProductTests {
    private static let app = EmulatedWorld.app

    private func products(_ phone: Phone, _ ids: [String]) async throws -> JSONValue {
        try await phone.ask("/products", [("ids", ids.map { "\(Self.app).\($0)" }.joined(separator: ","))])
    }

    @Test("P1: Price, language and offers follow the account's storefront, whatever the device's region is")
    func storefronts() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        let china = try await products(phone, ["member.yearly", "points60"])
        #expect(china["storefront"]?["countryCode"] == "CHN")
        let year = try #require(china["data"]?.array?.first)
        #expect(year["displayName"] == "会员（年）" && year["locale"] == "zh-Hans")
        #expect(year["price"] == ["amount": 19_800, "currency": "CNY"])
        #expect(year["type"] == "Auto-Renewable Subscription" && year["familyShareable"] == true)
        let terms = try #require(year["subscription"])
        #expect(terms["groupId"] == "21000001" && terms["groupName"] == "Membership" && terms["level"] == 1)
        #expect(terms["period"] == "P1Y" && terms["allowsMonthlyBilling"] == true)
        #expect(
            terms["introductoryOffer"] == [
                "kind": "introductory", "discount": "FREE_TRIAL", "price": ["amount": 0, "currency": "CNY"],
                "period": "P1W", "periods": 1,
            ])
        #expect(
            terms["promotionalOffers"] == [
                [
                    "id": "loyal", "kind": "promotional", "discount": "PAY_AS_YOU_GO",
                    "price": ["amount": 9_800, "currency": "CNY"], "period": "P1Y", "periods": 1,
                ]
            ])
        #expect(terms["winBackOffers"]?.array?.first?["id"] == "comeback", "offers by code are no product's to show")
        let pack = try #require(china["data"]?.array?.last)
        #expect(pack["id"]?.string == "\(Self.app).points60" && pack["subscription"] == nil)
        await world.put(account: "ann", ["storefront": "USA"])
        let america = try await products(phone, ["member.yearly"])
        #expect(america["data"]?.array?.first?["displayName"] == "Membership, yearly")
        #expect(america["data"]?.array?.first?["price"] == ["amount": 2_999, "currency": "USD"])
        await world.remove()
    }

    @Test("Products without a price there, removed or unknown ones are invalid; each id is answered once, in order")
    func invalid() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        _ = await world.ask(.post, "/emulator/products/\(Self.app).points300/removeFromSale")
        let answer = try await products(phone, ["nothing", "points60", "points300", "points60", "library"])
        let ids = answer["data"]?.array?.compactMap { $0["id"]?.string }
        #expect(ids == ["\(Self.app).points60", "\(Self.app).library"])
        #expect(answer["invalid"] == [.string("\(Self.app).nothing"), .string("\(Self.app).points300")])
        await world.put(account: "ann", ["storefront": "JPN"])
        #expect(try await products(phone, ["points60"])["data"] == [])
        await world.remove()
    }

    @Test("Up to a thousand ids are accepted, in the URL or the body; more, or invalid ids, are refused")
    func bounds() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        func ask(_ ids: [JSONValue]) async -> (status: Int, json: JSONValue) {
            await phone.post("/products", ["ids": .array(ids)])
        }
        let thousand = (0..<1_000).map { JSONValue.string("id\($0)") }
        let answer = await ask(thousand)
        #expect(answer.status == 200 && answer.json["invalid"]?.array?.count == 1_000)
        #expect(await ask(thousand + ["one.more"]).status == 400)
        #expect(await ask([.string(String(repeating: "x", count: 201))]).status == 400)
        #expect(await ask([1]).status == 400)
        #expect(await ask([""]).status == 400)
        #expect(await ask([]).json["data"] == [])
        #expect(await phone.post("/products", [:]).status == 400)
        let text = (0..<1_001).map { "id\($0)" }.joined(separator: ",")
        #expect(await world.ask(.get, "/emulator/devices/\(phone.id)/products", query: [("ids", text)]).status == 400)
        await world.remove()
    }

    @Test(
        "The nearest localization is used: the same, its language, English, the first",
        arguments: [
            ("zh-Hans", ["en-US", "zh-Hans"], "zh-Hans"), ("zh-Hans", ["en-US", "zh-CN"], "zh-CN"),
            ("zh-Hans", ["zh-TW", "en-GB"], "en-GB"), ("zh-Hant", ["zh-Hans", "zh_HK"], "zh_HK"),
            ("de-DE", ["en-GB", "en-US", "de-AT"], "de-AT"), ("ja", ["fr-FR", "de-DE"], "fr-FR"),
            ("en-US", ["EN-us"], "EN-us"), ("pt-BR", [], nil),
        ] as [(String, [String], String?)])
    func languages(_ wanted: String, _ there: [String], _ shown: String?) {
        let texts = there.map { StoreProduct.Localization(locale: $0, displayName: $0, description: "") }
        #expect(StorefrontLanguage.nearest(to: wanted, among: texts)?.locale == shown)
    }

    @Test("Every storefront has a language, and only existing storefronts are named")
    func storefrontLanguages() {
        #expect(StorefrontLanguage.locale(of: "CHN") == "zh-Hans" && StorefrontLanguage.locale(of: "TWN") == "zh-Hant")
        #expect(StorefrontLanguage.locale(of: "USA") == "en-US" && StorefrontLanguage.locale(of: "FJI") == "en-US")
        let named = StorefrontLanguage.locales.keys
        #expect(named.count > 40 && named.allSatisfy(Storefront.exists))
    }

    @Test("A group's name comes from the product form or Xcode's file, and is its id by default")
    func groupNames() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        let plan: JSONValue = [
            "id": "plan", "type": "Auto-Renewable Subscription", "subscriptionGroup": "77", "period": "P1M",
            "prices": ["CHN": ["amount": 600, "currency": "CNY"]],
        ]
        func name() async throws -> JSONValue? {
            try await phone.ask("/products", [("ids", "plan")])["data"]?.array?.first?["subscription"]?["groupName"]
        }
        _ = await world.ask(.put, "/emulator/products", ["products": [plan]])
        #expect(try await name() == "77")
        let named = plan.with(["groupName": "Gold"])
        let saved = await world.ask(.put, "/emulator/products/plan", named)
        #expect(saved.status == 200 && saved.json["groupName"] == "Gold")
        #expect(try await name() == "Gold")
        let statuses = try await phone.ask("/subscription-statuses")
        #expect(statuses["data"]?.array?.first?["groupName"] == "Gold")
        await world.remove()
    }
}
