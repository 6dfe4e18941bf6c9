import TillAppStore
import TillBilling
import TillSQL

/// A price below the list price, for certain customers and a limited time (facts/business-rules §9).
public struct ProductOffer: Sendable, Hashable, Codable {
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// Once per subscription group and customer.
        case introductory
        /// For current and lapsed subscribers, each time with the developer's signature.
        case promotional
        /// Redeemed with a code, inside or outside the app.
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
        /// One payment in advance for the whole offer.
        case payUpFront = "PAY_UP_FRONT"
        /// For one-time purchases; only with a code.
        case oneTime = "ONE_TIME"
    }

    /// The customers that an offer code is for (App Store Connect API, `SubscriptionCustomerEligibility`).
    public enum Customer: String, Sendable, Hashable, Codable, CaseIterable {
        /// Never subscribed in the group.
        case new = "NEW"
        case existing = "EXISTING"
        /// Subscribed before and no longer.
        case expired = "EXPIRED"
    }

    public var kind: Kind
    /// Nil for introductory offers only.
    public var identifier: String?
    public var discount: Discount
    /// The length of one period of the offer; nil for one-time purchases. For pay as you go it is the subscription's
    /// period.
    public var period: OfferPeriod?
    /// The number of periods; more than one only for pay as you go.
    public var periods: Int64
    /// The price of one charge, by storefront; empty for a free trial.
    public var prices: [String: Money]
    /// Set only for offer codes of subscriptions; nil: for all customers.
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

/// The length of one period of an offer; days are allowed too (facts/jws §4, `offerPeriod`: P3D).
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

    /// From ISO 8601 with one unit: `P3D`, `P2W`, `P1M`, `P1Y`; nil for anything else.
    public init?(_ text: String) {
        guard text.utf8.count <= 6, text.hasPrefix("P"), let unit = text.last.flatMap({ Unit(rawValue: String($0)) }),
            let count = Int64(text.dropFirst().dropLast()), (1...999).contains(count)
        else { return nil }
        self.init(count, unit)
    }

    /// ISO 8601: `P1M`.
    public var text: String { times(1) }

    /// The length of `factor` periods in ISO 8601: three times `P1M` is `P3M`.
    public func times(_ factor: Int64) -> String { "P\(count * factor)\(unit.rawValue)" }
}

/// A product as a device shows it: with its price in the account's storefront, in that storefront's language.
struct OfferedProduct: Sendable {
    /// An offer with its price in the storefront.
    struct PricedOffer: Sendable {
        var offer: ProductOffer
        /// The price of one charge.
        var price: Money
    }

    var product: StoreProduct
    /// ISO 3166-1 alpha-3.
    var storefront: String
    var price: Money
    var text: StoreProduct.Localization
    var introductory: PricedOffer?
    var promotional: [PricedOffer]
    var winBacks: [PricedOffer]

    /// Nil for a product that is not on sale there.
    static func find(
        _ id: String, storefront: String, _ configuration: EmulatorConfiguration, _ connection: any Connection
    ) throws -> OfferedProduct? {
        guard let product = try ProductTable.offered(id, storefront: storefront, connection),
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
            product: product, storefront: storefront, price: price,
            text: text ?? StoreProduct.Localization(locale: locale, displayName: product.name, description: ""),
            introductory: offers(.introductory).first, promotional: offers(.promotional), winBacks: offers(.winBack))
    }
}

/// The answer to a device's product request.
struct OfferedProducts: Sendable {
    /// The most products in one request.
    static let limit = 1_000

    var storefront: String
    var products: [OfferedProduct]
    /// The requested ids that are not on sale, each once.
    var invalid: [String]
}

extension Store {
    /// The products in the storefront of the account that is signed in on this device, in the requested order.
    func offeredProducts(
        _ ids: [String], on device: UniqueID
    ) async throws -> Result<OfferedProducts, StoreRefusal> {
        let configuration = configuration
        return try await ask { connection in
            guard let device = try DeviceTable.find(device, connection) else { return .failure(.unknownDevice(device)) }
            guard let account = try AccountTable.find(device.account, connection) else {
                return .failure(.unknownAccount(device.account))
            }
            var answer = OfferedProducts(storefront: account.storefront, products: [], invalid: [])
            var seen: Set<String> = []
            for id in ids where seen.insert(id).inserted {
                if let found = try OfferedProduct.find(
                    id, storefront: account.storefront, configuration, connection)
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
