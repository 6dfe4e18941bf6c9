import Testing
import TillBilling
import TillClient
import TillCrypto

@Suite("What a launch finds") struct LaunchJourneys {
    @Test(
        "The one observer of the app gets the transactions that earlier launches left, each once (G1, O2, P7, T10)",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func leftovers(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await Phones.open(generation, reach) { phones in
            let ann = try await phones.phone("ann", isLaunched: false)
            // Three orders of a deleted installation: only the store and the server still have them.
            for _ in 0..<3 {
                _ = try await phones.shop.pay(token: try await phones.shop.openOrder(as: "ann"), account: "ann")
            }
            try await ann.open()
            // An app may call start any number of times.
            await ann.use { store in
                await store.start()
                await store.start()
            }
            #expect(try await ann.hasFinishedAll())
            #expect(await eventually { await ann.orders().map(\.status) == [.completed, .completed, .completed] })
            #expect(ann.wire.count(.server, "POST /v1/transactions") == 3)
            #expect(try await phones.shop.points(of: "ann") == 180)
            // It also gets later purchases.
            #expect(isCompleted(await ann.buy()))
            #expect(ann.wire.count(.server, "POST /v1/transactions") == 4)
            #expect(try await phones.shop.grants(of: "ann") == 4)
        }
    }

    @Test("Updates from before the first listener are delivered to later ones (P7)", arguments: StoreKitGeneration.both)
    func updates(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann", isLaunched: false)
            let order = try await phones.shop.openOrder(as: "ann")
            _ = try await phones.shop.pay(token: order, account: "ann")
            try await ann.open()
            #expect(try await ann.hasFinishedAll())
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            for _ in 0..<2 {
                // Every listener gets it.
                var received = await ann.use { $0.updates }.makeAsyncIterator()
                guard case .order(let summary) = await received.next() else {
                    Issue.record("something else came first")
                    return
                }
                #expect(summary.uuid == order && summary.status == .completed)
            }
        }
    }

    @Test(
        "Unfinished paid purchases are submitted before the next one, never cleared (T2)",
        arguments: StoreKitGeneration.both)
    func unfinishedFirst(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions")
            await ann.buy()
            let left = try await ann.unfinished()
            #expect(left.count == 1 && ann.wire.happened == 1)
            await ann.buy()
            #expect(try await ann.unfinished().count == 2, "the one before was cleared")
            #expect(try await ann.unfinished().first == left.first)
            // Only the first was paid when the second proof was sent: before the second order and its payment.
            func place(_ name: String, _ number: Int) throws -> Int {
                try #require(ann.run.steps.firstIndex(of: AppRun.Step(name: name, number: number)), "\(name) \(number)")
            }
            let proofs = try (1...3).map { try place("server POST /v1/transactions", $0) }
            let ordered = try place("server POST /v1/orders", 2)
            let paid = try place("store POST /emulator/purchases", 2)
            #expect(proofs[1] < ordered && ordered < paid && paid < proofs[2])
            #expect(ann.wire.happened == 3)

            // While the third payment is under way, the two before it are granted already.
            ann.wire.mend()
            let gate = Gate()
            ann.wire.cut(.store, "POST /emulator/purchases", .slow(gate))
            async let outcome = ann.buy()
            #expect(await eventually { ann.wire.happened == 4 })
            let granted = try? await phones.shop.grants(of: "ann")
            await gate.open()
            #expect(isCompleted(await outcome))
            #expect(granted == 2)
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 180)
            #expect(try await phones.shop.grants(of: "ann") == 3)
        }
    }

    @Test(
        "No network at the launch: nothing fails, and waiting purchases are processed when it returns",
        arguments: StoreKitGeneration.both)
    func offline(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann", isLaunched: false)
            _ = try await phones.shop.pay(token: try await phones.shop.openOrder(as: "ann"), account: "ann")
            ann.wire.cut(.server)
            ann.wire.cut(.store)
            try await ann.open()
            #expect(await eventually { ann.wire.happened > 2 })
            #expect(await ann.orders().isEmpty)
            guard case .failed = await ann.buy() else {
                Issue.record("it was bought without a network")
                return
            }
            #expect(try await ann.unfinished().count == 1)
            ann.wire.mend()
            ann.regainNetwork()
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(try await ann.paid().count == 1)
        }
    }

    @Test("No user is signed in at the launch: paid purchases wait for a sign-in", arguments: StoreKitGeneration.both)
    func signedOut(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone(nil, account: "ann", isLaunched: false)
            _ = try await phones.shop.pay(token: try await phones.shop.openOrder(as: "ann"), account: "ann")
            try await ann.open()
            #expect(await eventually { await ann.use { await $0.orders(all: true) }.map(\.status) == [.ongoing] })
            #expect(ann.wire.count(.server, "POST /v1/transactions") == 0)
            await ann.signIn("ann")
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test(
        "The app dies after paying: the server learns of it from the store, and the next login shows it (G5)",
        arguments: StoreKitGeneration.both)
    func notified(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            try await phones.shop.tellServer()
            let ann = try await phones.phone("ann", isLaunched: false)
            try await ann.open(killedAt: AppRun.Step(name: "store answers POST /emulator/purchases", number: 1))
            async let outcome = ann.buy()
            #expect(await eventually { ann.run.isDead })
            #expect(await eventually { (try? await ann.paid().count) == 1 })
            await phones.shop.emulator.sendDueNotifications()
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(try await phones.shop.ordersAtServer(of: "ann") == ["completed"])
            _ = await outcome
            try await ann.relaunch()
            #expect(try await ann.use { try await $0.wallet() } == ["points": 60])
            #expect(try await ann.hasFinishedAll())
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            #expect(try await phones.shop.grants(of: "ann") == 1)
        }
    }

    @Test(
        "A promoted product tapped in the App Store is passed to the app, which buys it",
        arguments: StoreKitGeneration.both)
    func promoted(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            let tapped = try await phones.shop.ask(
                .post, "/emulator/purchase-intents",
                [
                    "bundleId": .string(Shop.bundleID), "productId": .string(Shop.points300), "account": "ann",
                ])
            try #require(tapped.status == 200, "\(tapped.body)")
            var updates = await ann.use { $0.updates }.makeAsyncIterator()
            #expect(await updates.next() == .promoted(productID: Shop.points300))
            #expect(isCompleted(await ann.buy(Shop.points300)))
            #expect(try await phones.shop.points(of: "ann") == 300)
        }
    }
}
