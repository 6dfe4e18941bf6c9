/// Where the price of one unit goes: tax, Apple's commission, and what the developer gets (SCENARIOS C2).
///
///     proceeds = price ÷ tax divisor × rate
///
/// Tax comes off first, then the rest is split (facts/business-rules §5.1). The arithmetic is exact, and there is one
/// rounding: to the currency's minor unit, a half up, at the end. The price without tax is rounded the same way, from
/// the exact fraction and not on the way to the proceeds; tax and commission are what lies between, so that
/// gross = tax + commission + proceeds in whole minor units.
///
/// A classic price in US dollars pays on the price rounded up to the whole dollar: of 0.99 at 70 % it is 0.70. The
/// facts say so of the classic tiers at 70 % only. Till does it for every price that stands in the classic table, at
/// any rate and on any day, and never for other price points of today (of 1.29 it is 70 % of 1.29). What Apple pays of
/// 0.99 at 85 % is not known for certain; its financial report says it.
public struct Proceeds: Hashable, Sendable {
    /// What the customer paid.
    public let gross: Money
    public let tax: Money
    /// Without tax.
    public let net: Money
    public let commission: Money
    public let proceeds: Money
    public let terms: StorefrontTerms
    /// What the proceeds are counted on where it is not the price itself: a classic price in whole US dollars.
    public let roundedUpPrice: Money?

    public var isTaxUnknown: Bool { terms.isTaxUnknown }

    /// - Parameters:
    ///   - price: of one unit. Nil comes back for a negative one.
    ///   - storefront: alpha-3; nil where nobody said, and then the tax is unknown.
    ///   - day: of the sale; a refund goes by the day of its sale.
    ///   - paidDays: of paid service in the group before this; counts for auto-renewables only.
    public init?(
        price: Money, storefront: String?, at day: CivilDate, type: ProductType?, paidDays: Int = 0,
        isSmallBusiness: Bool = false
    ) {
        let isAfterOneYear = type == .autoRenewable && paidDays >= PaidService.daysOfAYear
        let best = Self.best(isAfterOneYear: isAfterOneYear, isSmallBusiness: isSmallBusiness)
        self.init(price: price, terms: StorefrontTerms(storefront: storefront, on: day, best: best))
    }

    public init?(price: Money, terms: StorefrontTerms) {
        guard price.amount >= 0 else { return nil }
        let currency = price.currency
        let basis = Self.basis(price)
        let part = terms.rate.divided(by: terms.taxDivisor) ?? terms.rate
        let net = Self.share(of: price.amount, Fraction(1).divided(by: terms.taxDivisor) ?? Fraction(1))
        // Only of a classic price that is rounded up could it be more than there is; then there is no commission.
        let proceeds = min(Self.share(of: basis, part), net)
        gross = price
        self.net = Money(amount: net, currency: currency)
        tax = Money(amount: price.amount - net, currency: currency)
        self.proceeds = Money(amount: proceeds, currency: currency)
        commission = Money(amount: net - proceeds, currency: currency)
        self.terms = terms
        roundedUpPrice = basis == price.amount ? nil : Money(amount: basis, currency: currency)
    }

    /// After a year and in the program the rate is the same.
    static func best(isAfterOneYear: Bool, isSmallBusiness: Bool) -> RateClass {
        isAfterOneYear ? .afterOneYear : isSmallBusiness ? .smallBusiness : .standard
    }

    private static let dollar = Currency("USD")

    private static func basis(_ price: Money) -> Int64 {
        guard price.currency == dollar, PriceTierTable.latest?.tiers(at: price).isEmpty == false else {
            return price.amount
        }
        return (price.amount + 99) / 100 * 100
    }

    /// Rounded half up. A share is never more than the whole, so it fits.
    static func share(of amount: Int64, _ part: Fraction) -> Int64 {
        let exact = Fraction(UInt64(max(0, amount))) * part
        return exact.rounded.uint64.map { Int64(clamping: $0) } ?? amount
    }
}

extension Proceeds {
    /// The arithmetic in words, from the very numbers it was done with.
    public var explanation: [Text] {
        let divisor = terms.taxDivisor.decimal(places: 4).text
        let percent = (terms.rate * Fraction(100)).decimal(places: 2).text
        let basis = roundedUpPrice ?? gross
        var lines: [Text] = []
        if let roundedUpPrice {
            lines.append(
                Text(
                    en: "A classic price in US dollars pays on whole dollars: \(gross) counts as \(roundedUpPrice)",
                    zh: "美元经典价格按进位到整数的美元计算：\(gross) 按 \(roundedUpPrice) 计"))
        }
        lines += [
            isTaxUnknown
                ? Text(
                    en: "The tax of this storefront on this day is not known; it was taken for nothing",
                    zh: "该店面当日的税率未知，按无税计算")
                : Text(
                    en: "Tax: \(gross) − \(gross.decimal) ÷ \(divisor) = \(tax), \(net) without tax",
                    zh: "税：\(gross) − \(gross.decimal) ÷ \(divisor) = \(tax)，不含税 \(net)"),
            Text(
                en: "Rate: \(percent) % (\(terms.rateClass.name.en))",
                zh: "分成：\(percent)%（\(terms.rateClass.name.zh)）"),
            Text(
                en: "Proceeds: \(basis.decimal) ÷ \(divisor) × \(percent) % = \(proceeds), rounded half up",
                zh: "开发者收入：\(basis.decimal) ÷ \(divisor) × \(percent)% = \(proceeds)（四舍五入）"),
            Text(en: "Apple's commission: \(commission)", zh: "Apple 佣金：\(commission)"),
        ]
        return lines
    }
}
