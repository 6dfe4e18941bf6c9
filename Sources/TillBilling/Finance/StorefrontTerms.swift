/// Whose part of a sale the developer keeps (facts/business-rules §5).
public enum RateClass: String, Hashable, Sendable, Codable, CaseIterable {
    case standard
    /// Auto-renewable subscriptions after a year of paid service in the group (`PaidService`).
    case afterOneYear
    /// The Small Business Program.
    case smallBusiness

    public var name: Text {
        switch self {
        case .standard: Text(en: "standard", zh: "标准")
        case .afterOneYear: Text(en: "after one year of paid service", zh: "付费订阅满一年之后")
        case .smallBusiness: Text(en: "Small Business Program", zh: "小型企业计划")
        }
    }
}

/// Taxes and rates of a storefront on a day. Both are tables with the days from which they hold, because governments
/// and Apple change them (SCENARIOS C2).
///
/// Not in the tables: the European Union's terms of 2025 (an acquisition fee, a store services fee and a technology
/// commission, whose final form is not confirmed) and purchases through links in the United States, which are none of
/// the App Store's.
public struct StorefrontTerms: Hashable, Sendable {
    /// What a price is divided by to have it without tax: 1.0203 for 2.03 %. 1 where the tax is not known.
    public let taxDivisor: Fraction
    /// Nobody knows the tax of this storefront on this day; it was taken for nothing.
    public let isTaxUnknown: Bool
    public let rateClass: RateClass
    /// What the developer keeps of the price without tax: 7/10.
    public let rate: Fraction

    /// - Parameters:
    ///   - storefront: alpha-3; nil where nobody said.
    ///   - day: of the sale.
    ///   - best: the best class that the sale could have; before that class existed it is the standard one.
    public init(storefront: String?, on day: CivilDate, best: RateClass) {
        let divisor = storefront.flatMap { Self.value(in: Self.taxDivisors, $0, on: day) }
        taxDivisor = divisor ?? Fraction(1)
        isTaxUnknown = divisor == nil
        let terms = [best, .standard].lazy.compactMap { rateClass in
            Self.rate(of: rateClass, storefront: storefront, on: day).map { (rateClass, $0) }
        }.first
        (rateClass, rate) = terms ?? (.standard, Fraction(70, over: 100))
    }

    private static func rate(of rateClass: RateClass, storefront: String?, on day: CivilDate) -> Fraction? {
        let rows = rates[rateClass] ?? []
        return storefront.flatMap { value(in: rows, $0, on: day) } ?? value(in: rows, everywhere, on: day)
    }

    /// The last row of a storefront that holds already.
    private static func value(in rows: [Row], _ storefront: String, on day: CivilDate) -> Fraction? {
        rows.last { $0.storefront == storefront && ($0.from.map { $0 <= day } ?? true) }?.value
    }

    struct Row: Sendable {
        let storefront: String
        /// Nil: always.
        let from: CivilDate?
        let value: Fraction
    }

    static let everywhere = "*"

    /// The developer's part in percent: by class, storefront (or all of them) and first day. Oldest first.
    static let rates: [RateClass: [Row]] = [
        .standard: rows(
            """
            *    -           70
            CHN  2026-03-15  75
            """, over: 100),
        .afterOneYear: rows(
            """
            *    2016-06-13  85
            CHN  2026-03-15  88
            """, over: 100),
        .smallBusiness: rows(
            """
            *    2021-01-01  85
            CHN  2026-03-15  88
            """, over: 100),
    ]

    /// Divisors in ten-thousandths, by storefront and first day, oldest first (facts/business-rules §5.1). China's fits
    /// the matrix of 2019-10-03 to the fen, though no document explains it; before the tax there was none. The others
    /// were read from that matrix, so that they are known from its day on: who sold before, or whose government has
    /// changed the tax since, has to look into Apple's financial report. EUR is Germany's; of the other countries that
    /// pay in euros nothing is known. In Japan and Hong Kong the developer pays the tax.
    static let taxDivisors = rows(
        """
        USA  -           10000
        CHN  -           10000
        CHN  2015-10-01  10203
        DEU  2019-10-03  11900
        HKG  2019-10-03  10000
        IND  2019-10-03  11800
        JPN  2019-10-03  10000
        KOR  2019-10-03  11000
        TWN  2019-10-03  10825
        """, over: 10_000)

    private static func rows(_ text: String, over denominator: UInt64) -> [Row] {
        text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: " ")
            guard cells.count == 3, let value = UInt64(cells[2]) else { return nil }
            return Row(
                storefront: String(cells[0]), from: CivilDate(iso8601: cells[1]),
                value: Fraction(value, over: denominator))
        }
    }
}
