import Foundation

/// What an app sells, as the storefront of the device's account sees it.
public struct Product: Identifiable, Hashable, Sendable {
    public let id: String
    public let type: ProductType
    /// In the storefront's language.
    public let displayName: String
    public let description: String
    /// Of one, in the storefront's currency, without offers.
    public let price: Decimal
    /// The price as the storefront writes it.
    public let displayPrice: String
    public let isFamilyShareable: Bool
    /// Of auto-renewable subscriptions only.
    public let subscription: SubscriptionInfo?
    /// How prices of this product are written.
    public let priceFormatStyle: Decimal.FormatStyle.Currency
    /// JSON: what the store says of the product.
    public let jsonRepresentation: Data
    /// Where all this holds.
    let storefront: StorefrontWords

    init(_ words: ProductWords, in storefront: StorefrontWords) {
        id = words.id
        type = ProductType(rawValue: words.type)
        displayName = words.displayName
        description = words.description
        price = words.price.decimal
        let style = Decimal.FormatStyle.Currency(
            code: words.price.currency,
            locale: .storefront(storefront.countryCode, language: words.locale, currency: words.price.currency))
        priceFormatStyle = style
        displayPrice = price.formatted(style)
        isFamilyShareable = words.familyShareable
        subscription = words.subscription.flatMap { SubscriptionInfo(words: $0, priceFormatStyle: style) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        jsonRepresentation = (try? encoder.encode(words)) ?? Data()
        self.storefront = storefront
    }
}

extension Product {
    /// Asks the store for products. What is unknown there, or not on sale in the account's storefront, is missing
    /// from the answer.
    ///
    /// - Throws: `StoreKitError`.
    public static func products<Identifiers>(
        for identifiers: Identifiers
    ) async throws -> [Product] where Identifiers: Collection, Identifiers.Element == String {
        let session = EmulatedDevice.current.session
        var asked: Set<String> = []
        // Ids that the store does not even take are none that it sells.
        let wanted = identifiers.filter { (1...200).contains($0.utf8.count) && asked.insert($0).inserted }
        var found: [Product] = []
        do throws(StoreFault) {
            for start in stride(from: 0, to: wanted.count, by: questionLimit) {
                let answer = try await session.products(Array(wanted[start..<min(start + questionLimit, wanted.count)]))
                found += answer.data.map { Product($0, in: answer.storefront) }
            }
        } catch {
            throw StoreKitError(error)
        }
        return found
    }

    /// How many ids the store takes at once.
    private static let questionLimit = 1_000

    /// The newest transaction of this product.
    public var latestTransaction: VerificationResult<Transaction>? {
        get async { await Transaction.latest(for: id) }
    }

    /// What gives the customer a right to this product.
    public var currentEntitlement: VerificationResult<Transaction>? {
        get async { await Transaction.currentEntitlement(for: id) }
    }

    /// Everything that gives the customer a right to this product: an own purchase, and the family's.
    public var currentEntitlements: Transaction.Transactions { Transaction.currentEntitlements(for: id) }
}

extension Product {
    /// What kind of thing it is, in Apple's words.
    public struct ProductType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let consumable = ProductType(rawValue: "Consumable")
        public static let nonConsumable = ProductType(rawValue: "Non-Consumable")
        public static let nonRenewable = ProductType(rawValue: "Non-Renewing Subscription")
        public static let autoRenewable = ProductType(rawValue: "Auto-Renewable Subscription")

        public var localizedDescription: String { rawValue }
    }
}
