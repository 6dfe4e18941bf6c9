import Testing
import TillBilling

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
}
