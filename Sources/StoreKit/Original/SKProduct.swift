import Foundation

/// A product in the customer's storefront.
open class SKProduct: NSObject, @unchecked Sendable {
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum PeriodUnit: UInt, Hashable, Sendable {
        case day = 0
        case week = 1
        case month = 2
        case year = 3
    }

    // All written once, in an initializer.
    private let response: ProductResponse?
    let storefront: StorefrontResponse?
    private let offerLocale: Locale

    init(_ response: ProductResponse, in storefront: StorefrontResponse) {
        self.response = response
        self.storefront = storefront
        offerLocale = Locale(response, in: storefront)
    }

    public override init() {
        response = nil
        storefront = nil
        offerLocale = Locale(identifier: "")
    }

    open var productIdentifier: String { response?.id ?? "" }
    /// In the language of the storefront, independent of the device's (facts/storekit-client A2).
    open var localizedTitle: String { response?.displayName ?? "" }
    open var localizedDescription: String { response?.description ?? "" }
    /// The price of one unit, in the currency of `priceLocale`.
    open var price: NSDecimalNumber { NSDecimalNumber(decimal: response?.price.decimal ?? 0) }
    open var priceLocale: Locale { offerLocale }
    open var contentVersion: String { "" }
    open var isFamilyShareable: Bool { response?.familyShareable ?? false }

    open var subscriptionGroupIdentifier: String? { response?.subscription?.groupId }
    open var subscriptionPeriod: SKProductSubscriptionPeriod? {
        response?.subscription.flatMap { SKProductSubscriptionPeriod(iso8601: $0.period) }
    }
    open var introductoryPrice: SKProductDiscount? {
        response?.subscription?.introductoryOffer.flatMap { SKProductDiscount($0, .introductory, priceLocale) }
    }
    /// The promotional offers; each requires a signature.
    open var discounts: [SKProductDiscount] {
        (response?.subscription?.promotionalOffers ?? []).compactMap {
            SKProductDiscount($0, .subscription, priceLocale)
        }
    }

    // Apple-hosted content, which the emulated store doesn't have.
    open var isDownloadable: Bool { false }
    open var downloadContentLengths: [NSNumber] { [] }
    open var downloadContentVersion: String { "" }
}

extension Locale {
    /// The language of the product's text, the storefront's country and the price's currency.
    fileprivate init(_ response: ProductResponse, in storefront: StorefrontResponse) {
        let language = response.locale.flatMap { $0.split(separator: "-").first.map(String.init) } ?? "en"
        // Foundation converts a three-letter country code to the two-letter one.
        let region = Locale(identifier: "en_\(storefront.countryCode)").region?.identifier ?? ""
        let place = region.isEmpty ? language : "\(language)_\(region)"
        self.init(identifier: "\(place)@currency=\(response.price.currency)")
    }
}

/// An introductory or a promotional offer (iOS 11.2, 12.2).
open class SKProductDiscount: NSObject, @unchecked Sendable {
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum PaymentMode: UInt, Hashable, Sendable {
        case payAsYouGo = 0
        case payUpFront = 1
        case freeTrial = 2
    }

    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum `Type`: UInt, Hashable, Sendable {
        case introductory = 0
        case subscription = 1
    }

    // All written once, in an initializer.
    private let response: OfferResponse?
    private let kind: `Type`
    private let offerLocale: Locale
    private let period: SKProductSubscriptionPeriod

    /// Nil for an offer without a period, which this type doesn't represent.
    init?(_ response: OfferResponse, _ kind: `Type`, _ locale: Locale) {
        guard let period = response.period.flatMap({ SKProductSubscriptionPeriod(iso8601: $0) }) else { return nil }
        self.response = response
        self.kind = kind
        self.period = period
        offerLocale = locale
    }

    public override init() {
        response = nil
        kind = .introductory
        offerLocale = Locale(identifier: "")
        period = SKProductSubscriptionPeriod()
    }

    /// Nil for introductory offers.
    open var identifier: String? { response?.id }
    /// The price of one charge; 0 for a free trial.
    open var price: NSDecimalNumber { NSDecimalNumber(decimal: response?.price?.decimal ?? 0) }
    open var priceLocale: Locale { offerLocale }
    /// The number of charges.
    open var numberOfPeriods: Int { response?.periods ?? 1 }
    /// The period of one charge.
    open var subscriptionPeriod: SKProductSubscriptionPeriod { period }
    open var type: `Type` { kind }
    open var paymentMode: PaymentMode {
        switch response?.discount {
        case "FREE_TRIAL": .freeTrial
        case "PAY_UP_FRONT": .payUpFront
        default: .payAsYouGo
        }
    }
}

/// The length of one period of a subscription or an offer (iOS 11.2).
open class SKProductSubscriptionPeriod: NSObject, @unchecked Sendable {
    // Both written once, in an initializer.
    private let count: Int
    private let length: SKProduct.PeriodUnit

    /// - Parameter text: `P3D`, `P1W`, `P6M`, `P1Y`.
    init?(iso8601 text: String) {
        guard text.first == "P", let count = Int(text.dropFirst().dropLast()), count > 0 else { return nil }
        switch text.last {
        case "D": length = .day
        case "W": length = .week
        case "M": length = .month
        case "Y": length = .year
        default: return nil
        }
        self.count = count
    }

    public override init() {
        count = 0
        length = .day
    }

    open var numberOfUnits: Int { count }
    open var unit: SKProduct.PeriodUnit { length }
}

/// The storefront of the signed-in account (iOS 13).
open class SKStorefront: NSObject, @unchecked Sendable {
    // Written once, in an initializer.
    private let response: StorefrontResponse

    init(_ response: StorefrontResponse) { self.response = response }

    public override init() { response = StorefrontResponse(countryCode: "", id: "", currency: nil) }

    /// ISO 3166-1 alpha-3.
    open var countryCode: String { response.countryCode }
    open var identifier: String { response.id }
}
