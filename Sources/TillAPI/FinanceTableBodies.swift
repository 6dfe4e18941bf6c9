import TillBilling

/// A month of Apple's fiscal calendar.
public struct FiscalPeriodReply: Codable, Sendable, Hashable {
    public let fiscalYear: Int
    /// 1 to 12; 1 is October.
    public let period: Int
    public let label: String
    public let quarter: Int
    public let weeks: Int
    public let from: String
    public let to: String
    /// When Apple is expected to pay.
    public let paymentDate: String

    public init(_ period: FiscalPeriod) {
        fiscalYear = period.fiscalYear
        self.period = period.number
        label = period.label
        quarter = period.quarter
        weeks = period.weeks
        from = period.start.description
        to = period.end.description
        paymentDate = period.paymentDate.description
    }
}

/// `GET /v1/finance/calendar`.
public struct FiscalCalendarReply: Codable, Sendable, Hashable {
    public let fiscalYear: Int
    /// 52 or 53.
    public let weeks: Int
    public let periods: [FiscalPeriodReply]

    public init(year: Int) {
        fiscalYear = year
        weeks = FiscalCalendar.weeks(ofYear: year)
        periods = FiscalCalendar.periods(ofYear: year).map(FiscalPeriodReply.init)
    }
}

/// `GET /v1/finance/tiers`.
public struct TiersReply: Codable, Sendable, Hashable {
    /// The day from which the table held.
    public let validFrom: String
    public let tiers: [PriceTierReply]
    /// What is known of the price that was asked for.
    public let standing: String?

    public init(validFrom: CivilDate, tiers: [PriceTier], standing: PriceStanding? = nil) {
        self.validFrom = validFrom.description
        self.tiers = tiers.map(PriceTierReply.init)
        self.standing = standing.map { $0.word }
    }

    public static let standings = ["onTiers", "pricePoint", "notOffered", "onNoTier", "unknownCurrency"]
}

extension PriceStanding {
    fileprivate var word: String {
        switch self {
        case .onTiers: "onTiers"
        case .pricePoint: "pricePoint"
        case .notOffered: "notOffered"
        case .onNoTier: "onNoTier"
        case .unknownCurrency: "unknownCurrency"
        }
    }
}

public struct PriceTierReply: Codable, Sendable, Hashable {
    /// `0` (free), `1` to `87`, `A`, `B`, `alt1` to `alt5`.
    public let id: String
    public let name: Text
    /// Currencies in alphabetical order.
    public let prices: [Money]
    /// At 70 %, where the table says so.
    public let proceeds: [Money]

    public init(_ tier: PriceTier) {
        id = tier.id
        name = tier.name
        prices = tier.prices.values.sorted { $0.currency < $1.currency }
        proceeds = tier.proceeds.values.sorted { $0.currency < $1.currency }
    }
}

/// `GET /v1/finance/proceeds`: where the price of one unit goes (C2).
public struct ProceedsReply: Codable, Sendable, Hashable {
    public let gross: Money
    public let tax: Money
    /// Without tax.
    public let net: Money
    public let commission: Money
    public let proceeds: Money
    /// What the price is divided by to have it without tax, exactly: `10203/10000`.
    public let taxDivisor: String
    public let isTaxUnknown: Bool
    /// The developer's part, exactly: `7/10`.
    public let rate: String
    /// `standard`, `afterOneYear` or `smallBusiness`.
    public let rateClass: String
    /// What the proceeds are counted on where it is not the price itself.
    public let roundedUpPrice: Money?

    public init(_ proceeds: Proceeds) {
        gross = proceeds.gross
        tax = proceeds.tax
        net = proceeds.net
        commission = proceeds.commission
        self.proceeds = proceeds.proceeds
        taxDivisor = proceeds.terms.taxDivisor.description
        isTaxUnknown = proceeds.isTaxUnknown
        rate = proceeds.terms.rate.description
        rateClass = proceeds.terms.rateClass.rawValue
        roundedUpPrice = proceeds.roundedUpPrice
    }
}
