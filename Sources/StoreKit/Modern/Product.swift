import Foundation

/// A product in the storefront of the device's account.
public struct Product: Identifiable, Hashable, Sendable {
    public let id: String
    public let type: ProductType
    /// In the storefront's language.
    public let displayName: String
    public let description: String
    /// The price of one unit in the storefront's currency, without offers.
    public let price: Decimal
    /// The price as formatted for the storefront.
    public let displayPrice: String
    public let isFamilyShareable: Bool
    /// Set for auto-renewable subscriptions only.
    public let subscription: SubscriptionInfo?
    /// The format style of the product's prices.
    public let priceFormatStyle: Decimal.FormatStyle.Currency
    /// The format style of the unit of the subscription period, in the storefront's language.
    @available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, *)
    public let subscriptionPeriodUnitFormatStyle: SubscriptionPeriod.Unit.FormatStyle
    /// The store's JSON description of the product.
    public let jsonRepresentation: Data
    /// The storefront of these values.
    let storefront: StorefrontResponse

    init(_ response: ProductResponse, in storefront: StorefrontResponse) {
        id = response.id
        type = ProductType(rawValue: response.type)
        displayName = response.displayName
        description = response.description
        price = response.price.decimal
        let locale = Locale.storefront(
            storefront.countryCode, language: response.locale, currency: response.price.currency)
        let style = Decimal.FormatStyle.Currency(code: response.price.currency, locale: locale)
        priceFormatStyle = style
        subscriptionPeriodUnitFormatStyle = SubscriptionPeriod.Unit.FormatStyle(locale: locale)
        displayPrice = price.formatted(style)
        isFamilyShareable = response.familyShareable
        subscription = response.subscription.flatMap {
            SubscriptionInfo(response: $0, price: response.price.decimal, priceFormatStyle: style)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        jsonRepresentation = (try? encoder.encode(response)) ?? Data()
        self.storefront = storefront
    }
}

extension Product {
    /// Requests products from the store. Unknown products, and products that aren't for sale in the account's
    /// storefront, are missing from the result.
    ///
    /// - Throws: `StoreKitError`.
    public static func products<Identifiers>(
        for identifiers: Identifiers
    ) async throws -> [Product] where Identifiers: Collection, Identifiers.Element == String {
        let session = EmulatedDevice.current.session
        var asked: Set<String> = []
        // The store refuses ids of other lengths, so it does not sell such products.
        let wanted = identifiers.filter { (1...200).contains($0.utf8.count) && asked.insert($0).inserted }
        var found: [Product] = []
        do throws(EmulatorClientError) {
            for start in stride(from: 0, to: wanted.count, by: questionLimit) {
                let answer = try await session.products(Array(wanted[start..<min(start + questionLimit, wanted.count)]))
                found += answer.data.map { Product($0, in: answer.storefront) }
            }
        } catch {
            throw StoreKitError(error)
        }
        return found
    }

    /// The maximum of ids in one request to the store.
    private static let questionLimit = 1_000

    /// The newest transaction of this product.
    public var latestTransaction: VerificationResult<Transaction>? {
        get async { await Transaction.latest(for: id) }
    }

    /// The transaction that entitles the customer to this product.
    @available(iOS, introduced: 15.0, deprecated: 18.4, message: "Use currentEntitlements")
    @available(macOS, introduced: 12.0, deprecated: 15.4, message: "Use currentEntitlements")
    @available(tvOS, introduced: 15.0, deprecated: 18.4, message: "Use currentEntitlements")
    @available(watchOS, introduced: 8.0, deprecated: 11.4, message: "Use currentEntitlements")
    public var currentEntitlement: VerificationResult<Transaction>? {
        get async { await Transaction.currentEntitlement(for: id) }
    }

    /// All transactions that entitle the customer to this product: a purchase, and a family-shared one.
    @available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
    public var currentEntitlements: Transaction.Transactions { Transaction.currentEntitlements(for: id) }
}

extension Product {
    /// The type of a product, by Apple's name.
    public struct ProductType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let consumable = ProductType(rawValue: "Consumable")
        public static let nonConsumable = ProductType(rawValue: "Non-Consumable")
        public static let nonRenewable = ProductType(rawValue: "Non-Renewing Subscription")
        public static let autoRenewable = ProductType(rawValue: "Auto-Renewable Subscription")

        /// In English.
        @available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
        public var localizedDescription: String { rawValue }
    }
}

extension Product: CustomDebugStringConvertible {
    public var debugDescription: String { String(decoding: jsonRepresentation, as: UTF8.self) }
}
