import Testing
import TillBilling
import TillClient

@Suite("The shop page") struct ShelfJourneys {
    @Test(
        "Ids from the server, names and prices from the store; cached, and greyed until both answer (P1, G2)",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func kept(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await Phones.open(generation, reach) { phones in
            let ann = try await phones.phone("ann")
            #expect(await ann.use { await $0.keptShelf() }.items.isEmpty, "something before anybody was asked")
            let shelf = await ann.use { await $0.shelf() }
            let ids = [Shop.points60, Shop.points300, "com.example.learn.pro"]
            #expect(Set(shelf.items.map(\.id)) == Set(ids) && !shelf.isFromCache && shelf.problem == nil)
            #expect(shelf[Shop.points60]?.displayPrice == "¥6.00")
            #expect(shelf.items.allSatisfy { $0.canBuy })

            ann.wire.cut(.server)
            ann.wire.cut(.store)
            try await ann.relaunch()
            let kept = await ann.use { await $0.keptShelf() }
            #expect(kept.items.map(\.id) == shelf.items.map(\.id))
            #expect(kept.items.map(\.displayPrice) == shelf.items.map(\.displayPrice))
            #expect(kept.isFromCache && !kept.items.contains { $0.canBuy })
            #expect(await ann.use { await $0.shelf() }.items == kept.items)

            ann.wire.mend()
            #expect(await ann.use { await $0.shelf() }.items.allSatisfy { $0.canBuy })
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
            let shelf = await ann.use { await $0.shelf() }
            #expect(shelf.items.isEmpty && shelf.problem == .productListUnavailable)
            #expect(ann.wire.struck >= 1)
            // A web page answers in the server's place.
            ann.wire.mend()
            ann.wire.cut(.server, "/v1/products", .answered(.page))
            #expect(await ann.use { await $0.shelf() }.problem == .productListUnavailable)
            ann.wire.mend()
            #expect(await ann.use { await $0.shelf() }.problem == nil)
        }
    }

    @Test(
        "Offline with a cached list: both are asked, and the list gives the reason for its age (P1)",
        arguments: StoreKitGeneration.both)
    func keptOffline(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            _ = await ann.use { await $0.shelf() }
            ann.wire.cut(.server)
            ann.wire.cut(.store)
            try await ann.relaunch()
            let offline = await ann.use { await $0.shelf() }
            #expect(ann.wire.count(.server, "GET /v1/products") == 2)
            #expect(offline.problem == .productListUnavailable)
        }
    }
}
