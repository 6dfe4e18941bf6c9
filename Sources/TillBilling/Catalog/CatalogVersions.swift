/// The catalogues that a shop has had: what a product cost on a day. A price that somebody was told once does not age
/// with the order that it stands on; the catalogue in force says what counts.
public struct CatalogVersions: Sendable {
    /// One catalogue, and since when it was in force: until the next one came.
    public struct Version: Sendable {
        public let number: Int64
        public let since: Instant
        public let catalog: Catalog

        public init(number: Int64, since: Instant, catalog: Catalog) {
            self.number = number
            self.since = since
            self.catalog = catalog
        }
    }

    /// Oldest first.
    public let all: [Version]

    public init(_ versions: [Version]) { all = versions.sorted { $0.number < $1.number } }

    /// A product as the catalogue of that moment has it. The first catalogue counts for all time before it too. Where a
    /// catalogue lacks the product, the newest one before it that has it counts, or else the first one after it.
    public func product(_ id: ProductID, at moment: Instant) -> Product? {
        product(id, near: all.lastIndex { $0.since <= moment } ?? 0)
    }

    /// The same in the catalogue of that number; nil if there is none of that number.
    public func product(_ id: ProductID, inVersion number: Int64) -> Product? {
        all.lastIndex { $0.number == number }.flatMap { product(id, near: $0) }
    }

    /// What a product of today's catalogue cost in the catalogue of that moment.
    public func listPrice(of product: Product, at moment: Instant) -> ListPrice {
        ListPrice(of: self.product(product.id, at: moment) ?? product, orElse: product.price)
    }

    /// The same for something that was paid for: where the catalogue of that moment had it for nothing, the newest
    /// price before it counts, or else the first one after it. A price in another currency is worth nothing by itself.
    public func listPrice(of product: Product, at moment: Instant, paid: Money?) -> ListPrice {
        let price = listPrice(of: product, at: moment)
        guard let paid, paid.amount > 0, paid.currency != price.base.currency, price.base.amount == 0 else {
            return price
        }
        let index = all.lastIndex { $0.since <= moment } ?? 0
        let near = all.prefix(index).reversed() + all.dropFirst(index)
        return near.lazy.compactMap { $0.catalog[product.id] }.map { ListPrice(of: $0, orElse: product.price) }
            .first { $0.base.amount > 0 } ?? price
    }

    /// The same in the catalogue of that number; nil if there is none of that number.
    public func listPrice(of product: Product, inVersion number: Int64) -> ListPrice? {
        self.product(product.id, inVersion: number).map { ListPrice(of: $0, orElse: product.price) }
    }

    private func product(_ id: ProductID, near index: Int) -> Product? {
        guard all.indices.contains(index) else { return nil }
        return all[...index].reversed().lazy.compactMap { $0.catalog[id] }.first
            ?? all[(index + 1)...].lazy.compactMap { $0.catalog[id] }.first
    }
}
