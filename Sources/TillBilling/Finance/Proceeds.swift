/// The division of the price of one unit: tax, Apple's commission, and the developer's proceeds.
///
///     proceeds = price ÷ tax divisor × rate
///
/// Tax is deducted first, then the rest is divided (facts/business-rules §5.1). The arithmetic is exact, with one
/// rounding at the end: half up, to the currency's minor unit. The price without tax is rounded in the same way, from
/// the exact fraction and not as a step towards the proceeds. Tax and commission are the differences, so gross = tax +
/// commission + proceeds in whole minor units.
///
/// For a classic price in US dollars, the proceeds are computed from the price rounded up to the whole dollar: 0.99 at
/// 70 % gives 0.70. Apple documents this for the classic tiers at 70 % only. Till applies it to every price in the
/// classic table, at any rate and on any day, and to no other price point (1.29 gives 70 % of 1.29). What Apple pays
/// for 0.99 at 85 % is not documented; the financial report states it.
public struct Proceeds: Hashable, Sendable {
    /// The price that the customer paid.
    public let gross: Money
    public let tax: Money
    /// The price without tax.
    public let net: Money
    public let commission: Money
    public let proceeds: Money
    public let terms: StorefrontTerms
    /// The basis of the proceeds if it differs from the price: a classic price rounded up to whole US dollars.
    public let roundedUpPrice: Money?

    public var isTaxUnknown: Bool { terms.isTaxUnknown }

    /// - Parameters:
    ///   - price: of one unit. The initializer returns nil for a negative one.
    ///   - storefront: alpha-3; nil if unknown, and then the tax is unknown too.
    ///   - day: the day of the sale; for a refund, the day of the refunded sale.
    ///   - paidDays: days of paid service in the group before this sale; used for auto-renewable subscriptions only.
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
        // Only for a rounded-up classic price could the share exceed the net price; then the commission is zero.
        let proceeds = min(Self.share(of: basis, part), net)
        gross = price
        self.net = Money(amount: net, currency: currency)
        tax = Money(amount: price.amount - net, currency: currency)
        self.proceeds = Money(amount: proceeds, currency: currency)
        commission = Money(amount: net - proceeds, currency: currency)
        self.terms = terms
        roundedUpPrice = basis == price.amount ? nil : Money(amount: basis, currency: currency)
    }

    /// The rate after a year is the same with and without the program.
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

    /// Rounded half up. A share never exceeds the whole, so it fits.
    static func share(of amount: Int64, _ part: Fraction) -> Int64 {
        let exact = Fraction(UInt64(max(0, amount))) * part
        return exact.rounded.uint64.map { Int64(clamping: $0) } ?? amount
    }
}

extension Proceeds {
    /// The calculation as text, with the numbers that were used.
    public var explanation: [LocalizedText] {
        let divisor = terms.taxDivisor.decimal(places: 4).text
        let percent = (terms.rate * Fraction(100)).decimal(places: 2).text
        let basis = roundedUpPrice ?? gross
        var lines: [LocalizedText] = []
        if let roundedUpPrice {
            lines.append(
                LocalizedText(
                    en: "A classic price in US dollars pays on whole dollars: \(gross) counts as \(roundedUpPrice)",
                    zh: "美元经典价格按进位到整数的美元计算：\(gross) 按 \(roundedUpPrice) 计"))
        }
        lines += [
            isTaxUnknown
                ? LocalizedText(
                    en: "The tax of this storefront on this day is not known; it was counted as zero",
                    zh: "该店面当日的税率未知，按无税计算")
                : LocalizedText(
                    en: "Tax: \(gross) − \(gross.decimal) ÷ \(divisor) = \(tax), \(net) without tax",
                    zh: "税：\(gross) − \(gross.decimal) ÷ \(divisor) = \(tax)，不含税 \(net)"),
            LocalizedText(
                en: "Rate: \(percent) % (\(terms.rateClass.name.en))",
                zh: "分成：\(percent)%（\(terms.rateClass.name.zh)）"),
            LocalizedText(
                en: "Proceeds: \(basis.decimal) ÷ \(divisor) × \(percent) % = \(proceeds), rounded half up",
                zh: "开发者收入：\(basis.decimal) ÷ \(divisor) × \(percent)% = \(proceeds)（四舍五入）"),
            LocalizedText(en: "Apple's commission: \(commission)", zh: "Apple 佣金：\(commission)"),
        ]
        return lines
    }
}
