import Testing
import TillBilling
import TillJSON
import TillServer

@testable import TillClient

@Suite("The shop page") struct ProductListJourneys {
    private static let unavailable = TillError(.productListUnavailable)

    @Test(
        "Ids from the server, names and prices from the store; cached, and greyed until both answer (P1, G2)",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func kept(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await Phones.open(generation, reach) { phones in
            let ann = try await phones.phone("ann")
            #expect(await ann.use { await $0.cachedProducts() }.isEmpty, "products before any answer")
            let products = try await ann.use { try await $0.products() }
            #expect(Set(products.map(\.id)) == [Shop.points60, Shop.points300, "com.example.learn.pro"])
            #expect(products.first { $0.id == Shop.points60 }?.displayPrice == "¥6.00")
            #expect(products.allSatisfy { $0.canBuy })

            ann.wire.cut(.server)
            ann.wire.cut(.store)
            try await ann.relaunch()
            let stored = await ann.use { await $0.cachedProducts() }
            #expect(stored.map(\.id) == products.map(\.id))
            #expect(stored.map(\.displayPrice) == products.map(\.displayPrice))
            #expect(!stored.contains { $0.canBuy })
            await #expect(throws: Self.unavailable) { try await ann.use { try await $0.products() } }
            #expect(await ann.use { await $0.cachedProducts() } == stored)

            ann.wire.mend()
            #expect(try await ann.use { try await $0.products() }.allSatisfy { $0.canBuy })
            #expect(isCompleted(await ann.buy()))
        }
    }

    @Test(
        "Offline on the first day: the list is unavailable for now, and nothing crashes (P1)",
        arguments: StoreKitGeneration.both)
    func firstDay(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann", isLaunched: false)
            ann.wire.cut(.server)
            try await ann.open()
            await #expect(throws: Self.unavailable) { try await ann.use { try await $0.products() } }
            #expect(await ann.use { await $0.cachedProducts() }.isEmpty)
            #expect(ann.wire.happened >= 1)
            // A web page answers in the server's place.
            ann.wire.mend()
            ann.wire.cut(.server, "/v1/products", .answered(.page))
            await #expect(throws: Self.unavailable) { try await ann.use { try await $0.products() } }
            ann.wire.mend()
            #expect(try await ann.use { try await $0.products() }.count == 3)
        }
    }

    @Test(
        "Offline with a cached list: both are asked, and the list gives the reason for its age (P1)",
        arguments: StoreKitGeneration.both)
    func keptOffline(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            _ = try await ann.use { try await $0.products() }
            ann.wire.cut(.server)
            ann.wire.cut(.store)
            try await ann.relaunch()
            await #expect(throws: Self.unavailable) { try await ann.use { try await $0.products() } }
            #expect(ann.wire.count(.server, "GET /v1/products") == 2)
        }
    }

    @Test(
        "One product of each type: the kit shows its type, and its name in the storefront's language (L1)",
        arguments: StoreKitGeneration.both)
    func types(_ generation: StoreKitGeneration) async throws {
        let types: [(id: String, type: TillBilling.ProductType, kind: TillClient.StoreProduct.Kind)] = [
            ("points", .consumable, .consumable), ("pro", .nonConsumable, .nonConsumable),
            ("club", .autoRenewable, .autoRenewable), ("pass", .nonRenewing, .nonRenewing),
        ]
        let catalog = Catalog(
            products: types.map { id, type, _ in
                CatalogProduct(
                    id: ProductID(CloudShop.prefix + id), type: type, names: LocalizedText(en: "", zh: ""),
                    price: Money(amount: 600, currency: Currency("CNY")), points: id == "points" ? ["points": 60] : [:],
                    entitlement: id == "points" ? nil : id)
            })
        try await Phones.open(generation, change: { $0.catalog = catalog }) { phones in
            let listed = types.map { id, type, _ -> JSONValue in
                var members: [String: JSONValue] = [
                    "id": .string(CloudShop.prefix + id), "type": .string(type.rawValue),
                    "prices": [
                        "CHN": ["amount": 600, "currency": "CNY"], "USA": ["amount": 99, "currency": "USD"],
                    ],
                    "localizations": [
                        ["locale": "en-US", "displayName": .string("The \(id)"), "description": ""],
                        ["locale": "zh-Hans", "displayName": .string("商品 \(id)"), "description": ""],
                    ],
                ]
                if type == .autoRenewable { members.merge(["subscriptionGroup": "1", "period": "P1M"]) { $1 } }
                return .object(members)
            }
            let loaded = try await phones.shop.ask(.put, "/emulator/products", ["products": .array(listed)])
            try #require(loaded.status == 200, "\(loaded.body)")
            for (storefront, name) in [("CHN", "商品"), ("USA", "The")] {
                let phone = try await phones.phone(storefront, isLaunched: false)
                try await phone.set(["storefront": .string(storefront)])
                try await phone.open()
                let products = try await phone.use { try await $0.products() }
                #expect(products.map(\.kind) == types.map(\.kind))
                #expect(products.map(\.name) == types.map { "\(name) \($0.id)" })
            }
        }
    }

    @Test(
        "A product's review decides who can buy it: testers from Ready to Submit on, customers once approved (L1)",
        arguments: StoreKitGeneration.both, [TillBilling.StoreEnvironment.sandbox, .production])
    func review(_ generation: StoreKitGeneration, _ store: TillBilling.StoreEnvironment) async throws {
        let id = "com.example.learn.points120"
        let product = CatalogProduct(
            id: ProductID(id), type: .consumable, names: LocalizedText(en: "120 points", zh: "120 学点"),
            price: Money(amount: 1_200, currency: Currency("CNY")), points: ["points": 120])
        let change = { (configuration: inout ServerConfiguration) in
            configuration.catalog = Catalog(products: Shop.catalog.products + [product])
        }
        try await Phones.open(generation, store: store, change: change) { phones in
            let ann = try await phones.phone("ann")
            /// Takes a step at the store, and tries to buy.
            func take(_ step: String, _ body: JSONValue?, to state: String, isSold: Bool) async throws {
                let path = step.isEmpty ? "" : "/\(id)/\(step)"
                let reply = try await phones.shop.ask(.post, "/emulator/products\(path)", body)
                try #require(reply.status == 200 && reply["state"].text == state, "\(reply.body)")
                let listed = try? await ann.use { try await $0.products([id]) }
                #expect((listed?.first?.canBuy == true) == isSold, "\(state)")
                if isSold {
                    #expect(isCompleted(await ann.buy(id)), "\(state)")
                } else {
                    #expect(await ann.buy(id) == .failed(nil, .productUnavailable), "\(state)")
                }
            }
            let isSandbox = store == .sandbox
            try await take(
                "",
                [
                    "id": .string(id), "prices": ["CHN": ["amount": 1_200, "currency": "CNY"]],
                    "reviewScreenshot": false,
                ],
                to: "MISSING_METADATA", isSold: false)
            let text: JSONValue = ["locale": "zh-Hans", "displayName": "120 学点", "description": "可用于所有课程"]
            try await take("metadata", ["localization": text], to: "MISSING_METADATA", isSold: false)
            try await take("metadata", ["reviewScreenshot": true], to: "READY_TO_SUBMIT", isSold: isSandbox)
            try await take("submit", nil, to: "WAITING_FOR_REVIEW", isSold: isSandbox)
            try await take("startReview", nil, to: "IN_REVIEW", isSold: isSandbox)
            try await take("approve", nil, to: "APPROVED", isSold: true)
            let bought: Int64 = isSandbox ? 4 : 1
            #expect(try await ann.paid().count == Int(bought))
            #expect(try await ann.use { try await $0.wallet() } == ["points": 120 * bought])
            try await take("removeFromSale", nil, to: "DEVELOPER_REMOVED_FROM_SALE", isSold: false)
        }
    }
}
