import Testing
import TillBilling
import TillClient
import TillCrypto

@Suite("The owner of a purchase") struct OwnerJourneys {
    @Test(
        "A pays, the answer is lost, A signs out and B signs in: A gets it, B nothing (P8)",
        arguments: [
            (.storeKit1, .signedTransaction), (.storeKit1, .receipt), (.storeKit2, .signedTransaction),
        ] as [(StoreKitGeneration, StoreKit1Proof)], Reach.allCases)
    func accountSwitch(_ app: (generation: StoreKitGeneration, proof: StoreKit1Proof), _ reach: Reach) async throws {
        try await Phones.open(app.generation, reach, proof: app.proof) { phones in
            let phone = try await phones.phone("A", account: "family")
            phone.wire.cut(.server, "POST /v1/transactions")
            guard case .deliveryPending = await phone.buy() else {
                Issue.record("it is not on its way")
                return
            }
            #expect(phone.wire.happened == 1)
            await phone.signOut()
            phone.wire.mend()
            await phone.signIn("B")
            #expect(try await phone.hasFinishedAll())
            #expect(try await phones.shop.points(of: "A") == 60)
            #expect(try await phones.shop.grants(of: "B") == 0)
            #expect(await phone.orders().isEmpty, "B sees A's order")
            #expect(try await phones.shop.grantCount() == 1)
            await phone.signOut()
            await phone.signIn("A")
            #expect(await eventually { await phone.orders().map(\.status) == [.completed] })
        }
    }

    @Test(
        "The same, with the app killed or deleted in between: the store's queue still names the owner (P8, O7)",
        arguments: StoreKitGeneration.both, KilledJourneys.Afterwards.allCases)
    func accountSwitchAfterKill(
        _ generation: StoreKitGeneration, _ afterwards: KilledJourneys.Afterwards
    ) async throws {
        try await Phones.open(generation) { phones in
            let phone = try await phones.phone("A", account: "family")
            phone.wire.cut(.server, "POST /v1/transactions")
            await phone.buy()
            #expect(phone.wire.happened == 1)
            await phone.kill()
            phone.wire.mend()
            switch afterwards {
            case .relaunched: try await phone.relaunch(as: "B")
            case .reinstalled: try await phone.reinstall(as: "B")
            }
            #expect(try await phone.hasFinishedAll())
            #expect(try await phones.shop.points(of: "A") == 60)
            #expect(try await phones.shop.grants(of: "B") == 0)
            #expect(await phone.orders().isEmpty)
        }
    }

    @Test(
        "The same, and the store lost the owner: never B's, and A's through its only possible order (P8, U1)",
        arguments: StoreKitGeneration.both)
    func tokenLost(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let phone = try await phones.phone("A", account: "family")
            // Because of A's earlier purchase here, with a token, the phone counts as A's.
            #expect(await phone.buy().order?.status == .completed)
            let earlier = try #require(try await phone.paid().first)
            try await phones.loseTokens()
            phone.wire.cut(.server, "POST /v1/transactions")
            await phone.buy()
            #expect(phone.wire.happened == 1)
            let paid = try #require(try await phone.paid().first { $0 != earlier })
            let transaction = try await phones.shop.ask(.get, "/emulator/transactions/\(paid)")
            #expect(transaction["appAccountToken"] == .null, "the token was not lost")
            phone.wire.mend()
            await phone.signOut()
            await phone.signIn("B")
            #expect(await eventually { phone.wire.count(.server, "POST /v1/transactions") >= 2 })
            #expect(
                await eventually { (try? await phones.shop.grants(of: "A")) == 2 },
                "matched by device: no other order of the phone fits")
            #expect(try await phones.shop.grants(of: "B") == 0)
            await phone.signOut()
            await phone.signIn("A")
            phones.shop.time.advance(seconds: 60)
            #expect(try await phone.hasFinishedAll())
            #expect(try await phones.shop.points(of: "A") == 120)
            #expect(try await phones.shop.grantCount() == 2)
        }
    }

    @Test(
        "The store lost the owner, and nothing else happened: the order's id attributes the purchase (U1)",
        arguments: StoreKitGeneration.both)
    func tokenLostAlone(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            try await phones.loseTokens()
            let ann = try await phones.phone("ann")
            let outcome = await ann.buy()
            let paid = try #require(try await ann.paid().first)
            let transaction = try await phones.shop.ask(.get, "/emulator/transactions/\(paid)")
            #expect(transaction["appAccountToken"] == .null, "the token was not lost")
            #expect(isCompleted(outcome), "\(outcome)")
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test(
        "The same proof from this phone and another one of the account: one grant (O8)",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func twoPhones(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await Phones.open(generation, reach) { phones in
            let first = try await phones.phone("ann")
            first.wire.cut(.server, "POST /v1/transactions", .answerLost)
            guard case .deliveryPending = await first.buy() else {
                Issue.record("the answer was not lost")
                return
            }
            #expect(first.wire.happened == 1)
            #expect(try await phones.shop.grants(of: "ann") == 1)
            #expect(try await first.unfinished().count == 1)
            let second = try await phones.phone("ann")
            #expect(try await second.hasFinishedAll())
            #expect(second.wire.count(.server, "POST /v1/transactions") == 1)
            #expect(await eventually { await second.orders().map(\.status) == [.completed] })
            first.wire.mend()
            first.regainNetwork()
            #expect(await eventually { await first.orders().map(\.status) == [.completed] })
            #expect(try await phones.shop.grants(of: "ann") == 1)
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test(
        "Two phones of one account buy at the same time: each purchase is granted once",
        arguments: StoreKitGeneration.both)
    func bothBuy(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let first = try await phones.phone("ann")
            let second = try await phones.phone("ann")
            async let one = first.buy()
            async let other = second.buy(Shop.points300)
            #expect(isCompleted(await one))
            #expect(isCompleted(await other))
            #expect(try await first.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 360)
            #expect(try await phones.shop.grants(of: "ann") == 2)
            #expect(try await phones.shop.transactions(of: "ann", "state=purchased").count == 2)
        }
    }

    @Test(
        "A guest buys and later signs in: the purchase is the guest's, and the account's list doesn't show it (P12)",
        arguments: StoreKitGeneration.both)
    func guest(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let phone = try await phones.phone(nil, account: "family")
            let guest = await phone.use { await $0.guestID }
            #expect(guest.hasPrefix("guest-"))
            await phone.signIn(guest)
            #expect(isCompleted(await phone.buy()))
            #expect(try await phones.shop.points(of: guest) == 60)
            await phone.signIn("ann")
            #expect(await phone.orders().isEmpty)
            #expect(await phone.use { await $0.orders(all: true) }.map(\.status) == [.completed])
            #expect(try await phone.use { try await $0.wallet() }["points"] ?? 0 == 0)
            // The guest stays the same as long as the app is installed.
            try await phone.relaunch()
            #expect(await phone.use { await $0.guestID } == guest)
            #expect(try await phones.shop.points(of: guest) == 60)
            #expect(try await phones.shop.grantCount() == 1)
        }
    }

    @Test(
        "A guest buys and signs in with the guest's token: all of it is the account's, once, despite faults (P12)",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func guestMerged(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await Phones.open(generation, reach) { phones in
            let phone = try await phones.phone(nil, account: "family")
            let guest = await phone.use { await $0.guestID }
            await phone.signIn(guest)
            #expect(isCompleted(await phone.buy()))
            // Paid, and the answer is lost: the grant follows.
            phone.wire.cut(.server, "POST /v1/transactions")
            await phone.buy(Shop.points300)
            #expect(try await phones.shop.ordersAtServer(of: guest).count == 2)
            #expect(try await phones.shop.ordersAtServer(of: "ann").isEmpty)
            phone.wire.mend()
            phone.wire.cut(.server, "/guests", .answerLost)
            let lost = await phone.signIn("ann", mergingGuest: guest)
            guard case .postponed = lost else {
                Issue.record("\(lost)")
                return
            }
            #expect(phone.wire.happened >= 2)
            #expect(try await phones.shop.points(of: guest) == 0)
            phone.wire.mend()
            try await phone.relaunch()
            #expect(await phone.use { await $0.guestID } == guest)
            #expect(await phone.signIn("ann", mergingGuest: guest) == .merged)
            #expect(await phone.signIn("ann", mergingGuest: guest) == .nothing)
            #expect(try await phone.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 360)
            #expect(try await phone.use { try await $0.wallet() } == ["points": 360])
            #expect(await eventually { await phone.orders().map(\.status) == [.completed, .completed] })
            #expect(try await phones.shop.ordersAtServer(of: "ann") == ["completed", "completed"])
            #expect(try await phones.shop.transfers(of: "ann").count == 1)
            #expect(await phone.use { await $0.guestID } != guest)
        }
    }

    @Test(
        "An operator reverses the merge: the account's phone loses points and right, the guest has both again (P12)",
        arguments: StoreKitGeneration.both)
    func guestReversed(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let phone = try await phones.phone(nil, account: "family")
            let guest = await phone.use { await $0.guestID }
            await phone.signIn(guest)
            #expect(isCompleted(await phone.buy()))
            #expect(isCompleted(await phone.buy("com.example.learn.pro")))
            #expect(await phone.signIn("ann", mergingGuest: guest) == .merged)
            let merged = try await phone.use { try await $0.refresh() }
            #expect(merged.wallet == ["points": 60] && merged.entitlements.items.map(\.name) == ["pro"])
            #expect(phone.store.isEntitled("pro"))

            let transfers = try await phones.shop.send(.get, "/v1/users/ann/transfers")["data"].list
            let merge = try #require(transfers.first?.at("id").text)
            #expect(try await phones.shop.reverse(merge).status == 201)
            let left = try await phone.use { try await $0.refresh() }
            #expect((left.wallet?["points"] ?? 0) == 0 && left.entitlements.items.isEmpty)
            #expect(!phone.store.isEntitled("pro"))
            await phone.signIn(guest)
            let returned = try await phone.use { try await $0.refresh() }
            #expect(returned.wallet == ["points": 60] && returned.entitlements.items.map(\.name) == ["pro"])
            for user in ["ann", guest] {
                let audited = try await phones.shop.transfers(of: user).map { $0.prefix { $0 != " " } }
                #expect(audited == ["reversal", "guest_merge"])
            }
        }
    }
}

extension Phone {
    func signIn(_ user: String, mergingGuest guest: String) async -> GuestMerge {
        let expires = shop.time.now.seconds + 600
        return await use { store in
            await store.signIn(
                user,
                mergingGuest: {
                    UserToken.hs256(subject: guest, expires: expires, extra: UserToken.guestClaim(guest))
                },
                token: { UserToken.hs256(subject: user, expires: expires) })
        }
    }
}

extension Phones {
    /// From now on the store loses the app's user name.
    func loseTokens() async throws {
        let reply = try await shop.ask(
            .put, "/emulator/faults", ["seed": 1, "endpoints": ["purchases": ["lostApplicationUsername": 1]]])
        try #require(reply.status == 200, "\(reply.body)")
    }
}
