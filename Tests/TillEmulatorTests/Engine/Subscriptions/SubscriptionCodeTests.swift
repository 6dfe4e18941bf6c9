import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

@Suite("Offer codes of subscriptions: eligibility, redemption and notifications")
struct SubscriptionCodeTests {
    private func world() async throws -> SubscribedWorld {
        let all = ProductOffer.Customer.allCases
        let offers = [("all", nil), ("new", [all[0]]), ("existing", [all[1]]), ("expired", [all[2]])].map {
            ProductOffer(
                kind: .code, identifier: $0.0, discount: .payAsYouGo, period: OfferPeriod(1, .month),
                prices: ["USA": SubscribedWorld.dollars(99)], customers: $0.1)
        }
        let world = try await SubscribedWorld {
            var products = SubscribedWorld.products
            for index in products.indices where products[index].id.text == "basic.monthly" {
                products[index].offers += offers
                products[index].offers.append(
                    ProductOffer(kind: .code, identifier: "dear", discount: .payUpFront, period: OfferPeriod(1, .month))
                )
            }
            $0.products = products
        }
        for name in ["all", "new", "existing", "expired", "dear"] {
            let made = try await world.store.makeOfferCodes(
                .custom(name, limit: 10), offer: name, productID: ProductID("basic.monthly"),
                bundleID: SubscribedWorld.bundleID, expires: nil)
            #expect(try made.get() == [name.uppercased()])
        }
        return world
    }

    @Test("A code is for the customers that its offer names, and an ineligible customer keeps it")
    func customers() async throws {
        let world = try await world()
        for name in ["running", "gone"] {
            let first = try await world.bought("basic.monthly", account: name)
            if name == "gone" { _ = try await world.store.cancelSubscription(first.number).get() }
        }
        world.advance(days: 33)
        let table: [(account: String, allowed: Set<String>)] = [
            ("fresh", ["new", "all"]), ("running", ["existing", "all"]), ("gone", ["expired", "all"]),
        ]
        for (account, allowed) in table {
            for code in ["new", "existing", "expired"] where !allowed.contains(code) {
                let refused = try await world.buy("basic.monthly", account: account, offer: .code(code))
                #expect(refused == .failure(.codeNotForCustomer(code.uppercased())), "\(account) \(code)")
            }
        }
        let dear = try await world.buy("basic.monthly", account: "fresh", offer: .code("dear"))
        #expect(dear == .failure(.notForSale(product: "basic.monthly", storefront: "USA")))
        for code in ["new", "existing", "expired", "dear"] {
            #expect(try await world.store.offerCode(code)?.redeemed == 0, "\(code)")
        }
        for (account, allowed) in table {
            let code = try #require(allowed.first { $0 != "all" })
            _ = try await world.buy("basic.monthly", account: account, offer: .code(code)).get()
            #expect(try await world.store.offerCode(code)?.redeemed == 1)
        }
        #expect(
            try await world.names().suffix(3) == ["SUBSCRIBED/INITIAL_BUY", "OFFER_REDEEMED", "SUBSCRIBED/RESUBSCRIBE"])
        await world.remove()
    }

    @Test("A redemption in the app has the token and the offer; one outside has no token")
    func places() async throws {
        let world = try await world()
        let token = UniqueID(high: 0x3F2C_1A00_1111_4222, low: 0x8333_4444_5555_6666)
        let inside = try await world.bought("basic.monthly", account: "in", offer: .code("all"), token: token)
        guard
            case .purchased(let outside) = try await world.store.redeem(
                "all", account: "out", bundleID: SubscribedWorld.bundleID
            ).get()
        else {
            Issue.record("it was not redeemed")
            return
        }
        for (transaction, expected) in [(inside, Optional(token)), (outside, nil)] {
            let signed = SignedContent.transaction(transaction, signed: world.now).json
            #expect(signed["offerType"] == 3 && signed["offerIdentifier"] == "all" && signed["price"] == 990)
            #expect(signed["offerDiscountType"] == "PAY_AS_YOU_GO" && signed["offerPeriod"] == "P1M")
            #expect(signed["appAccountToken"] == expected.map { .string($0.description) })
            #expect(try await world.renewal(transaction.number)["renewalPrice"] == 2_990)
        }
        let again = try await world.store.redeem("all", account: "out", bundleID: SubscribedWorld.bundleID)
        #expect(again == .failure(.codeRedeemed("ALL")))
        let foreign = try await world.store.redeem("all", account: "x", bundleID: "com.example.other")
        #expect(foreign == .failure(.unknownCode("all")))
        var request = PurchaseRequest(bundleID: "com.example.other", productID: ProductID("basic.monthly"))
        request.offer = .code("all")
        #expect(try await world.store.purchase(request) == .failure(.unknownCode("all")))
        // A subscriber redeems it for the next period, and keeps the renewal's token.
        guard
            case .scheduled = try await world.store.redeem(
                "existing", account: "in", bundleID: SubscribedWorld.bundleID
            ).get()
        else {
            Issue.record("it did not wait")
            return
        }
        #expect(try await world.names().last == "OFFER_REDEEMED")
        world.advance(days: 32)
        let renewed = try await world.transactions(account: "in").last
        #expect(renewed?.offer?.identifier == "existing" && renewed?.appAccountToken == token)
        await world.remove()
    }

    @Test("A waiting request with an introductory offer gets none if another purchase used it first")
    func waiting() async throws {
        let world = try await world()
        func ask(_ product: String, _ outcome: PurchaseRequest.Outcome) async throws -> StoreTransaction? {
            guard case .waiting(let asked) = try await world.buy(product, outcome: outcome).get() else { return nil }
            return asked
        }
        let trial = try #require(try await ask("trial.monthly", .deferred))
        let steps = try #require(try await ask("steps.monthly", .deferred))
        let held = try #require(try await ask("trial.monthly", .interrupted))
        let lower = try #require(try await ask("light.weekly", .interrupted))
        #expect(trial.offer?.kind == .introductory && steps.offer?.kind == .introductory)
        #expect(try await world.store.decide(trial.number, approved: true).get().price.amount == 0)
        let second = try await world.store.decide(steps.number, approved: true).get()
        #expect(second.offer == nil && second.price == SubscribedWorld.dollars(599))
        #expect(try await world.store.transaction(steps.number)?.price == second.price, "stored as well")
        #expect(try await world.names() == ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/UPGRADE"])
        let third = try await world.store.decide(held.number, approved: true).get()
        #expect(third.offer == nil)
        #expect(
            try await world.store.decide(lower.number, approved: true)
                == .failure(.subscribedMeanwhile(product: "trial.monthly")))
        #expect(try await world.store.transaction(lower.number)?.state == .declined)
        await world.remove()
    }

    @Test("A product no longer on sale can't be approved, and can be once it returns")
    func vanished() async throws {
        let world = try await world()
        guard case .waiting(let asked) = try await world.buy("basic.monthly", outcome: .deferred).get() else {
            Issue.record("it did not wait")
            return
        }
        let products = try await world.store.products()
        func sell(_ selling: [StoreProduct]) async throws {
            try await world.store.change { _ = try ProductTable.replace(selling, $0.connection) }
        }
        var gone = products
        for index in gone.indices { gone[index].state = .removedFromSale }
        for selling in [products.filter { $0.id.text != "basic.monthly" }, gone] {
            try await sell(selling)
            #expect(
                try await world.store.decide(asked.number, approved: true)
                    == .failure(.noLongerSold("basic.monthly")))
        }
        try await sell(products)
        #expect(try await world.store.decide(asked.number, approved: true).get().state == .purchased)
        await world.remove()
    }
}
