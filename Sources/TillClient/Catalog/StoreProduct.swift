import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A product on the shop page.
public struct StoreProduct: Hashable, Sendable, Identifiable {
    /// The type of a product, as in App Store Connect.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A product that is used up and can be bought again.
        case consumable
        /// A product that is bought once and doesn't expire.
        case nonConsumable
        /// A subscription that Apple renews.
        case autoRenewable
        /// A subscription that ends after a fixed time.
        case nonRenewing
    }

    /// The product id of App Store Connect.
    public let id: String
    /// The App Store's name in the storefront's language, or the server's name until the App Store provides one.
    public let name: String
    /// The App Store's description; empty until the App Store provides one.
    public let description: String
    /// The price as formatted by the App Store: `¥6.00`. Empty until the App Store provides one.
    public let displayPrice: String
    /// The price in units of the currency: 6 for ¥6.00.
    public let price: Decimal?
    /// The currency's ISO 4217 code.
    public let currency: String?
    /// The type of the product; nil for a type that this version doesn't know.
    public let kind: Kind?
    /// A Boolean value that indicates whether the product can be bought now: the App Store lists it, and no purchase of
    /// it is in progress. False for every cached product: show it dimmed.
    public let canBuy: Bool
    /// A Boolean value that indicates whether a purchase of the product is in progress.
    public let isPurchasing: Bool
    /// A Boolean value that indicates whether this Apple Account would get the introductory offer of the subscription,
    /// according to the App Store; nil while unknown, and for products without such an offer.
    public let isEligibleForIntroductoryOffer: Bool?
}

extension StoreProduct {
    init(
        _ product: CachedProduct, _ listing: StoreListing?, isListed: Bool, isPurchasing: Bool, _ language: Language
    ) {
        id = product.id
        let serverName = product.names[language]
        name = listing.map(\.name) ?? (serverName.isEmpty ? product.names.en : serverName)
        description = listing?.description ?? ""
        displayPrice = listing?.displayPrice ?? ""
        price = listing.map { Decimal(minorUnitsOf: $0.price) }
        currency = listing?.price.currency.text
        kind = Kind(listing?.type ?? product.type)
        canBuy = isListed && !isPurchasing
        isEligibleForIntroductoryOffer = isListed ? listing?.isEligibleForIntroductoryOffer : nil
        self.isPurchasing = isPurchasing
    }
}

extension StoreProduct.Kind {
    init?(_ type: ProductType?) {
        switch type {
        case .consumable: self = .consumable
        case .nonConsumable: self = .nonConsumable
        case .autoRenewable: self = .autoRenewable
        case .nonRenewing: self = .nonRenewing
        case .freeSubscription, nil: return nil
        }
    }
}

extension Decimal {
    /// Converts exactly, as a decimal number without a binary fraction.
    init(minorUnitsOf money: Money) {
        self.init(
            sign: money.amount < 0 ? .minus : .plus, exponent: -money.currency.minorDigits,
            significand: Decimal(money.amount.magnitude))
    }
}
