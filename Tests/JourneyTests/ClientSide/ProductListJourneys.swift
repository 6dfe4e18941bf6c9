import Testing
import TillBilling
import TillClient

@Suite("The shop page") struct ProductListJourneys {
    @Test(
        "Ids from the server, names and prices from the store; cached, and greyed until both answer (P1, G2)",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func kept(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await Phones.open(generation, reach) { phones in
            let ann = try await phones.phone("ann")
            #expect(await ann.use { await $0.cachedProducts() }.items.isEmpty, "something before anybody was asked")
            let productList = await ann.use { await $0.products() }
            let ids = [Shop.points60, Shop.points300, "com.example.learn.pro"]
            #expect(
                Set(productList.items.map(\.id)) == Set(ids) && !productList.isFromCache && productList.error == nil)
            #expect(productList[Shop.points60]?.displayPrice == "¥6.00")
            #expect(productList.items.allSatisfy { $0.canBuy })

            ann.wire.cut(.server)
            ann.wire.cut(.store)
            try await ann.relaunch()
            let stored = await ann.use { await $0.cachedProducts() }
            #expect(stored.items.map(\.id) == productList.items.map(\.id))
            #expect(stored.items.map(\.displayPrice) == productList.items.map(\.displayPrice))
            #expect(stored.isFromCache && !stored.items.contains { $0.canBuy })
            #expect(await ann.use { await $0.products() }.items == stored.items)

            ann.wire.mend()
            #expect(await ann.use { await $0.products() }.items.allSatisfy { $0.canBuy })
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
            let productList = await ann.use { await $0.products() }
            #expect(productList.items.isEmpty && productList.error == .productListUnavailable)
            #expect(ann.wire.happened >= 1)
            // A web page answers in the server's place.
            ann.wire.mend()
            ann.wire.cut(.server, "/v1/products", .answered(.page))
            #expect(await ann.use { await $0.products() }.error == .productListUnavailable)
            ann.wire.mend()
            #expect(await ann.use { await $0.products() }.error == nil)
        }
    }

    @Test(
        "Offline with a cached list: both are asked, and the list gives the reason for its age (P1)",
        arguments: StoreKitGeneration.both)
    func keptOffline(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            _ = await ann.use { await $0.products() }
            ann.wire.cut(.server)
            ann.wire.cut(.store)
            try await ann.relaunch()
            let offline = await ann.use { await $0.products() }
            #expect(ann.wire.count(.server, "GET /v1/products") == 2)
            #expect(offline.error == .productListUnavailable)
        }
    }
}
