import Testing
import TillBilling

@testable import TillEmulator

@Suite("The rules of subscriptions, one decision at a time (C7)")
struct SubscriptionRuleTests {
    @Test("A change of plan takes effect now or at the renewal, by level and period (facts/business-rules §8.2)")
    func planChanges() {
        let table: [(Int64, SubscriptionPeriod, Int64, SubscriptionPeriod, PlanChange)] = [
            (2, .month, 1, .month, .now),
            (2, .month, 1, .year, .now),
            (2, .month, 2, .month, .now),
            (2, .month, 2, .year, .atRenewal),
            (2, .year, 2, .month, .atRenewal),
            (1, .month, 2, .month, .atRenewal),
            (1, .month, 2, .year, .atRenewal),
            (3, .week, 2, .month, .now),
        ]
        for (level, period, newLevel, newPeriod, expected) in table {
            let old = SubscriptionTerms(groupID: "g", level: level, period: period)
            let new = SubscriptionTerms(groupID: "g", level: newLevel, period: newPeriod)
            #expect(PlanChange(from: old, to: new) == expected, "\(level) \(period) → \(newLevel) \(newPeriod)")
        }
    }

    @Test(
        "Renewals keep the billing day over short months and leap years",
        arguments: [
            (
                "2026-01-31T10:00:00.000Z", OfferPeriod(1, .month),
                ["2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"]
            ),
            ("2028-01-30T10:00:00.000Z", OfferPeriod(1, .month), ["2028-02-29", "2028-03-30"]),
            ("2026-12-31T10:00:00.000Z", OfferPeriod(2, .month), ["2027-02-28", "2027-04-30", "2027-06-30"]),
            (
                "2028-02-29T10:00:00.000Z", OfferPeriod(1, .year),
                ["2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"]
            ),
            ("2026-08-31T10:00:00.000Z", OfferPeriod(6, .month), ["2027-02-28", "2027-08-31"]),
            ("2026-02-26T10:00:00.000Z", OfferPeriod(1, .week), ["2026-03-05", "2026-03-12"]),
        ])
    func billingDays(_ start: String, _ period: OfferPeriod, _ ends: [String]) throws {
        var moment = try #require(Instant(rfc3339: start))
        let day = moment.dayOfMonth
        for end in ends {
            moment = period.end(from: moment, billingDay: day)
            #expect(moment.rfc3339 == end + "T10:00:00.000Z")
        }
    }

    @Test("Each pace has the lengths of its table (facts/business-rules §8.5)")
    func paces() {
        let start = Instant(seconds: 0)
        let table: [(RenewalPace, [Int64], grace: (Int64, Int64), retry: Int64)] = [
            (.monthInThirtySeconds, [10, 30, 60, 90, 180, 360], (9_000, 15_000), 60),
            (.monthInFiveMinutes, [180, 300, 600, 900, 1_800, 3_600], (154_000, 150_000), 600),
            (.monthInFifteenMinutes, [300, 900, 1_800, 2_700, 5_400, 10_800], (257_000, 450_000), 1_800),
            (.monthInThirtyMinutes, [600, 1_800, 3_600, 5_400, 10_800, 21_600], (514_000, 900_000), 3_600),
            (.monthInOneHour, [900, 3_600, 7_200, 10_800, 21_600, 43_200], (771_000, 1_800_000), 7_200),
            (.everyTenSeconds, [10, 10, 10, 10, 10, 10], (5_000, 5_000), 20),
        ]
        for (pace, lengths, grace, retry) in table {
            for (period, length) in zip(SubscriptionPeriod.allCases, lengths) {
                let end = pace.end(of: OfferPeriod(period), from: start, billingDay: 1)
                #expect(end.seconds == length, "\(pace) \(period)")
                #expect(pace.lead.upperBound < length * 1_000)
            }
            let configured = BillingGracePeriod(.sixteen)
            #expect(pace.grace(configured, weekly: true) == grace.0)
            #expect(pace.grace(configured, weekly: false) == grace.1)
            #expect(pace.retry == retry * 1_000)
            #expect(pace.renewalLimit == 12)
        }
        #expect(RenewalPace.monthInFiveMinutes.end(of: OfferPeriod(3, .day), from: start, billingDay: 1).seconds == 78)
        #expect(RenewalPace.real.lead == 300_000...86_400_000)
        #expect(RenewalPace.real.renewalLimit == nil)
        #expect(RenewalPace.real.grace(BillingGracePeriod(.twentyEight), weekly: true) == 6 * 86_400_000)
        #expect(RenewalPace.real.grace(BillingGracePeriod(.three), weekly: true) == 3 * 86_400_000)
        #expect(RenewalPace.real.grace(BillingGracePeriod(.twentyEight), weekly: false) == 28 * 86_400_000)
    }

    @Test("An increase needs consent over half, over five dollars (fifty a year), or twice within a year")
    func consent() {
        let day: Int64 = 86_400
        let table: [(Int64, Int64, String, SubscriptionPeriod, Int64?, Bool)] = [
            (999, 1_299, "USD", .month, nil, false),
            (999, 1_498, "USD", .month, nil, false),
            (999, 1_499, "USD", .month, nil, true),
            (1_999, 2_499, "USD", .month, nil, false),
            (1_999, 2_500, "USD", .month, nil, true),
            (19_999, 24_999, "USD", .year, nil, false),
            (19_999, 25_000, "USD", .year, nil, true),
            (999, 1_099, "USD", .month, 364, true),
            (999, 1_099, "USD", .month, 365, false),
            (10_000, 13_500, "CNY", .month, nil, false),
            (10_000, 13_501, "CNY", .month, nil, true),
            (10_000, 15_000, "SEK", .month, nil, false),
            (10_000, 15_001, "SEK", .month, nil, true),
        ]
        let now = Instant(seconds: 1_000 * day)
        for (old, new, currency, period, ago, expected) in table {
            let needs = PriceIncrease.needsConsent(
                from: Money(amount: old, currency: Currency(currency)),
                to: Money(amount: new, currency: Currency(currency)), period: period,
                last: ago.map { now.adding(seconds: -$0 * day) }, now: now)
            #expect(needs == expected, "\(old) → \(new) \(currency) \(period)")
        }
        #expect(
            PriceIncrease.needsConsent(
                from: Money(amount: 0, currency: Currency("USD")), to: Money(amount: .max, currency: Currency("USD")),
                period: nil, last: nil, now: now))
    }

    @Test("The conditions decide whether a renewal is charged, fails or ends the subscription")
    func renewals() {
        let usd = Currency("USD")
        func money(_ cents: Int64) -> Money { Money(amount: cents, currency: usd) }
        var plain = StoreSubscription(
            original: 1, account: "a", bundleID: "b", groupID: "g", state: .active, productID: ProductID("p"),
            current: 1, expires: Instant(seconds: 1_000), billingDay: 1, renews: true,
            renewalProductID: ProductID("p"), renewalPrice: money(500), recentStart: Instant(seconds: 0),
            eligibleWinBacks: [], renewals: 3, extensions: [], billingFails: false, monthlyBilling: false)
        let normal = Renewal.Circumstances(listPrice: money(500), paymentWorks: true)
        #expect(Renewal.decide(plain, normal) == .charged(money(500)))
        var changed = normal
        changed.listPrice = money(700)
        #expect(Renewal.decide(plain, changed) == .charged(money(500)), "who subscribes keeps the price")
        changed.listPrice = money(300)
        #expect(Renewal.decide(plain, changed) == .charged(money(300)), "lower prices are for all")
        changed.listPrice = Money(amount: 3_000, currency: Currency("CNY"))
        #expect(Renewal.decide(plain, changed) == .charged(Money(amount: 3_000, currency: Currency("CNY"))))
        changed.listPrice = nil
        #expect(Renewal.decide(plain, changed) == .over(.productNotForSale))
        #expect(Renewal.decide(plain, Renewal.Circumstances(listPrice: money(5), paymentWorks: false)) == .failed)
        changed = normal
        changed.isAccountDeleted = true
        #expect(Renewal.decide(plain, changed) == .over(.other))
        changed = normal
        changed.renewalLimit = 3
        #expect(Renewal.decide(plain, changed) == .over(.other))
        changed.renewalLimit = 4
        #expect(Renewal.decide(plain, changed) == .charged(money(500)))
        plain.priceIncrease = StoreSubscription.PriceIncrease(
            price: money(900), effective: Instant(seconds: 1_000), needsConsent: true, isAccepted: false)
        #expect(Renewal.decide(plain, normal) == .over(.priceIncrease))
        plain.priceIncrease?.isAccepted = true
        #expect(Renewal.decide(plain, normal) == .charged(money(900)))
        plain.priceIncrease?.effective = Instant(seconds: 1_001)
        #expect(Renewal.decide(plain, normal) == .charged(money(500)), "not yet")
        plain.billingFails = true
        #expect(Renewal.decide(plain, normal) == .failed)
    }

    @Test("Billing is retried until the sixtieth day, and never after it")
    func attempts() {
        let expired = Instant(seconds: 0)
        let end = Instant(seconds: 60 * 86_400)
        var moment: Instant? = expired
        var days: [Int64] = []
        while let last = moment, days.count < 100 {
            moment = BillingRetry.nextAttempt(after: last, expired: expired, until: end)
            if let moment { days.append(moment.seconds / 86_400) }
        }
        #expect(days == BillingRetry.days)
    }
}
