/// Prices that no table can check, because neither tiers nor price points are known for their currencies.
public struct UncheckedPrices: Hashable, Sendable {
    /// In alphabetical order.
    public let currencies: [String]
    /// In alphabetical order.
    public let products: [String]

    /// Nil if every price has a currency of the table.
    public init?(_ prices: some Sequence<(product: ProductID, price: Money)>) {
        let unknown = prices.filter { PriceAvailability(of: $0.price) == .unknownCurrency }
        guard !unknown.isEmpty else { return nil }
        currencies = Set(unknown.map(\.price.currency.text)).sorted()
        products = Set(unknown.map(\.product.text)).sorted()
    }

    /// For operators, at the start of a server or an emulated store.
    public var sentence: LocalizedText {
        let (first, isMore) = (products.prefix(5), products.count > 5)
        let english = (first + (isMore ? ["…"] : [])).joined(separator: ", ")
        let chinese = first.joined(separator: "、") + (isMore ? " 等" : "")
        return LocalizedText(
            en: "no price points are known in \(currencies.joined(separator: ", ")): the prices of \(english) in these "
                + "currencies are accepted unchecked; compare them with App Store Connect",
            zh: "没有 \(currencies.joined(separator: "、")) 的价格点资料：\(chinese)以这些货币标的价格未经核对即被接受；"
                + "请与 App Store Connect 核对")
    }
}

extension Catalog {
    /// The list prices in currencies without known price points.
    public var uncheckedPrices: UncheckedPrices? {
        UncheckedPrices(
            products.lazy.flatMap { product in
                ([product.price] + product.prices.map { Money(amount: $0.value, currency: Currency($0.key)) })
                    .map { (product.id, $0) }
            })
    }
}
