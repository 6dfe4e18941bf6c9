import TillAppStore
import TillBilling

/// A price below the list price, for some customers and some time (facts/business-rules §9).
public struct ProductOffer: Sendable, Hashable, Codable {
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// Once in a subscription group and customer.
        case introductory
        /// For current and lapsed subscribers, each time with a signature of the developer.
        case promotional
        /// By a code, inside the app or outside it.
        case code
        /// For customers who left.
        case winBack

        var type: OfferType {
            switch self {
            case .introductory: .introductory
            case .promotional: .promotional
            case .code: .offerCode
            case .winBack: .winBack
            }
        }
    }

    public enum Discount: String, Sendable, Hashable, Codable, CaseIterable {
        case freeTrial = "FREE_TRIAL"
        /// The lower price for each of `periods` billing periods.
        case payAsYouGo = "PAY_AS_YOU_GO"
        /// One price at once for the whole of the offer.
        case payUpFront = "PAY_UP_FRONT"
        /// Of one-time purchases; only by a code.
        case oneTime = "ONE_TIME"
    }

    /// Whom an offer by code is for (App Store Connect API, `SubscriptionCustomerEligibility`).
    public enum Customer: String, Sendable, Hashable, Codable, CaseIterable {
        /// Never subscribed in the group.
        case new = "NEW"
        case existing = "EXISTING"
        /// Subscribed once, and no more.
        case expired = "EXPIRED"
    }

    public var kind: Kind
    /// Nil for introductory offers only.
    public var identifier: String?
    public var discount: Discount
    /// How long one period of the offer is; nil for one-time purchases. For pay as you go it is the subscription's.
    public var period: OfferPeriod?
    /// How many periods; more than one only for pay as you go.
    public var periods: Int64
    /// What one charge of the offer costs, by storefront; nothing is charged for a free trial.
    public var prices: [String: Money]
    /// Of subscriptions' offers by code only; nil: for all customers.
    public var customers: [Customer]?

    public init(
        kind: Kind, identifier: String? = nil, discount: Discount, period: OfferPeriod? = nil, periods: Int64 = 1,
        prices: [String: Money] = [:], customers: [Customer]? = nil
    ) {
        self.kind = kind
        self.identifier = identifier
        self.discount = discount
        self.period = period
        self.periods = periods
        self.prices = prices
        self.customers = customers
    }

    func isFor(_ customer: Customer) -> Bool { customers?.contains(customer) ?? true }
}

/// The length of one period of an offer: days are possible too (facts/jws §4, `offerPeriod`: P3D).
public struct OfferPeriod: Sendable, Hashable, Codable {
    public enum Unit: String, Sendable, Hashable, Codable, CaseIterable {
        case day = "D"
        case week = "W"
        case month = "M"
        case year = "Y"
    }

    public var count: Int64
    public var unit: Unit

    public init(_ count: Int64, _ unit: Unit) {
        self.count = count
        self.unit = unit
    }

    public init(_ period: SubscriptionPeriod) {
        switch period {
        case .week: self.init(1, .week)
        case .month: self.init(1, .month)
        case .twoMonths: self.init(2, .month)
        case .threeMonths: self.init(3, .month)
        case .sixMonths: self.init(6, .month)
        case .year: self.init(1, .year)
        }
    }

    /// From ISO 8601, one unit only: `P3D`, `P2W`, `P1M`, `P1Y`; nil for anything else.
    public init?(_ text: String) {
        guard text.utf8.count <= 6, text.hasPrefix("P"), let unit = text.last.flatMap({ Unit(rawValue: String($0)) }),
            let count = Int64(text.dropFirst().dropLast()), (1...999).contains(count)
        else { return nil }
        self.init(count, unit)
    }

    /// ISO 8601: `P1M`.
    public var text: String { times(1) }

    /// The length of so many of them, as ISO 8601: three times `P1M` is `P3M`.
    public func times(_ factor: Int64) -> String { "P\(count * factor)\(unit.rawValue)" }
}
