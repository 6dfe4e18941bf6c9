import Foundation

/// A product as the App Store offers it in the customer's storefront.
open class SKProduct: NSObject, @unchecked Sendable {
    public enum PeriodUnit: UInt, Hashable, Sendable {
        case day = 0
        case week = 1
        case month = 2
        case year = 3
    }

    // All written once, in an initialiser.
    private let words: ProductWords?
    let storefront: StorefrontWords?
    private let offerLocale: Locale

    init(_ words: ProductWords, in storefront: StorefrontWords) {
        self.words = words
        self.storefront = storefront
        offerLocale = Locale(words, in: storefront)
    }

    public override init() {
        words = nil
        storefront = nil
        offerLocale = Locale(identifier: "")
    }

    open var productIdentifier: String { words?.id ?? "" }
    /// In the language of the storefront, whatever the device's is (facts/storekit-client A2).
    open var localizedTitle: String { words?.displayName ?? "" }
    open var localizedDescription: String { words?.description ?? "" }
    /// Of one, in the currency of `priceLocale`.
    open var price: NSDecimalNumber { NSDecimalNumber(decimal: words?.price.decimal ?? 0) }
    open var priceLocale: Locale { offerLocale }
    open var contentVersion: String { "" }
    open var isFamilyShareable: Bool { words?.familyShareable ?? false }

    open var subscriptionGroupIdentifier: String? { words?.subscription?.groupId }
    open var subscriptionPeriod: SKProductSubscriptionPeriod? {
        words?.subscription.flatMap { SKProductSubscriptionPeriod(iso8601: $0.period) }
    }
    open var introductoryPrice: SKProductDiscount? {
        words?.subscription?.introductoryOffer.flatMap { SKProductDiscount($0, .introductory, priceLocale) }
    }
    /// Promotional offers; each wants a signature.
    open var discounts: [SKProductDiscount] {
        (words?.subscription?.promotionalOffers ?? []).compactMap { SKProductDiscount($0, .subscription, priceLocale) }
    }

    // Hosted content, which the emulated store has none of.
    open var isDownloadable: Bool { false }
    open var downloadContentLengths: [NSNumber] { [] }
    open var downloadContentVersion: String { "" }
}

extension Locale {
    /// The language of the product's text, the storefront's country and the price's currency.
    fileprivate init(_ words: ProductWords, in storefront: StorefrontWords) {
        let language = words.locale.flatMap { $0.split(separator: "-").first.map(String.init) } ?? "en"
        // Foundation reads a country of three letters as the one of two.
        let region = Locale(identifier: "en_\(storefront.countryCode)").region?.identifier ?? ""
        let place = region.isEmpty ? language : "\(language)_\(region)"
        self.init(identifier: "\(place)@currency=\(words.price.currency)")
    }
}
