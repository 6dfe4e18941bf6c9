import Testing
import TillBilling

/// Conversions as a table; the figures come from the formula of C5 in another exact arithmetic.
@Suite("Proration converts the remainder of plans into time of another plan") struct ProrationTests {
    /// plans in service: plan, price paid in dollars, age | purchase | balance in cents | seconds carried over | kind
    /// of change
    static let table = """
        BM 2.99 15d                                | PM   | 299/2                | 554370   | upgrade
        PM 6.99 10d                                | BM   | 466                  | 4039706  | downgrade
        PM 3.49 3d                                 | BM   | 3141/10              | 2722901  | downgrade
        BM 2.99 15d                                | BM   | 299/2                | 1296000  | extend
        BM 1.00 15d                                | BM   | 50                   | 1296000  | extend
        BM 0 15d                                   | BM   | 0                    | 1296000  | extend
        BM 2.99 29d+86399s                         | BM   | 299/2592000          | 1        | extend
        BM 2.99 30d-1ms                            | BM   | 299/2592000000       | 1        | extend
        BM 2.99 7d+3s                              | BA   | 198057301/864000     | 2410501  | change
        BA 29.99 65d                               | BM   | 179940/73            | 21368236 | change
        BM 2.99 10d, PM 6.99 20d                   | PM   | 1297/3               | 1603159  | upgrade
        PM 6.99 20d, BM 2.99 10d                   | PM   | 1297/3               | 1603159  | upgrade
        BA 29.99 0d, BA 29.99 5d, BA 29.99 100d+1s | PM   | 256522461001/31536000 | 30163145 | upgrade
        PA 69.99 1d                                | BM   | 2547636/365          | 60507377 | downgrade
        BM 0 5d                                    | PM   | 0                    | 0        | upgrade
        T 0 5d                                     | PM   | 0                    | 0        | start
        T 0 5d                                     | T    | 0                    | 172800   | extend
        BM 2.99 5d                                 | T    | 0                    | 0        | start
        BM 2.99 30d                                | PM   | 0                    | 0        | start
        BM 2.99 300d                               | PM   | 0                    | 0        | start
        BM 2.99 30d-1s                             | PM   | 299/2592000          | 1        | upgrade
        BM 2.99 30d-1ms                            | PM   | 299/2592000000       | 1        | upgrade
        none                                       | PA   | 0                    | 0        | start
        """

    @Test(
        "Each row of the table: seconds are exact and rounded up once, at the end (C4, C5)",
        arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let cells = row.split(separator: "|").map { $0.trimmed }
        try #require(cells.count == 5)
        let at = CloudPlans.start
        let proration = try Proration(of: current(cells[0], at), to: #require(CloudPlans.plan(cells[1])), at: at)
        #expect("\(proration.balance)" == cells[2])
        #expect("\(proration.carriedSeconds)" == cells[3])
        #expect(proration.change.rawValue == cells[4])
        #expect(proration.boughtSeconds == proration.plan.length.seconds)
        let exact = proration.keptMilliseconds + (proration.convertedSeconds + proration.boughtSeconds) * 1_000
        #expect(proration.expiresAt.milliseconds == at.milliseconds + exact)
        #expect((0..<1_000).contains(proration.carriedSeconds * 1_000 - (exact - proration.boughtSeconds * 1_000)))
    }

    private func current(_ cell: String, _ at: Instant) throws -> [ServicePeriod] {
        try cell.split(separator: ",").map(\.trimmed).filter { $0 != "none" }.enumerated().map { number, text in
            let words = text.split(separator: " ")
            try #require(words.count == 3)
            let paid = try #require(Money(decimal: words[1], currency: CloudPlans.dollar))
            let start = at.adding(milliseconds: -(try #require(CloudPlans.milliseconds(words[2]))))
            let plan = try #require(CloudPlans.plan(String(words[0])))
            return ServicePeriod(
                PlanPurchase(plan: plan, paid: paid, at: start, deviceID: DeviceID("camera \(number)")), from: start)
        }
    }

    @Test("A conversion creates less than one second of value and destroys none, for any plans (C5)")
    func conservation() throws {
        var generator = SeededGenerator(state: 5)
        var conversions = 0
        for _ in 0..<600 {
            let current = try Self.random(&generator)
            let plan = try #require(CloudPlans.plan(CloudPlans.names.randomElement(using: &generator) ?? ""))
            let proration = Proration(of: current, to: plan, at: CloudPlans.start)
            let second = plan.dailyPrice * Fraction(1, over: 86_400)
            let given = second * Fraction(UInt64(proration.convertedSeconds))
            #expect(given >= proration.convertedBalance && given < proration.convertedBalance + second)
            if !proration.convertedBalance.isZero { conversions += 1 }
        }
        #expect(conversions > 300)
    }

    @Test("The order in which devices are listed changes nothing (C5)")
    func order() throws {
        var generator = SeededGenerator(state: 9)
        for _ in 0..<200 {
            let current = try Self.random(&generator)
            let plan = try #require(CloudPlans.plan("PM"))
            let one = Proration(of: current, to: plan, at: CloudPlans.start)
            let two = Proration(of: current.shuffled(using: &generator), to: plan, at: CloudPlans.start)
            #expect(one.balance == two.balance && one.expiresAt == two.expiresAt && one.change == two.change)
        }
    }

    @Test("At list price, the balance of the same plan buys exactly its remaining time (C5)")
    func samePlan() throws {
        for name in CloudPlans.names {
            let plan = try #require(CloudPlans.plan(name))
            for age: Int64 in [0, 1, 86_401_003, 1_234_567_891] {
                let start = CloudPlans.start.adding(milliseconds: -age)
                let period = ServicePeriod(PlanPurchase(plan: plan, paid: plan.price, at: start), from: start)
                let days = period.value(at: CloudPlans.start).divided(by: plan.dailyPrice)
                #expect(
                    days == Fraction(UInt64(period.remaining(at: CloudPlans.start)), over: 86_400_000))
            }
        }
    }

    private static func random(_ generator: inout SeededGenerator) throws -> [ServicePeriod] {
        try (0..<Int.random(in: 0...6, using: &generator)).map { number in
            let plan = try #require(CloudPlans.plan(CloudPlans.names.randomElement(using: &generator) ?? ""))
            let most = plan.length.seconds * 1_100
            let start = CloudPlans.start.adding(milliseconds: -Int64.random(in: 0...most, using: &generator))
            let paid = Money(amount: .random(in: 0...10_000, using: &generator), currency: CloudPlans.dollar)
            return ServicePeriod(
                PlanPurchase(
                    plan: plan, quantity: .random(in: 1...10, using: &generator), paid: paid, at: start,
                    deviceID: DeviceID("\(number)")), from: start)
        }
    }

    @Test("The explanation shows the numbers of the calculation in both languages (C6)")
    func explanation() throws {
        let at = CloudPlans.start.adding(seconds: 15 * 86_400)
        let basic = try #require(CloudPlans.plan("BM"))
        let period = ServicePeriod(
            PlanPurchase(plan: basic, paid: nil, at: CloudPlans.start, deviceID: DeviceID("camera 1")),
            from: CloudPlans.start)
        let proration = Proration(of: [period], to: try #require(CloudPlans.plan("PM")), at: at)
        #expect(
            proration.explanation.map(\.en) == [
                "basic_monthly (camera 1): 2.99 USD × 15 d ÷ 30 d = 1.495 USD", "Balance = 1.495 USD",
                "premium_monthly: 6.99 USD ÷ 30 d = 0.233 USD a day",
                "Converted: 1.495 USD ÷ 0.233 USD a day ≈ 6.416309 d; rounded up to a second: 6 d 9 h 59 min 30 s",
                "Bought at 2026-01-16T00:00:00.000Z for 6.99 USD: 6 d 9 h 59 min 30 s converted + 30 d bought, "
                    + "until 2026-02-21T09:59:30.000Z",
                "Each day later the balance is 0.099667 USD less, until 2026-01-31T00:00:00.000Z",
            ])
        #expect(
            proration.explanation.map(\.zh) == [
                "套餐 basic_monthly（camera 1）：2.99 USD × 15 天 ÷ 30 天 = 1.495 USD", "余额 = 1.495 USD",
                "套餐 premium_monthly：6.99 USD ÷ 30 天 = 0.233 USD/天",
                "折算：1.495 USD ÷ 0.233 USD/天 ≈ 6.416309 天；向上取整到秒：6 天 9 小时 59 分 30 秒",
                "于 2026-01-16T00:00:00.000Z 以 6.99 USD 购买：折算 6 天 9 小时 59 分 30 秒 + 购买 30 天，"
                    + "到期时间 2026-02-21T09:59:30.000Z",
                "每晚一天购买，余额减少 0.099667 USD，直到 2026-01-31T00:00:00.000Z",
            ])
        let again = Proration(of: [period], to: basic, at: at.adding(milliseconds: 1))
        #expect(again.explanation[0].en.contains("14 d 23 h 59 min 59.999 s ÷ 30 d ≈ 1.495 USD; the same plan"))
        #expect(again.explanation.last?.en == "Bought later, nothing of the balance is lost by waiting")
        let first = Proration(of: [], to: basic, at: at).explanation
        #expect(first.map(\.en).first == "Nothing is converted: balance 0" && first.count == 3)
    }

    @Test("Absurd prices, dates and counts neither trap nor promise anything after the year 9999")
    func absurd() throws {
        let end = "9999-12-31T23:59:59.999Z"
        let cheap = try #require(Plan(soldBy: CloudPlans.product("cheap", 1, "P3650D", "cheap")))
        let dear = try #require(Plan(soldBy: CloudPlans.product("dear", .max, "P1D", "dear")))
        for at in [Int64.min, -1, 0, 1_767_225_600_000, 253_402_300_799_999, .max].map(Instant.init(milliseconds:)) {
            let periods = [dear, cheap].map { plan in
                ServicePeriod(PlanPurchase(plan: plan, quantity: 10, paid: nil, at: at), from: at)
            }
            let proration = Proration(of: periods + periods, to: cheap, quantity: 10, at: at)
            #expect(proration.expiresAt >= at && proration.price.amount == 10)
            #expect(proration.explanation.count >= 3)
            if at.milliseconds == 0 { #expect(proration.expiresAt.rfc3339 == end) }
            _ = Proration(of: periods, to: dear, quantity: 10, at: Instant(milliseconds: .max)).explanation
        }
        let refunded = PlanPurchase(
            plan: cheap, paid: Money(amount: -5, currency: CloudPlans.dollar), at: CloudPlans.start)
        #expect(refunded.worth.amount == 0)
    }
}
