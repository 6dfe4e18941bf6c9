import TillBilling

/// A month of Apple's fiscal calendar.
public struct FiscalPeriodReply: Codable, Sendable, Hashable {
    public let fiscalYear: Int
    public let quarter: Int
    /// 1 to 12; 1 is October.
    public let period: Int
    /// `Oct` to `Sep`.
    public let label: String
    /// The first day, `2026-03-15`, and the last.
    public let start: String
    public let end: String
    public let weeks: Int
    /// The expected day of Apple's payout.
    public let paymentDate: String

    public init(_ period: FiscalPeriod) {
        fiscalYear = period.fiscalYear
        quarter = period.quarter
        self.period = period.number
        label = period.label
        start = period.start.description
        end = period.end.description
        weeks = period.weeks
        paymentDate = period.paymentDate.description
    }
}

/// `GET /v1/finance/calendar`.
public struct FiscalCalendarReply: Codable, Sendable, Hashable {
    public let fiscalYear: Int
    /// 52 or 53.
    public let weeks: Int
    public let start: String
    public let end: String
    public let periods: [FiscalPeriodReply]

    public init(year: Int) {
        fiscalYear = year
        weeks = FiscalCalendar.weeks(ofYear: year)
        start = FiscalCalendar.start(ofYear: year).description
        end = FiscalCalendar.start(ofYear: year + 1).adding(days: -1).description
        periods = FiscalCalendar.periods(ofYear: year).map(FiscalPeriodReply.init)
    }
}

/// `GET /v1/finance/tiers`: the classic table, one of its tiers, or the tiers for a price.
public struct TiersReply: Codable, Sendable, Hashable {
    /// The first day on which the table was valid.
    public let validFrom: String
    public let tiers: [TierReply]
    /// The requested price. The following members describe it.
    public var price: Money?
    /// One of `standings`.
    public var standing: String?
    /// Whether App Store Connect offers it; absent if unknown.
    public var isOffered: Bool?
    public var nearest: NearestTiersReply?

    public init(validFrom: CivilDate, tiers: [PriceTier], _ language: Language) {
        self.validFrom = validFrom.description
        self.tiers = tiers.map { TierReply($0, language) }
    }

    public init(of price: Money, in table: PriceTierTable, _ language: Language) {
        self.init(validFrom: table.validFrom, tiers: table.tiers(at: price), language)
        self.price = price
        switch PriceAvailability(of: price) {
        case .onTiers: (standing, isOffered) = ("onTiers", true)
        case .pricePoint: (standing, isOffered) = ("pricePoint", true)
        case .notOffered: (standing, isOffered) = ("notOffered", false)
        case .onNoTier: standing = "onNoTier"
        case .unknownCurrency: standing = "unknownCurrency"
        }
        let neighbours = table.neighbours(of: price)
        nearest = NearestTiersReply(
            below: neighbours.below.map { TierReply($0, language) },
            above: neighbours.above.map { TierReply($0, language) })
    }

    public static let standings = ["onTiers", "pricePoint", "notOffered", "onNoTier", "unknownCurrency"]
}

public struct NearestTiersReply: Codable, Sendable, Hashable {
    public let below: TierReply?
    public let above: TierReply?
}

public struct TierReply: Codable, Sendable, Hashable {
    /// `0` (free), `1` to `87`, `A`, `B`, `alt1` to `alt5`.
    public let tier: String
    /// App Store Connect's name, in the caller's language.
    public let name: String
    /// The prices by currency.
    public let prices: [String: Money]
    /// At 70 %, where the table states them.
    public let proceeds: [String: Money]

    public init(_ tier: PriceTier, _ language: Language) {
        self.tier = tier.id
        name = tier.name[language]
        prices = Dictionary(uniqueKeysWithValues: tier.prices.map { ($0.key.text, $0.value) })
        proceeds = Dictionary(uniqueKeysWithValues: tier.proceeds.map { ($0.key.text, $0.value) })
    }
}

/// `GET /v1/finance/proceeds`: the division of the price of one unit.
public struct ProceedsReply: Codable, Sendable, Hashable {
    public let price: Money
    /// ISO 3166-1 alpha-3.
    public let storefront: String
    public let at: String
    /// Apple's name: `Consumable`.
    public let type: String
    /// The divisor that removes the tax from the price: `1.0203`.
    public let taxDivisor: String
    public let taxUnknown: Bool
    /// The developer's part: `0.7`.
    public let rate: String
    /// `standard`, `afterOneYear` or `smallBusiness`.
    public let rateClass: String
    /// The basis of the proceeds, if it differs from the price.
    public let roundedUpPrice: Money?
    public let gross: Money
    public let tax: Money
    /// The price without tax.
    public let net: Money
    public let commission: Money
    public let proceeds: Money

    public init(_ proceeds: Proceeds, storefront: String, at day: CivilDate, type: ProductType) {
        price = proceeds.gross
        self.storefront = storefront
        at = day.description
        self.type = type.rawValue
        taxDivisor = proceeds.terms.taxDivisor.decimal(places: 4).text
        taxUnknown = proceeds.isTaxUnknown
        rate = proceeds.terms.rate.decimal(places: 4).text
        rateClass = proceeds.terms.rateClass.rawValue
        roundedUpPrice = proceeds.roundedUpPrice
        gross = proceeds.gross
        tax = proceeds.tax
        net = proceeds.net
        commission = proceeds.commission
        self.proceeds = proceeds.proceeds
    }
}
