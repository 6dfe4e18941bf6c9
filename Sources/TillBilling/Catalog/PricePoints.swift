/// Apple's price points of today, since 2022-12-06 for auto-renewables and spring 2023 for the rest (SCENARIOS C1,
/// facts/business-rules §4.2): from USD 0.29 in steps of 0.10 up to 10, 0.50 up to 50, 1 up to 200, 5 up to 500, 10 up
/// to 1,000 and 100 up to 10,000, each a cent below the step; and the whole dollars among the steps. That is 928, and
/// Apple speaks of about 900; which of them App Store Connect leaves out, nobody has published. Of other currencies
/// only the classic tiers are known.
public enum PricePoints {
    /// Up to the limit (inclusive), in cents, prices go up by the step.
    private static let steps: [(limit: Int64, step: Int64)] = [
        (1_000, 10), (5_000, 50), (20_000, 100), (50_000, 500), (100_000, 1_000), (1_000_000, 10_000),
    ]

    /// Whether a price in US dollars is a point; nil for any other currency, whose points are not known.
    public static func contains(_ price: Money) -> Bool? {
        guard price.currency == Currency("USD") else { return nil }
        let cents = price.amount
        if cents == 0 { return true }
        let isWhole = cents > 0 && cents % 100 == 0
        // In range before anything is added: the amount may come from outside.
        guard cents >= 29, cents <= 1_000_000 else { return false }
        let step = isWhole ? cents : cents + 1
        return steps.first { step <= $0.limit }.map { step % $0.step == 0 } ?? false
    }

    /// All of them in US dollars, the cheapest first.
    public static var dollars: [Money] {
        var cents: [Int64] = []
        var last: Int64 = 20
        for (limit, step) in steps {
            for grid in stride(from: last + step, through: limit, by: Int64.Stride(step)) {
                cents.append(grid - 1)
                if grid % 100 == 0 { cents.append(grid) }
            }
            last = limit
        }
        return cents.map { Money(amount: $0, currency: Currency("USD")) }
    }
}

/// What is known about where a price comes from.
public enum PriceStanding: Sendable, Hashable {
    /// On the classic table: the ids of its tiers.
    case onTiers([String])
    /// One of today's price points, and no classic tier.
    case pricePoint
    /// Neither: App Store Connect does not offer it.
    case notOffered
    /// On no classic tier, and the price points of its currency are not known.
    case onNoTier
    /// Nothing is known about prices in its currency.
    case unknownCurrency

    public init(of price: Money) {
        let table = PriceTierTable.latest
        let tiers = table?.tiers(at: price) ?? []
        if !tiers.isEmpty {
            self = .onTiers(tiers.map(\.id))
        } else if let isPoint = PricePoints.contains(price) {
            self = isPoint ? .pricePoint : .notOffered
        } else {
            self = table?.currencies.contains(price.currency) == true ? .onNoTier : .unknownCurrency
        }
    }
}
