import Testing
import TillBilling

/// Random purchases: of both scopes, of trials, of several units, paid in full, in part, not at all or in another
/// currency; with and without previews.
enum PlanSequence {
    static func random(_ generator: inout SeededGenerator, count: Int) -> [PlanPurchase] {
        var at = CloudPlans.start
        return (0..<count).map { number in
            let isSoon = Bool.random(using: &generator)
            at = at.adding(milliseconds: .random(in: 0...(isSoon ? 90_000_000 : 3_000_000_000), using: &generator))
            return purchase(&generator, at: at, number: number)
        }
    }

    static func purchase(_ generator: inout SeededGenerator, at: Instant, number: Int) -> PlanPurchase {
        let name = ["BM", "BM", "BA", "PM", "PM", "PA", "T"].randomElement(using: &generator) ?? "BM"
        let scope: PlanScope = name == "PA" ? .account : .device
        guard let plan = CloudPlans.plan(name, scope: scope) else { preconditionFailure("no plan \(name)") }
        let paid: Money? =
            switch Int.random(in: 0...5, using: &generator) {
            case 0: Money(amount: .random(in: 0...5_000, using: &generator), currency: CloudPlans.dollar)
            case 1: Money(amount: 4_800, currency: Currency("CNY"))
            default: nil
            }
        let previewed = Int.random(in: 0...3, using: &generator) == 0
        return PlanPurchase(
            plan: plan, quantity: .random(in: 1...3, using: &generator), paid: paid, at: at,
            previewedAt: previewed ? at.adding(seconds: -Int64.random(in: -60...100_000, using: &generator)) : nil,
            deviceID: (["a", "b", "c", "d", nil].randomElement(using: &generator) ?? nil).map(DeviceID.init),
            transactionID: TransactionID("\(1_000 + number)"))
    }
}

/// The same calculation, done slowly and simply, in milliseconds and cents.
private struct PlainService {
    struct Stretch {
        let start: Int64
        let end: Int64
        /// Cents per millisecond.
        let rate: Fraction

        func value(at now: Int64) -> Fraction { rate * Fraction(UInt64(max(0, end - max(start, now)))) }
    }

    struct Timeline {
        let plan: PlanID
        let isForAccount: Bool
        let device: DeviceID?
        var stretches: [Stretch]

        var end: Int64 { stretches.map(\.end).max() ?? 0 }
    }

    private var timelines: [Timeline] = []

    init(_ purchases: [PlanPurchase]) {
        for purchase in PlanPurchase.counted(purchases) where !purchase.plan.isFree { buy(purchase) }
    }

    private mutating func buy(_ purchase: PlanPurchase) {
        let (plan, now) = (purchase.plan, purchase.at.milliseconds)
        let isForAccount = plan.scope == .account
        let device = isForAccount ? nil : purchase.deviceID
        let bought = UInt64(plan.length.seconds * Int64(purchase.quantity)) * 1_000
        let rate = Fraction(UInt64(purchase.worth.amount), over: bought)
        timelines.removeAll { $0.end <= now }
        func isThere(_ timeline: Timeline) -> Bool {
            timeline.isForAccount == isForAccount && timeline.device == device
        }
        let others = timelines.filter { $0.plan != plan.id && (isForAccount || isThere($0)) }
        let own = timelines.first { $0.plan == plan.id && isThere($0) }
        timelines.removeAll { ($0.plan != plan.id && isForAccount) || isThere($0) }
        var timeline = own ?? Timeline(plan: plan.id, isForAccount: isForAccount, device: device, stretches: [])
        let balance = others.flatMap(\.stretches).reduce(Fraction.zero) { $0 + $1.value(at: now) }
        let second = Fraction(UInt64(plan.price.amount), over: UInt64(plan.length.seconds))
        let seconds = balance.divided(by: second)?.roundedUp.uint64 ?? 0
        let begin = own?.end ?? now
        let start = begin + Int64(seconds) * 1_000
        timeline.stretches += [
            Stretch(start: begin, end: start, rate: second * Fraction(1, over: 1_000)),
            Stretch(start: start, end: start + Int64(bought), rate: rate),
        ]
        timelines.append(timeline)
    }

    /// `plan end devices`, sorted.
    func held(at now: Instant) -> [String] {
        timelines.filter { $0.end > now.milliseconds }.map {
            "\($0.plan) \($0.end) \($0.isForAccount ? "all" : $0.device?.text ?? "")"
        }.sorted()
    }
}

@Suite("Over any sequence of purchases, changes, refunds and reinstatements") struct PlanPropertyTests {
    private func value(_ service: Service, at now: Instant) -> Fraction {
        service.current(at: now).reduce(.zero) { $0 + $1.value(at: now) }
    }

    private func held(_ service: Service, at now: Instant) -> [String] {
        service.activePlans(at: now).filter { !$0.plan.isFree }.map {
            "\($0.plan.id) \($0.expiresAt.milliseconds) \($0.deviceIDs?.map(\.text).joined(separator: " ") ?? "all")"
        }.sorted()
    }

    @Test("Each purchase does what its preview said, and value is conserved to within a second of service (C5, C6)")
    func conservation() throws {
        var generator = SeededGenerator(state: 31)
        var conversions = 0
        for _ in 0..<60 {
            var service = Service()
            for purchase in PlanPurchase.counted(PlanSequence.random(&generator, count: 14)) {
                let now = purchase.at
                let before = value(service, at: now)
                let stated = service.proration(
                    to: purchase.plan, quantity: purchase.quantity, device: purchase.deviceID, at: now)
                service.buy(purchase)
                let had = before + Fraction(UInt64(purchase.plan.isFree ? 0 : purchase.worth.amount))
                let has = value(service, at: now)
                let second = purchase.plan.dailyPrice * Fraction(1, over: 86_400)
                #expect(has >= had && (has == had || has < had + second))
                #expect(stated.expiresAt > now && stated.current.allSatisfy { $0.milliseconds > 0 })
                #expect(service.end(of: try #require(purchase.transactionID)) == stated.expiresAt)
                let activePlans = service.activePlans(at: now)
                #expect(activePlans.allSatisfy { $0.expiresAt > now && $0.since <= now })
                #expect(
                    activePlans.contains {
                        $0.plan.id == purchase.plan.id && $0.expiresAt == stated.expiresAt
                            && $0.deviceIDs == stated.coverage.deviceIDs
                    })
                if !stated.convertedBalance.isZero { conversions += 1 }
            }
        }
        #expect(conversions > 150)
    }

    @Test("In any order, refunds leave the state without the purchase, and reinstatements the state before (C5, U5)")
    func takenBack() throws {
        var generator = SeededGenerator(state: 32)
        for _ in 0..<40 {
            let all = PlanSequence.random(&generator, count: 10)
            var standing = Set(all.indices)
            var arrived: [PlanPurchase] = []
            for _ in 0..<6 {
                // One purchase is refunded or reinstated, and the ledger gets its purchases in a different order each
                // time.
                standing.formSymmetricDifference([Int.random(in: all.indices, using: &generator)])
                arrived = all.indices.filter(standing.contains).map { all[$0] }.shuffled(using: &generator)
                let never = all.enumerated().filter { standing.contains($0.offset) }.map(\.element)
                let (service, same, plain) = (Service(arrived), Service(never), PlainService(never))
                let last = PlanPurchase.counted(never).last?.at ?? CloudPlans.start
                for later: Int64 in [0, 20, 200] {
                    let now = last.adding(seconds: later * 86_400)
                    #expect(held(service, at: now) == plain.held(at: now))
                    #expect(service.activePlans(at: now) == same.activePlans(at: now))
                }
            }
            let again = Service(all.shuffled(using: &generator))
            let last = try #require(PlanPurchase.counted(all).last?.at)
            #expect(held(again, at: last) == PlainService(all).held(at: last) && !held(again, at: last).isEmpty)
        }
    }
}
