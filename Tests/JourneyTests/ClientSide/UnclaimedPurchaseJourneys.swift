import Testing
import TillBilling
import TillClient
import TillJSON
import TillLedger
import TillServer

@Suite("A purchase whose owner the store lost") struct UnclaimedPurchaseJourneys {
    private static let monthly = CloudShop.prefix + "premium_monthly_auto"

    @Test(
        "The app claims it with Apple's order number: it is the caller's, finished, and named at Apple (U1)",
        arguments: StoreKitGeneration.both)
    func claimedByNumber(_ generation: StoreKitGeneration) async throws {
        // Order numbers exist in production only.
        try await Phones.open(generation, store: .production) { phones in
            let shop = phones.shop
            let ann = try await phones.phone("ann", isLaunched: false)
            let paid = try await shop.pay(token: nil, account: "ann")
            try await ann.open()
            #expect(await eventually { await ann.isWaiting() })
            #expect(try await ann.unfinished() == [paid.id])
            let number = try await shop.ask(.get, "/emulator/transactions/\(paid.id)")["orderId"].text

            let claimed = try await ann.use { try await $0.claim(appleOrderNumber: number) }
            #expect(claimed.map(\.isYours) == [true] && claimed.map(\.transactionID) == [paid.id])
            #expect(claimed.map(\.productID) == [Shop.points60])
            #expect(try await ann.use { try await $0.wallet() } == ["points": 60])
            shop.time.advance(seconds: 3_600)
            #expect(try await ann.hasFinishedAll())
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            #expect(try await ann.use { try await $0.claim(appleOrderNumber: number) }.map(\.isYours) == [true])

            let eve = try await phones.phone("eve")
            let refused = await #expect(throws: TillError.self) {
                try await eve.use { _ = try await $0.claim(appleOrderNumber: number) }
            }
            #expect(refused?.code.rawValue == "unknown_order_number")
            #expect(try await eve.use { try await $0.wallet() }["points"] ?? 0 == 0)
            #expect(try await shop.grantCount() == 1)

            let orders = try await shop.send(.get, "/v1/users/ann/orders")["data"].list
            _ = try await AppleTaskRuns(shop.server.ledger).runAll()
            let repaired = try await shop.ask(.get, "/emulator/transactions/\(paid.id)")
            #expect(orders.count == 1 && repaired["appAccountToken"] == orders.first?.at("id"))
        }
    }

    @Test(
        "A token of no order: it stays in the queue, and the device's own open order doesn't take it (U1, O5)",
        arguments: StoreKitGeneration.both)
    func quarantined(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let shop = phones.shop
            let ann = try await phones.phone("ann")
            #expect(isCompleted(await ann.buy()))
            #expect(try await ann.hasFinishedAll())
            // An open order of the same product and device: the app died before it asked for the payment.
            try await ann.relaunch(killedAt: AppRun.Step(name: "store POST /emulator/purchases", number: 1))
            await ann.buy()
            #expect(try await shop.ordersAtServer(of: "ann") == ["prepared", "completed"])
            let unknown = try await shop.pay(token: UniqueID(high: 7, low: 7), account: "ann")
            try await ann.relaunch()
            #expect(await eventually { await ann.isWaiting() })
            #expect(ann.wire.count(.server, "POST /v1/transactions") >= 2)
            #expect(try await ann.unfinished() == [unknown.id])

            // A caller who names that order and device with the proof gets no further.
            let open = try #require(try await shop.send(.get, "/v1/users/ann/orders")["data"].list.first)
            let openID = try #require(OrderID(open.at("id").text))
            let phone = try #require(
                try await shop.ledger.read { try OrderTable($0).find(openID)?.order.phoneID?.text })
            let named = try await shop.send(
                .post, "/v1/transactions",
                ["signedTransaction": .string(unknown.signed), "orderId": open.at("id"), "phoneId": .string(phone)],
                as: .user("ann"))
            #expect(named["outcome"].text == "quarantined" && named["reason"].text == "unknown_token")
            #expect(try await shop.decisions(on: unknown.id).allSatisfy { $0.decision == "quarantined" })
            #expect(try await shop.ordersAtServer(of: "ann") == ["prepared", "completed"])
            #expect(try await shop.grants(of: "ann") == 1)

            // Without any token it is a candidate, and the only one.
            let tokenless = try await shop.pay(token: nil, account: "ann")
            #expect(await eventually { (try? await shop.grants(of: "ann")) == 2 })
            #expect(await eventually { (try? await ann.unfinished()) == [unknown.id] })
            let matched = try await shop.send(.get, "/v1/orders/\(open.at("id").text)")
            #expect(matched["status"].text == "completed" && matched["transactionId"].text == tokenless.id)
        }
    }

    @Test(
        "Another user's phone sends a renewal without a token: its buyer has it; a return after a lapse waits (U1, P8)",
        arguments: StoreKitGeneration.both)
    func renewalWithoutToken(_ generation: StoreKitGeneration) async throws {
        try await Phones.openCloud(generation) { phones in
            let shop = phones.shop
            try await phones.loseTokens()
            let phone = try await phones.phone("A", account: "family")
            #expect(isCompleted(await phone.buy(Self.monthly)))
            #expect(try await phone.hasFinishedAll())
            let original = try #require(try await phone.paid().first)
            let end = try #require(try await shop.rights(of: "A").first)
            shop.time.advance(seconds: 31 * 86_400)
            // StoreKit 1 shows renewals at a launch.
            try await phone.relaunch(as: "B")
            #expect(await eventually { (try? await shop.grants(of: "A")) == 2 })
            #expect(try await phone.hasFinishedAll())
            let renewal = try #require(try await shop.transactions(of: "family", "").last)
            #expect(renewal != original)
            #expect(try await shop.ask(.get, "/emulator/transactions/\(renewal)")["appAccountToken"] == .null)
            #expect(try await shop.decisions(on: renewal).last?.ground == "original_transaction")
            let extended = try #require(try await shop.rights(of: "A").first)
            #expect(extended > end, "\(extended)")
            #expect(try await phone.use { try await $0.refresh().entitlements.items }.isEmpty)

            // No renewal: the original transaction decides nothing.
            #expect(try await shop.ask(.post, "/emulator/subscriptions/\(original)/cancel").status == 200)
            shop.time.advance(seconds: 40 * 86_400)
            #expect(try await shop.rights(of: "A").isEmpty)
            let again = try await shop.pay(Self.monthly, token: nil, account: "family")
            #expect(await eventually { (try? await shop.decisions(on: again.id).last?.decision) == "quarantined" })
            for (user, grants) in [("A", Int64(2)), ("B", 0)] {
                #expect(try await shop.rights(of: user).isEmpty)
                #expect(try await shop.grants(of: user) == grants)
            }
            #expect(try await phone.unfinished() == [again.id])
        }
    }
}

extension Phone {
    /// Whether a paid purchase waits here, of any user or none, and says why.
    fileprivate func isWaiting() async -> Bool {
        await use { await $0.orders(all: true) }.contains { $0.status == .ongoing && $0.note() != nil }
    }
}
