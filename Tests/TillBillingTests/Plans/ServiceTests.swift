import Foundation
import Testing
import TillBilling

@Suite("The service of an account is computed from its purchases") struct ServiceTests {
    private func purchase(
        _ name: String, day: Int64, paid: Money? = nil, device: String? = nil, quantity: Int = 1
    ) throws -> PlanPurchase {
        PlanPurchase(
            plan: try #require(CloudPlans.plan(name)), quantity: quantity, paid: paid,
            at: CloudPlans.start.adding(seconds: day * 86_400), deviceID: device.map(DeviceID.init),
            transactionID: TransactionID("\(name)\(day)"))
    }

    private func day(_ day: Int64, plus seconds: Int64 = 0) -> Instant {
        CloudPlans.start.adding(seconds: day * 86_400 + seconds)
    }

    /// `plan since–until by transaction`, in days and seconds after the first of January.
    private func held(_ service: Service, day number: Int64) -> [String] {
        func text(_ instant: Instant) -> String {
            let seconds = (instant.milliseconds - CloudPlans.start.milliseconds) / 1_000
            let (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
            return rest == 0 ? "\(days)" : "\(days)+\(rest)s"
        }
        return service.activePlans(at: day(number)).map {
            "\($0.plan.id) \(text($0.since))–\(text($0.expiresAt)) \($0.transactionID?.text ?? "")"
        }
    }

    @Test("Purchases of one plan add up, bought on any device; a gap starts anew (C11)")
    func stacking() throws {
        let service = try Service([
            purchase("BM", day: 0, device: "a"), purchase("BM", day: 10, device: "b"),
            purchase("BM", day: 59, device: "a", quantity: 2), purchase("BM", day: 200),
        ])
        #expect(held(service, day: 201) == ["basic_monthly 200–230 BM200"])
        let earlier = try Service([
            purchase("BM", day: 0), purchase("BM", day: 10), purchase("BM", day: 59, quantity: 2),
        ])
        #expect(held(earlier, day: 60) == ["basic_monthly 0–120 BM59"])
        #expect(held(earlier, day: 120).isEmpty)
        let periods = try Service([purchase("BM", day: 0, device: "a"), purchase("BM", day: 10, device: "b")]).current(
            at: day(10))
        #expect(periods.map(\.deviceID) == [DeviceID("a"), DeviceID("b")])
        #expect(periods.map { $0.remaining(at: day(10)) / 86_400_000 } == [20, 30])
    }

    @Test("Another plan converts the remainder of all devices together, and adds its own time (C5)")
    func conversion() throws {
        let service = try Service([
            purchase("BM", day: 0, device: "a"), purchase("BM", day: 0, device: "b"), purchase("PM", day: 15),
        ])
        // 45 days of 299/30 cents, at 699/30: 19 days and 21507.7 seconds.
        #expect(held(service, day: 16) == ["premium_monthly 15–64+21508s PM15"])
        // On the tenth day after that, 39 days remain and have their value.
        let back = service.current(at: day(25)).reduce(Fraction.zero) { $0 + $1.value(at: day(25)) }
        #expect(back == Fraction(699, over: 30) * Fraction(UInt64(39 * 86_400 + 21_508), over: 86_400))
    }

    @Test("A trial ends beside paid service: it has no value and is not converted (C5)")
    func trial() throws {
        let service = try Service([purchase("BM", day: 0), purchase("T", day: 3), purchase("T", day: 5)])
        #expect(held(service, day: 6) == ["basic_monthly 0–30 BM0", "trial 3–17 T5"])
        let paid = try Service([purchase("T", day: 0), purchase("PM", day: 2)])
        #expect(held(paid, day: 3) == ["premium_monthly 2–32 PM2", "trial 0–7 T0"])
    }

    @Test("A payment in the base currency counts; in another one the list price does, and zero counts as zero (C5)")
    func worth() throws {
        let yuan = Currency("CNY")
        let table: [(paid: Money?, worth: Int64)] = [
            (nil, 598), (Money(amount: 400, currency: CloudPlans.dollar), 400),
            (Money(amount: 3_600, currency: yuan), 598), (Money(amount: 0, currency: yuan), 0),
            (Money(amount: 0, currency: CloudPlans.dollar), 0),
        ]
        for (paid, worth) in table {
            #expect(try purchase("BM", day: 0, paid: paid, quantity: 2).worth.amount == worth)
        }
    }

    @Test("A refunded purchase has no effect (C5, C11)")
    func takenBack() throws {
        let all = try [purchase("BM", day: 0), purchase("PM", day: 15), purchase("PM", day: 20)]
        #expect(held(Service(all), day: 21) == ["premium_monthly 15–81+35970s PM20"])
        #expect(held(Service([all[0], all[2]]), day: 21) == ["premium_monthly 20–54+23980s PM20"])
        #expect(held(Service([all[0]]), day: 21) == ["basic_monthly 0–30 BM0"])
    }

    @Test("A purchase does what the preview of that moment said, and a conversion creates no value (C6)")
    func preview() throws {
        var generator = SeededGenerator(state: 3)
        var service = Service()
        var at = CloudPlans.start
        for _ in 0..<1_000 {
            at = at.adding(milliseconds: Int64.random(in: 0...3_000_000_000, using: &generator))
            let name = (CloudPlans.names + ["T"]).randomElement(using: &generator) ?? ""
            let plan = try #require(CloudPlans.plan(name))
            let quantity = Int.random(in: 1...3, using: &generator)
            let before = service.current(at: at)
            let stated = Proration(of: before, to: plan, quantity: quantity, at: at)
            service.buy(PlanPurchase(plan: plan, quantity: quantity, paid: nil, at: at))
            let now = service.current(at: at)
            let activePlan = try #require(service.activePlans(at: at).first { $0.plan.id == plan.id })
            #expect(activePlan.expiresAt == stated.expiresAt)
            let had = before.reduce(stated.price.fraction) { $0 + $1.value(at: at) }
            let has = now.reduce(Fraction.zero) { $0 + $1.value(at: at) }
            #expect(has >= had && has <= had + plan.dailyPrice * Fraction(1, over: 86_400))
        }
    }

    @Test("Buying the same plan again before its end adds its time (C5, C11)")
    func sameAgain() throws {
        var generator = SeededGenerator(state: 4)
        for _ in 0..<500 {
            let name = CloudPlans.names.randomElement(using: &generator) ?? ""
            var service = try Service([purchase("PM", day: 0), purchase(name, day: 3)])
            let end = try #require(service.activePlans(at: day(3)).last?.expiresAt)
            let left = end.milliseconds - day(3).milliseconds
            let later = Int64.random(in: 0..<left, using: &generator)
            let at = day(3).adding(milliseconds: later)
            let plan = try #require(CloudPlans.plan(name))
            service.buy(PlanPurchase(plan: plan, paid: nil, at: at))
            #expect(service.activePlans(at: at).last?.expiresAt == end.adding(seconds: plan.length.seconds))
        }
    }

    @Test("Ten thousand purchases are computed quickly")
    func many() throws {
        let plans = try CloudPlans.names.map { try #require(CloudPlans.plan($0)) }
        let purchases: [PlanPurchase] = (0..<10_000).map { number in
            let changes = number % 100 == 0
            return PlanPurchase(
                plan: plans[changes ? number / 100 % 4 : 0], paid: nil,
                at: CloudPlans.start.adding(seconds: Int64(number)), deviceID: DeviceID("\(number % 2)"))
        }
        let began = Date()
        let service = Service(purchases)
        #expect(Date().timeIntervalSince(began) < 10)
        #expect(service.current(at: day(1)).count > 1)
    }
}

extension Money {
    fileprivate var fraction: Fraction { Fraction(UInt64(amount)) }
}
