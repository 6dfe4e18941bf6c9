import StoreKit
import Testing
import TillBilling
import TillClient

@Suite("A new phone") struct RestoreJourneys {
    private static let pro = CloudShop.prefix + "pro"
    private static let monthly = CloudShop.prefix + "premium_monthly_auto"

    private func shop(
        _ generation: StoreKitGeneration, _ terms: RestoreTerms = RestoreTerms(),
        _ journey: (Phones) async throws -> Void
    ) async throws {
        try await Phones.open(
            generation,
            change: { configuration in
                configuration.catalog = CloudShop.catalog
                configuration.restore = terms
            }
        ) { phones in
            try await CloudShop.stock(phones.shop)
            let old = try await phones.phone("ann")
            for product in [Self.pro, Self.monthly, Shop.points60] {
                #expect(isCompleted(await old.buy(product)), "\(product)")
            }
            #expect(try await old.hasFinishedAll())
            await old.kill()
            try await journey(phones)
        }
    }

    @Test(
        "Non-consumables and subscriptions are restored to their owner by the server, consumables aren't (P10, T11)",
        arguments: StoreKitGeneration.both)
    func restore(_ generation: StoreKitGeneration) async throws {
        try await shop(generation) { phones in
            let phone = try await phones.phone("ann")
            let outcome = try await phone.use { try await $0.restore() }
            #expect(outcome.error == nil)
            #expect(Set(outcome.restored) == [Self.pro, Self.monthly])
            #expect(outcome.waiting.isEmpty && outcome.ownedByOthers == 0)
            #expect(phone.wire.count(.server, "POST /v1/restores") == 1)
            #expect(phone.wire.count(.server, "POST /v1/transactions") == 0)
            #expect(outcome.purchases.map(\.status) == [.owned, .owned])
            #expect(await phone.isRestoredQueueEmpty())
            #expect(try await phones.shop.grants(of: "ann") == 3, "granted anew")
            #expect(try await phones.shop.points(of: "ann") == 60)
            let rights = try await phone.use { try await $0.refresh().entitlements.items }
            #expect(Set(rights.map(\.productID)) == [Self.pro, Self.monthly])
        }
    }

    @Test(
        "Another user of the app on the same Apple Account gets none of it (P8, P10)",
        arguments: StoreKitGeneration.both)
    func others(_ generation: StoreKitGeneration) async throws {
        try await shop(generation) { phones in
            let phone = try await phones.phone("ben", account: "ann")
            let outcome = try await phone.use { try await $0.restore() }
            #expect(outcome.restored.isEmpty && outcome.ownedByOthers == 2)
            #expect(try await phones.shop.grants(of: "ben") == 0)
            #expect(try await phones.shop.grants(of: "ann") == 3)
            #expect(try await phone.use { try await $0.refresh().entitlements.items }.isEmpty)
        }
    }

    @Test(
        "The server is unreachable: restored purchases wait, and restoring again delivers them (T11)",
        arguments: StoreKitGeneration.both)
    func serverAway(_ generation: StoreKitGeneration) async throws {
        try await shop(generation) { phones in
            let phone = try await phones.phone("ann")
            phone.wire.cut(.server, "POST /v1/restores")
            let waiting = try await phone.use { try await $0.restore() }
            #expect(phone.wire.happened == 1)
            if generation == .storeKit1 {
                let restored = await phone.use { _ in SKPaymentQueue.default().transactions }
                #expect(
                    restored.contains { $0.transactionState == .restored }, "finished without the server's word")
            }
            #expect(Set(waiting.waiting) == [Self.pro, Self.monthly] && waiting.restored.isEmpty)
            #expect(waiting.error?.code.rawValue == "cannot_connect")
            phone.wire.mend()
            #expect(Set(try await phone.use { try await $0.restore() }.restored) == [Self.pro, Self.monthly])
            #expect(try await phones.shop.grants(of: "ann") == 3)
            #expect(await phone.isRestoredQueueEmpty())
        }
    }

    @Test(
        "If the shop lets purchases move, they move to the user who restores them, and the app gets each (P10, T11)",
        arguments: StoreKitGeneration.both)
    func moved(_ generation: StoreKitGeneration) async throws {
        try await shop(generation, RestoreTerms(policy: .move)) { phones in
            let phone = try await phones.phone("ben", account: "ann")
            let outcome = try await phone.use { try await $0.restore() }
            #expect(Set(outcome.restored) == [Self.pro, Self.monthly] && outcome.ownedByOthers == 0)
            #expect(outcome.purchases.map(\.status) == [.moved, .moved])
            #expect(Set(outcome.purchases.map { $0.message(in: "zh") }) == ["此项购买原在其他账户，现已转入当前账户。"])
            let rights = try await phone.use { try await $0.refresh().entitlements.items }
            #expect(Set(rights.map(\.productID)) == [Self.pro, Self.monthly])
            #expect(try await phones.shop.rights(of: "ann").isEmpty)
            #expect(try await phones.shop.points(of: "ann") == 60, "points don't move")
        }
    }

    @Test(
        "A purchase whose answer was lost is processed by restoring, and finished (O5, P10)",
        arguments: StoreKitGeneration.both)
    func awaited(_ generation: StoreKitGeneration) async throws {
        try await shop(generation) { phones in
            let phone = try await phones.phone("cat")
            phone.wire.cut(.server, "POST /v1/transactions")
            guard case .deliveryPending = await phone.buy(Self.pro) else {
                Issue.record("it is not on its way")
                return
            }
            phone.wire.mend()
            // StoreKit 1 restores nothing that was never finished (facts/storekit-client A5), so the purchase is
            // processed first; and its queue reports it to the store later.
            #expect(try await eventually { try await phone.use { try await $0.restore() }.restored == [Self.pro] })
            #expect(try await phone.hasFinishedAll())
            #expect(await phone.orders().map(\.status) == [.completed])
        }
    }
}

extension Phone {
    /// Whether StoreKit 1 has no restored transaction that waits for finish.
    func isRestoredQueueEmpty() async -> Bool {
        await eventually(within: 1) {
            await self.use { _ in
                SKPaymentQueue.default().transactions.allSatisfy { $0.transactionState != .restored }
            }
        }
    }
}
