import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

@Suite("Higher prices for subscribers (facts/business-rules §8.4)")
struct PriceIncreaseTests {
    @Test("With consent the next renewal costs more; without it the subscription ends with its period")
    func consent() async throws {
        for accepts in [true, nil, false] as [Bool?] {
            let world = try await SubscribedWorld()
            let first = try await world.bought("basic.monthly")
            let raised = try await world.store.raisePrice(of: first.number, to: SubscribedWorld.dollars(999)).get()
            #expect(raised.priceIncrease?.needsConsent == true)
            #expect(try await world.renewal(first.number)["priceIncreaseStatus"] == 0)
            #expect(try await world.renewal(first.number)["renewalPrice"] == 2_990)
            if let accepts {
                _ = try await world.store.answerPriceIncrease(first.number, accepts: accepts).get()
                if accepts {
                    #expect(try await world.renewal(first.number)["priceIncreaseStatus"] == 1)
                    #expect(try await world.renewal(first.number)["renewalPrice"] == 9_990)
                }
                await #expect(throws: StoreRefusal.self) {
                    _ = try await world.store.answerPriceIncrease(first.number, accepts: true).get()
                    if !accepts { throw StoreRefusal.noConsentAsked("") }
                }
            }
            world.advance(days: 31)
            let names = try await world.names().dropFirst()
            let last = try #require(try await world.transactions().last)
            switch accepts {
            case true?:
                #expect(names == ["PRICE_INCREASE/PENDING", "PRICE_INCREASE/ACCEPTED", "DID_RENEW"])
                #expect(last.price == SubscribedWorld.dollars(999))
                world.advance(days: 30)
                #expect(try await world.transactions().last?.price == SubscribedWorld.dollars(999))
                #expect(try await world.renewal(first.number)["priceIncreaseStatus"] == nil)
            case nil:
                #expect(names == ["PRICE_INCREASE/PENDING", "EXPIRED/PRICE_INCREASE"])
                #expect(try await world.subscription(first.number).expirationIntent == 3)
            case false?:
                #expect(names.last == "PRICE_INCREASE/ACCEPTED" || names.last == "EXPIRED/VOLUNTARY")
                #expect(names.contains("DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"))
            }
            await world.remove()
        }
    }

    @Test("A small increase is announced and applies from its date; only a higher price in its currency is accepted")
    func small() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("premium.monthly")
        let day = try #require(Instant(rfc3339: "2026-04-15T00:00:00.000Z"))
        let raised = try await world.store.raisePrice(
            of: first.number, to: SubscribedWorld.dollars(799), effective: day
        ).get()
        #expect(raised.priceIncrease?.isAccepted == true)
        await #expect(throws: StoreRefusal.notAnIncrease(String(first.number))) {
            try await world.store.raisePrice(of: first.number, to: SubscribedWorld.dollars(699)).get()
        }
        await #expect(throws: StoreRefusal.notAnIncrease(String(first.number))) {
            try await world.store.raisePrice(of: first.number, to: Money(amount: 9_999, currency: Currency("CNY")))
                .get()
        }
        try world.go(to: "2026-06-15T00:00:00.000Z")
        #expect(try await world.transactions().map(\.price.amount) == [699, 699, 799, 799])
        #expect(try await world.names().prefix(2) == ["SUBSCRIBED/INITIAL_BUY", "PRICE_INCREASE/ACCEPTED"])
        // A second increase within a year needs consent, however small.
        let again = try await world.store.raisePrice(of: first.number, to: SubscribedWorld.dollars(809)).get()
        #expect(again.priceIncrease?.needsConsent == true)
        await world.remove()
    }

    @Test("A product's increase informs each of its subscribers once; later subscribers pay the new price at once")
    func product() async throws {
        let world = try await SubscribedWorld()
        for name in ["a", "b", "c"] { try await world.bought("premium.monthly", account: name) }
        let other = try await world.bought("basic.monthly", account: "d")
        let notified = try await world.store.raisePrice(
            of: ProductID("premium.monthly"), bundleID: SubscribedWorld.bundleID, storefront: "USA",
            to: SubscribedWorld.dollars(749)
        ).get()
        #expect(notified.notified == 3 && notified.isComplete)
        #expect(try await world.names().filter { $0 == "PRICE_INCREASE/ACCEPTED" }.count == 3)
        #expect(try await world.subscription(other.number).priceIncrease == nil)
        #expect(try await world.bought("premium.monthly", account: "e").price == SubscribedWorld.dollars(749))
        world.advance(days: 31)
        #expect(try await world.transactions(account: "a").map(\.price.amount) == [699, 749])
        await world.remove()
    }

    @Test(
        "An increase for many subscribers continues where it stopped, also after a restart, and informs each once")
    func resumes() async throws {
        let world = try await SubscribedWorld()
        let count = 2 * ProductPriceIncrease.batch + 3
        for index in 0..<count { try await world.bought("premium.monthly", account: "s\(index)") }
        let id = ProductID("premium.monthly")
        let begun = try await world.store.raisePrice(
            of: id, bundleID: SubscribedWorld.bundleID, storefront: "USA", to: SubscribedWorld.dollars(749)
        ).get()
        #expect(begun.notified == Int64(ProductPriceIncrease.batch) && !begun.isComplete)
        let again = try await world.reopened()
        #expect(try await again.names().filter { $0 == "PRICE_INCREASE/ACCEPTED" }.count == ProductPriceIncrease.batch)
        again.advance(seconds: 60)
        let notified = try await again.notified().filter { $0.name == "PRICE_INCREASE/ACCEPTED" }
        #expect(notified.count == count && Set(notified.map(\.original)).count == count)
        for (product, price, code) in [
            ("premium.monthly", 749, "not_an_increase"), ("nothing", 749, "unknown_product"),
        ] as [(String, Int64, String)] {
            let refused = try await again.store.raisePrice(
                of: ProductID(product), bundleID: SubscribedWorld.bundleID, storefront: "USA",
                to: SubscribedWorld.dollars(price))
            guard case .failure(let refusal) = refused else {
                Issue.record("\(product) was raised")
                continue
            }
            #expect(refusal.code == code)
        }
        await again.remove()
    }
}
