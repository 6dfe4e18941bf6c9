import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

@Suite("Subscriptions over years (C7)")
struct SubscriptionWalkTests {
    /// Notifications that announce a new period; each period has one.
    private static let tellsOfPeriod: Set<String> = [
        "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/RESUBSCRIBE", "DID_RENEW", "DID_RENEW/BILLING_RECOVERY",
        "DID_CHANGE_RENEWAL_PREF/UPGRADE", "OFFER_REDEEMED/UPGRADE",
    ]

    /// The violated conditions of this subscription.
    private func violations(_ world: SubscribedWorld, _ original: Int64) async throws -> [String] {
        let subscription = try await world.subscription(original)
        let all = try await world.transactions().filter { $0.state == .purchased }
        let notified = try await world.notified(original: original)
        let now = world.now
        var wrong: [String] = []
        for (old, new) in zip(all, all.dropFirst()) {
            guard let before = old.subscription?.expires, let after = new.subscription?.expires else { continue }
            let followsOn = new.reason == "RENEWAL" && new.purchased.adding(seconds: 86_400) >= before && after > before
            let takesOver = new.reason == "PURCHASE" && (old.isUpgraded || old.revocation != nil)
            if new.purchased < before && !followsOn && !takesOver {
                wrong.append("\(new.number) overlaps \(old.number)")
            }
            if new.purchased < old.purchased { wrong.append("\(new.number) was bought before \(old.number)") }
        }
        if subscription.current != all.last?.number { wrong.append("current is not the newest") }
        if subscription.expires != all.last?.subscription?.expires { wrong.append("ends at another time") }
        let isRunning = now < subscription.expires
        switch subscription.state {
        case .active: if !isRunning { wrong.append("active after its end") }
        case .gracePeriod:
            if isRunning || now >= (subscription.graceExpires ?? now) { wrong.append("grace out of time") }
        case .billingRetry:
            if isRunning || now >= (subscription.retryUntil ?? now) { wrong.append("retry out of time") }
        case .expired: if isRunning || subscription.expirationIntent == nil { wrong.append("expired too early") }
        case .revoked: if all.last?.revocation == nil { wrong.append("revoked without a refund") }
        }
        if let status = notified.last?.status, status != subscription.state.status {
            wrong.append("status \(status) was told last, it is \(subscription.state)")
        }
        if let next = subscription.nextDate, next < now { wrong.append("its next date has passed") }
        let counts = Dictionary(
            grouping: notified.filter { Self.tellsOfPeriod.contains($0.name) }, by: { $0.transactionID ?? "" })
        for transaction in all where counts[transaction.id.text]?.count != 1 {
            wrong.append("\(transaction.number) is told \(counts[transaction.id.text]?.count ?? 0) times")
        }
        if counts.count != all.count { wrong.append("periods are told that there are not") }
        if notified.map(\.at) != notified.map(\.at).sorted() { wrong.append("told out of order") }
        return wrong
    }

    private struct SeededRandom {
        private var state: UInt64
        init(_ seed: UInt64) { state = seed &* 0xD129_0A4B_2F63_91C5 | 1 }
        mutating func draw(_ sides: UInt64) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int((state >> 20) % sides)
        }
    }

    private func step(_ world: SubscribedWorld, _ original: Int64, _ random: inout SeededRandom) async throws -> String
    {
        let products = SubscribedWorld.products.map(\.id.text)
        let act = random.draw(13)
        switch act {
        case 0...2:
            let product = products[random.draw(UInt64(products.count))]
            return "buy \(product): \(try await world.buy(product))"
        case 3: return "cancel \(try await world.store.cancelSubscription(original).map(\.state))"
        case 4: return "resume \(try await world.store.resumeSubscription(original).map(\.state))"
        case 5: return "fail \(try await world.store.failBilling(original).map(\.state))"
        case 6: return "recover \(try await world.store.recover(original).map(\.state))"
        case 7:
            try await world.setPayment(works: random.draw(3) > 0)
            return "payment"
        case 8 where random.draw(4) == 0:
            let current = try await world.subscription(original).current
            return "refund \(try await world.store.refund(current).map(\.number))"
        case 9: return "extend \(try await world.store.extendSubscription(original, days: 7).map(\.expires))"
        case 10:
            let old = try await world.subscription(original).renewalPrice?.amount ?? 0
            let price = SubscribedWorld.dollars(old + Int64(random.draw(900)))
            return "raise \(try await world.store.raisePrice(of: original, to: price).map(\.state))"
        case 11:
            let accepts = random.draw(3) > 0
            return "consent \(try await world.store.answerPriceIncrease(original, accepts: accepts).map(\.state))"
        default:
            return "offer \(try await world.buy("basic.monthly", offer: try await world.promotional("half")))"
        }
    }

    @Test(
        "Whatever a customer, a bank and a developer do, periods, states and notifications agree",
        arguments: [UInt64(1), 2])
    func walk(_ seed: UInt64) async throws { try await walkAbout(seed) }

    @Test("They also agree on four more random walks", .slow, arguments: [UInt64(3), 4, 5, 6])
    func walks(_ seed: UInt64) async throws { try await walkAbout(seed) }

    private func walkAbout(_ seed: UInt64) async throws {
        let world = try await SubscribedWorld(start: "2027-12-31T23:30:00.000Z", seed: seed) {
            $0.billingGracePeriod = seed % 2 == 0 ? BillingGracePeriod(.sixteen) : nil
        }
        let original = try await world.bought("basic.monthly").number
        var random = SeededRandom(seed)
        for count in 0..<120 {
            let act = try await step(world, original, &random)
            try #require(try await violations(world, original) == [], "seed \(seed), step \(count): \(act)")
            // Some steps are an hour apart, some two months.
            world.advance(seconds: Int64(random.draw(3) == 0 ? random.draw(5_000_000) : random.draw(800_000)))
            _ = try await world.store.subscription(original)
            try #require(try await violations(world, original) == [], "seed \(seed), after step \(count): \(act)")
        }
        #expect(try await world.transactions().count > 8)
        #expect(try await world.notified(original: original).count > 30)
        await world.remove()
    }

    /// Twenty customers with random actions; then only time passes.
    private func crowd(_ adjust: (inout EmulatorConfiguration) -> Void) async throws -> SubscribedWorld {
        let world = try await SubscribedWorld(seed: 9, adjust)
        let products = SubscribedWorld.products.map(\.id.text)
        for index in 0..<20 {
            let account = "a\(index)"
            let first = try await world.bought(products[index % products.count], account: account)
            world.advance(seconds: 4_000)
            switch index % 5 {
            case 1: _ = try await world.store.cancelSubscription(first.number).get()
            case 2: try await world.setPayment(works: false, account: account)
            case 3: _ = try await world.store.raisePrice(of: first.number, to: SubscribedWorld.dollars(20_000))
            case 4: _ = try await world.buy("light.weekly", account: account)
            default: break
            }
        }
        return world
    }

    private func outcome(_ world: SubscribedWorld) async throws -> (
        [StoreTransaction], [SubscribedWorld.NotifiedEvent], [StoreSubscription]
    ) {
        var all: [StoreTransaction] = []
        for index in 0..<20 { all += try await world.transactions(account: "a\(index)") }
        return (all, try await world.notified(), try await world.store.subscriptions(limit: 100))
    }

    @Test("A year in one advance, day by day, and with a restart in the middle are the same year")
    func jump() async throws {
        let adjust: (inout EmulatorConfiguration) -> Void = { $0.billingGracePeriod = BillingGracePeriod(.three) }
        let jumping = try await crowd(adjust)
        jumping.advance(days: 400)
        let jumped = try await outcome(jumping)
        #expect(jumped.0.count > 150)
        #expect(jumped.1.count > jumped.0.count)

        let walking = try await crowd(adjust)
        for _ in 0..<400 {
            walking.advance(days: 1)
            _ = try await walking.store.subscriptions(limit: 1)
        }
        let walked = try await outcome(walking)
        #expect(walked.0 == jumped.0)
        #expect(walked.1 == jumped.1)
        #expect(walked.2 == jumped.2)

        var stopping = try await crowd(adjust)
        stopping.advance(days: 133)
        _ = try await stopping.store.subscriptions(limit: 1)
        stopping = try await stopping.reopened(adjust)
        stopping.advance(days: 267)
        let stopped = try await outcome(stopping)
        #expect(stopped.0 == jumped.0)
        #expect(stopped.1 == jumped.1)
        #expect(stopped.2 == jumped.2)
        for world in [jumping, walking, stopping] { await world.remove() }
    }

    @Test("The pace is stored in the store and outlives a restart")
    func pace() async throws {
        var world = try await SubscribedWorld { $0.renewalPace = .monthInOneHour }
        #expect(try await world.store.ask { try RenewalPace.current($0) } == .monthInOneHour)
        try await world.store.change { try RenewalPace.set(.everyMinute, $0.connection) }
        world = try await world.reopened { $0.renewalPace = .monthInOneHour }
        #expect(try await world.store.ask { try RenewalPace.current($0) } == .everyMinute)
        let first = try await world.bought("basic.annual")
        #expect(first.subscription?.expires == first.purchased.adding(seconds: 60))
        await world.remove()
    }
}
