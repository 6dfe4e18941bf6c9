import TillBilling
import TillSQL

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
