import Foundation
import Testing
import TillAppStore

@testable import StoreKit

@Suite("A subscription's group, period and offers")
struct SubscriptionOfferTests {
    private static func line(_ offer: Product.SubscriptionOffer) -> String {
        let period = "\(offer.periodCount) x \(offer.period.value) \(offer.period.unit)"
        return "\(offer.id ?? "-") \(offer.type.rawValue) \(offer.paymentMode.rawValue) \(offer.price) \(period)"
    }

    @Test("The yearly membership is the higher one of its group, and has an offer of each kind visible to a phone")
    func sample() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let product = try await phone.product("member.yearly")
            let yearly = try #require(product.subscription)
            let monthly = try #require(try await phone.product("member.monthly").subscription)
            #expect(yearly.subscriptionGroupID == "21000001" && yearly.groupDisplayName == "Membership")
            #expect(yearly.groupLevel == 1 && monthly.groupLevel == 2)
            #expect(yearly.subscriptionPeriod == .yearly && monthly.subscriptionPeriod == .monthly)
            #expect(yearly.introductoryOffer.map(Self.line) == "- Introductory FreeTrial 0 1 x 1 week")
            #expect(yearly.promotionalOffers.map(Self.line) == ["loyal Promotional PayAsYouGo 98 1 x 1 year"])
            #expect(yearly.winBackOffers.map(Self.line) == ["comeback WinBack PayUpFront 128 1 x 1 year"])
            #expect(yearly.promotionalOffers.first?.displayPrice == Decimal(98).formatted(product.priceFormatStyle))
            #expect(monthly.introductoryOffer == nil && monthly.promotionalOffers.isEmpty)
            #expect(try await phone.product("points60").subscription == nil)
            let other = try world.phone(2, of: "eve")
            #expect(try await other.product("member.yearly").subscription == yearly, "the same for everybody")
        }
    }

    @Test(
        "Offers are returned as they were configured",
        arguments: [
            ("PAY_AS_YOU_GO", "P1M", 3, "PayAsYouGo 6 3 x 1 month"),
            ("PAY_UP_FRONT", "P3M", 1, "PayUpFront 6 1 x 3 month"),
            ("FREE_TRIAL", "P3D", 1, "FreeTrial 6 1 x 3 day"),
            ("FREE_TRIAL", "P2W", 1, "FreeTrial 6 1 x 2 week"),
        ])
    func response(_ discount: String, _ period: String, _ periods: Int, _ expected: String) throws {
        let response = OfferResponse(
            id: "a", kind: "promotional", discount: discount, price: StoreMoney(amount: 600, currency: "CNY"),
            period: period, periods: periods)
        let style = Decimal.FormatStyle.Currency(code: "CNY", locale: Locale(identifier: "zh_CN"))
        let offer = try #require(Product.SubscriptionOffer(response: response, of: .monthly, priceFormatStyle: style))
        #expect(Self.line(offer) == "a Promotional \(expected)")
        #expect(offer.displayPrice == "¥6.00")
    }

    @Test("An unknown kind or discount is no offer")
    func unknown() {
        let style = Decimal.FormatStyle.Currency(code: "CNY", locale: Locale(identifier: "zh_CN"))
        for (kind, discount) in [("gift", "FREE_TRIAL"), ("promotional", "HALF")] {
            let response = OfferResponse(id: "a", kind: kind, discount: discount, price: nil, period: nil, periods: nil)
            #expect(Product.SubscriptionOffer(response: response, of: .monthly, priceFormatStyle: style) == nil)
        }
    }

    @Test(
        "Periods are read from ISO 8601 only",
        arguments: [
            ("P3D", Product.SubscriptionPeriod.everyThreeDays), ("P1W", .weekly), ("P2W", .everyTwoWeeks),
            ("P1M", .monthly), ("P2M", .everyTwoMonths), ("P3M", .everyThreeMonths), ("P6M", .everySixMonths),
            ("P1Y", .yearly), ("", nil), ("P", nil), ("PM", nil), ("1M", nil), ("P0M", nil), ("P-1M", nil),
            ("P1H", nil),
            ("PT1M", nil), ("P99999999999999999999Y", nil), ("P1M1D", nil),
        ])
    func iso(_ text: String, _ period: Product.SubscriptionPeriod?) {
        #expect(Product.SubscriptionPeriod(iso8601: text) == period)
    }

    @Test("A calendar period starts and ends on the same day of the month, if the month has it")
    func range() throws {
        let january = try #require(Date(rfc3339: "2026-01-31T12:00:00Z"))
        for (period, end) in [
            (Product.SubscriptionPeriod.everyThreeDays, "2026-02-03T12:00:00Z"), (.weekly, "2026-02-07T12:00:00Z"),
            (.monthly, "2026-02-28T12:00:00Z"), (.everyThreeMonths, "2026-04-30T12:00:00Z"),
            (.yearly, "2027-01-31T12:00:00Z"),
        ] {
            let range = period.dateRange(referenceDate: january)
            #expect(range.lowerBound == january && range.upperBound == Date(rfc3339: end), "\(period)")
        }
        #expect("\(Product.SubscriptionPeriod.Unit.month.localizedDescription)" == "Month")
    }
}
