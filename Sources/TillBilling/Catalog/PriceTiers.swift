/// One step of Apple's classic price table: what a product costs in every currency once its developer has chosen it.
public struct PriceTier: Sendable, Hashable, Identifiable {
    /// `0` (free), `1` to `87`, `A`, `B`, `alt1` to `alt5`.
    public let id: String
    public let prices: [Currency: Money]
    /// What the developer gets of it at 70 %, where the table says so: USD and CNY. Valid as long as the table's taxes
    /// are (facts/business-rules §5.1).
    public let proceeds: [Currency: Money]

    /// As App Store Connect calls it: `Tier 1`, `Alternate Tier A`.
    public var name: Text {
        if id == "0" { return Text(en: "Free", zh: "免费") }
        if Int(id) != nil { return Text(en: "Tier \(id)", zh: "第 \(id) 档") }
        let short = id.hasPrefix("alt") ? String(id.dropFirst(3)) : id
        return Text(en: "Alternate Tier \(short)", zh: "备用第 \(short) 档")
    }
}

/// Apple's classic price tiers as they stood from a day on (SCENARIOS C1). Apple changes tables now and then, so each
/// says from when it holds. Products on sale today may have these prices still, or any of today's price points.
public struct PriceTierTable: Sendable {
    /// The day the table was read. Earlier ones are not known to the fen, but for CNY.
    public let validFrom: CivilDate
    /// Free, then 1 to 87, then A, B, and the alternates 1 to 5.
    public let tiers: [PriceTier]
    /// Those that the table has prices in.
    public let currencies: [Currency]
    private let byID: [String: PriceTier]
    private let byPrice: [Money: [PriceTier]]

    /// The tables that are known, oldest first.
    public static let all: [PriceTierTable] = [.october2019].compactMap { $0 }

    /// The one that holds on a day; nil before the first.
    public static func inForce(on day: CivilDate) -> PriceTierTable? {
        all.last { $0.validFrom.daysSinceEpoch <= day.daysSinceEpoch }
    }

    /// The newest.
    public static var latest: PriceTierTable? { all.last }

    public subscript(id: String) -> PriceTier? { byID[id] }

    /// The tiers that cost this much, the numbered ones first: USD 0.99 is tier 1, and A, B and alternate 1 too. Empty
    /// for a price that the table does not have, such as CNY 9.9.
    public func tiers(at price: Money) -> [PriceTier] { byPrice[price] ?? [] }

    /// The tiers next to a price that is on none: the dearest that costs less, and the cheapest that costs more; of
    /// several at one price the first. Nil beyond the ends, and for a currency the table does not have.
    public func neighbours(of price: Money) -> (below: PriceTier?, above: PriceTier?) {
        var below: (amount: Int64, tier: PriceTier)?
        var above: (amount: Int64, tier: PriceTier)?
        for tier in tiers {
            guard let amount = tier.prices[price.currency]?.amount else { continue }
            if amount < price.amount, amount > below?.amount ?? .min { below = (amount, tier) }
            if amount > price.amount, amount < above?.amount ?? .max { above = (amount, tier) }
        }
        return (below?.tier, above?.tier)
    }

    public func price(ofTier id: String, in currency: Currency) -> Money? { byID[id]?.prices[currency] }

    static let october2019 = CivilDate(year: 2019, month: 10, day: 3).map {
        PriceTierTable(
            validFrom: $0, text: october2019Text,
            columns: [
                (.price, "USD"), (.proceeds, "USD"), (.price, "CNY"), (.proceeds, "CNY"), (.price, "HKD"),
                (.price, "TWD"), (.price, "JPY"), (.price, "KRW"), (.price, "SGD"), (.price, "EUR"), (.price, "GBP"),
                (.price, "CAD"), (.price, "AUD"),
            ])
    }

    private enum Column { case price, proceeds }

    private init(validFrom: CivilDate, text: String, columns: [(column: Column, currency: String)]) {
        var tiers: [PriceTier] = []
        for line in text.split(separator: "\n") {
            let cells = line.split(separator: " ")
            guard let id = cells.first, cells.count == columns.count + 1 else { continue }
            var prices: [Currency: Money] = [:]
            var proceeds: [Currency: Money] = [:]
            for (cell, column) in zip(cells.dropFirst(), columns) {
                let currency = Currency(column.currency)
                guard let money = Money(decimal: cell, currency: currency) else { continue }
                switch column.column {
                case .price: prices[currency] = money
                case .proceeds: proceeds[currency] = money
                }
            }
            tiers.append(PriceTier(id: String(id), prices: prices, proceeds: proceeds))
        }
        self.validFrom = validFrom
        self.tiers = tiers
        currencies = columns.filter { $0.column == .price }.map { Currency($0.currency) }
        byID = Dictionary(tiers.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var byPrice: [Money: [PriceTier]] = [:]
        for tier in tiers {
            for price in tier.prices.values { byPrice[price, default: []].append(tier) }
        }
        self.byPrice = byPrice
    }
}
