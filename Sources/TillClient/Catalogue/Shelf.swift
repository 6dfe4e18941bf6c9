import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the shop page shows (P1, G2).
public struct Shelf: Hashable, Sendable {
    /// In the server's order, or in the order that was asked for.
    public let items: [ShelfItem]
    /// Whether names and prices are those of an earlier time, because the store has not answered now. Then nothing can
    /// be bought: show it greyed.
    public let isFromCache: Bool
    /// Ids that were asked for and that the server or the store does not offer now; they are not among the items.
    /// Empty as long as the store has not answered.
    public let missing: [String]
    /// Why it can't be bought from, if it can't.
    public let problem: StoreError?

    package init(items: [ShelfItem], isFromCache: Bool, missing: [String] = [], problem: StoreError?) {
        self.items = items
        self.isFromCache = isFromCache
        self.missing = missing
        self.problem = problem
    }

    public subscript(id: String) -> ShelfItem? { items.first { $0.id == id } }
}

/// One product of the shop page.
public struct ShelfItem: Hashable, Sendable, Identifiable {
    /// What a product is, in Apple's four ways.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case consumable
        case nonConsumable
        case autoRenewable
        case nonRenewing
    }

    /// The product id of App Store Connect.
    public let id: String
    /// The store's name in the storefront's language; the server's, as long as the store has never named it.
    public let name: String
    /// Empty as long as the store has never described it.
    public let description: String
    /// As the store writes it: `¥6.00`. Empty as long as the store has never told one: nobody else knows it.
    public let displayPrice: String
    /// In whole units of the currency: 6 for ¥6.00.
    public let price: Decimal?
    /// ISO 4217.
    public let currency: String?
    /// Nil for a kind that this version does not know.
    public let kind: Kind?
    /// Whether a tap may buy it: the store has answered, and it isn't being bought already.
    public let canBuy: Bool
    /// A purchase of it is in progress (G3).
    public let isPurchasing: Bool
}

extension ShelfItem {
    init(
        _ product: CatalogueProduct, _ listing: StoreListing?, isListed: Bool, isPurchasing: Bool, _ language: Language
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
        self.isPurchasing = isPurchasing
    }
}

extension ShelfItem.Kind {
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
    /// Exactly: a decimal number, never a binary one.
    init(minorUnitsOf money: Money) {
        self.init(
            sign: money.amount < 0 ? .minus : .plus, exponent: -money.currency.minorDigits,
            significand: Decimal(money.amount.magnitude))
    }
}
