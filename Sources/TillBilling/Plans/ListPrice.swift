/// What one of a product cost in one catalogue: in the currency that balances are counted in, and in the currencies of
/// other storefronts that the catalogue names.
public struct ListPrice: Hashable, Sendable {
    public let base: Money
    /// In minor units.
    private let others: [Currency: Int64]

    /// - Parameters:
    ///   - product: as the catalogue of that day has it.
    ///   - usual: its price today. It says which currency balances are counted in, and counts itself where the
    ///     catalogue of that day knew no price in that currency.
    public init(of product: Product, orElse usual: Money) {
        var prices = Dictionary(
            product.prices.map { (Currency($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
        prices[product.price.currency] = product.price.amount
        base = Money(amount: max(0, prices[usual.currency] ?? usual.amount), currency: usual.currency)
        others = prices
    }

    /// What a plan costs where no other currency is known.
    init(of plan: Plan) {
        base = plan.price
        others = [:]
    }

    /// What a purchase is worth in a conversion: what was paid for it, and never more.
    ///
    /// - What was paid in the currency of balances counts as it is.
    /// - What was paid in another currency that the catalogue lists is that part of the list price which it is of the
    ///   price in its own currency, and the list price at most. It is rounded down to the minor unit.
    /// - In a currency that the catalogue doesn't list it is the list price, because a storefront's price is no
    ///   exchange rate; at the price of an offer, which may be any part of the list price, it is nothing.
    /// - Where Apple signed no price, as in a receipt, it is the list price.
    ///
    /// - Parameters:
    ///   - paid: for the whole quantity, as Apple signed it.
    ///   - isOffer: whether Apple signed that an offer made the price.
    public func worth(of paid: Money?, quantity: Int, isOffer: Bool) -> Money {
        let listed = Self.times(base.amount, quantity)
        guard let paid else { return Money(amount: listed, currency: base.currency) }
        guard paid.amount > 0, paid.currency != base.currency else {
            return Money(amount: max(0, paid.amount), currency: base.currency)
        }
        guard let one = others[paid.currency], one > 0 else {
            return Money(amount: isOffer ? 0 : listed, currency: base.currency)
        }
        let full = Self.times(one, quantity)
        let part = paid.amount < full ? full.dividingFullWidth(listed.multipliedFullWidth(by: paid.amount)) : nil
        return Money(amount: part?.quotient ?? listed, currency: base.currency)
    }

    private static func times(_ amount: Int64, _ quantity: Int) -> Int64 {
        let (product, overflow) = amount.multipliedReportingOverflow(by: Int64(quantity))
        return overflow ? .max : max(0, product)
    }
}
