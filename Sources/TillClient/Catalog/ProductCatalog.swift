import TillAPI
import TillBilling

/// The shop's products: product ids from the server, names and prices from the store. Both are cached for the next
/// launch.
package actor ProductCatalog {
    private let file: CacheFile
    private let server: ServerAccess
    private let ask: @Sendable ([ProductID]) async throws(AppStoreError) -> [StoreListing]
    private var record: ProductCache
    /// The store's listings since launch. Only these products can be bought.
    private var listed: [ProductID: StoreListing] = [:]

    /// - Parameter products: requests listings from the store (`StoreAccess.products`).
    package init(
        file: CacheFile, server: ServerAccess,
        products: @escaping @Sendable ([ProductID]) async throws(AppStoreError) -> [StoreListing]
    ) {
        self.file = file
        self.server = server
        ask = products
        record = file.read().flatMap { ProductCache($0, server: server.url) } ?? ProductCache(server: server.url)
    }

    /// The cached products, returned at once without a request.
    ///
    /// - Parameters:
    ///   - ids: the products on the page, in its order; nil for the whole catalogue.
    ///   - purchasing: products with a purchase in progress.
    package func cachedProducts(_ ids: [String]? = nil, purchasing: Set<ProductID> = []) -> [StoreProduct] {
        catalogProducts(ids).map { item($0, purchasing, isListed: false) }
    }

    /// Requests the products from the server and the store, and caches the answers. Without the server's answer it uses
    /// the cached ids.
    ///
    /// - Returns: the products for sale. A requested one that the server or the store does not offer is missing.
    /// - Throws: `productListUnavailable` without an answer of the store, and `productUnavailable` if it sells none of
    ///   the products.
    package func products(
        _ ids: [String]? = nil, purchasing: Set<ProductID> = []
    ) async throws(StoreError) -> [StoreProduct] {
        if let ids, ids.isEmpty { return [] }
        await readProducts()
        let wanted = catalogProducts(ids)
        guard !record.products.isEmpty else { throw .productListUnavailable }
        let asked = wanted.map { ProductID($0.id) }
        do throws(AppStoreError) {
            let answer = asked.isEmpty ? [] : try await ask(asked)
            update(answer, about: asked)
        } catch {
            throw .productListUnavailable
        }
        let items = wanted.filter { listed[ProductID($0.id)] != nil }.map { item($0, purchasing, isListed: true) }
        guard !items.isEmpty else { throw .productUnavailable }
        return items
    }

    /// The entitlement that a product grants, as far as the server has stated it.
    package func entitlement(of id: ProductID) -> String? { record.products.first { $0.id == id.text }?.entitlement }

    /// The current listing of exactly the requested product.
    package func listing(of id: ProductID) async throws(StoreError) -> StoreListing {
        if let listing = listed[id] { return listing }
        do throws(AppStoreError) {
            update(try await ask([id]), about: [id])
        } catch {
            throw error.isRetryable ? .productListUnavailable : .store(error)
        }
        guard let listing = listed[id] else { throw .productUnavailable }
        return listing
    }

    /// The name and kind of a product, as far as the server or the store has stated them.
    package func label(of id: ProductID) -> ProductLabel? {
        let product = record.products.first { $0.id == id.text }
        let name = (listed[id] ?? record.listings[id])?.name ?? product.map { $0.names[server.language] }
        return name.map { ProductLabel(name: $0, kind: product?.kind) }
    }

    /// Discards the listings: after a change of country, prices and availability may differ.
    package func storefrontChanged() { listed = [:] }

    // MARK: Cached data

    private func catalogProducts(_ ids: [String]?) -> [CachedProduct] {
        guard let ids else { return record.products }
        let known = Dictionary(record.products.map { ($0.id, $0) }) { first, _ in first }
        var seen: Set<String> = []
        return ids.compactMap { seen.insert($0).inserted ? known[$0] : nil }
    }

    private func item(_ product: CachedProduct, _ purchasing: Set<ProductID>, isListed: Bool) -> StoreProduct {
        let id = ProductID(product.id)
        return StoreProduct(
            product, listed[id] ?? record.listings[id], isListed: isListed, isPurchasing: purchasing.contains(id),
            server.language)
    }

    /// Records the store's answer. A requested product that is missing from it is not for sale now.
    private func update(_ answer: [StoreListing], about asked: [ProductID]) {
        let wanted = Set(asked)
        let found = Dictionary(
            answer.filter { wanted.contains($0.id) }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for id in asked { listed[id] = found[id] }
        var changed = record
        // A page with some of the products must not remove the cached listings of the others.
        let known = Set(record.products.map { ProductID($0.id) })
        for id in asked { changed.listings[id] = known.contains(id) ? found[id] : nil }
        store(changed)
    }

    private func readProducts() async {
        // The reason does not matter: the cached products stay, and an unreadable answer counts as none.
        // A cache of an earlier version lacks the kinds, so an unchanged catalogue is read again.
        let isComplete = !record.products.isEmpty && record.products.allSatisfy { $0.kind != nil }
        guard let answer = try? await server.products(ifNoneMatch: isComplete ? record.etag : nil) else { return }
        var known: Set<ProductID> = []
        let products = answer.products.prefix(ProductCache.productLimit).filter { product in
            let id = ProductID(product.id)
            return id.isWellFormed && known.insert(id).inserted
        }
        var changed = record
        changed.etag = answer.etag
        changed.products = products
        changed.listings = record.listings.filter { known.contains($0.key) }
        store(changed)
    }

    private func store(_ changed: ProductCache) {
        guard changed != record else { return }
        record = changed
        if let bytes = changed.bytes { file.replace(bytes) }
    }
}
