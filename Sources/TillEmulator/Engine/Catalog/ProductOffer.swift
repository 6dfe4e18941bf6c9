import TillAppStore
import TillBilling
import TillSQL

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

/// A product as a phone sees it: what it costs in the account's storefront, in that storefront's language.
struct OfferedProduct: Sendable {
    /// An offer with its price in the storefront.
    struct PricedOffer: Sendable {
        var offer: ProductOffer
        /// Of one charge.
        var price: Money
    }

    var product: StoreProduct
    var price: Money
    var text: StoreProduct.Localization
    var introductory: PricedOffer?
    var promotional: [PricedOffer]
    var winBacks: [PricedOffer]

    /// Nil for what is not on sale there.
    static func find(
        _ id: String, storefront: String, _ configuration: EmulatorConfiguration, _ session: any Connection
    ) throws -> OfferedProduct? {
        guard let product = try ProductTable.offered(id, storefront: storefront, session),
            product.isSold(in: configuration.environment), product.isOnSale, let price = product.prices[storefront]
        else { return nil }
        let locale = StorefrontLanguage.locale(of: storefront)
        let text = StorefrontLanguage.nearest(to: locale, among: product.localizations)
        func offers(_ kind: ProductOffer.Kind) -> [PricedOffer] {
            product.offers(kind).compactMap { offer in
                SubscriptionOffer.terms(of: offer, storefront: storefront, listPrice: price).map {
                    PricedOffer(offer: offer, price: $0.price)
                }
            }
        }
        return OfferedProduct(
            product: product, price: price,
            text: text ?? StoreProduct.Localization(locale: locale, displayName: product.name, description: ""),
            introductory: offers(.introductory).first, promotional: offers(.promotional), winBacks: offers(.winBack))
    }
}

/// What a phone learns of the products an app asks for.
struct OfferedProducts: Sendable {
    /// In one question.
    static let limit = 1_000

    var storefront: String
    var products: [OfferedProduct]
    /// Those that are not on sale, each once.
    var invalid: [String]
}

extension Store {
    /// The products as the storefront of the account sees them that is signed in on this device, in the order in which
    /// they are asked for.
    func offeredProducts(
        _ ids: [String], on device: UniqueID
    ) async throws -> Result<OfferedProducts, StoreRefusal> {
        let configuration = configuration
        return try await ask { session in
            guard let device = try DeviceTable.find(device, session) else { return .failure(.unknownDevice(device)) }
            guard let account = try AccountTable.find(device.account, session) else {
                return .failure(.unknownAccount(device.account))
            }
            var answer = OfferedProducts(storefront: account.storefront, products: [], invalid: [])
            var seen: Set<String> = []
            for id in ids where seen.insert(id).inserted {
                if let found = try OfferedProduct.find(
                    id, storefront: account.storefront, configuration, session)
                {
                    answer.products.append(found)
                } else {
                    answer.invalid.append(id)
                }
            }
            return .success(answer)
        }
    }
}
