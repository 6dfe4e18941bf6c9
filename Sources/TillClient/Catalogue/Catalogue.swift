import TillAPI
import TillBilling

/// The shop's shelf: product ids from the server, names and prices from the store, both kept for the next launch
/// (P1, G2, L4).
package actor Catalogue {
    private let file: CatalogueFile
    private let server: ServerAccess
    private let ask: @Sendable ([ProductID]) async throws(StoreProblem) -> [StoreListing]
    private var record: CatalogueRecord
    /// What the store has listed since the launch: only this can be bought.
    private var listed: [ProductID: StoreListing] = [:]

    /// - Parameter products: asks the store, `StoreAccess.products`.
    package init(
        file: CatalogueFile, server: ServerAccess,
        products: @escaping @Sendable ([ProductID]) async throws(StoreProblem) -> [StoreListing]
    ) {
        self.file = file
        self.server = server
        ask = products
        record = file.read().flatMap { CatalogueRecord($0, server: server.url) } ?? CatalogueRecord(server: server.url)
    }

    /// The shelf as it was left, at once and without asking anybody.
    ///
    /// - Parameters:
    ///   - ids: those that the page shows, in its order; nil for all of the catalogue.
    ///   - purchasing: products that are being bought just now (G3).
    package func kept(_ ids: [String]? = nil, purchasing: Set<ProductID> = []) -> Shelf {
        let wanted = products(ids)
        return Shelf(
            items: wanted.map { item($0, purchasing, isListed: false) }, isFromCache: true,
            problem: wanted.isEmpty ? .productListUnavailable : nil)
    }

    /// Asks the server and the store, and keeps what they say. If the server does not answer, the ids of an earlier
    /// launch do; if the store does not, the shelf is as it was left, with the reason.
    package func shelf(_ ids: [String]? = nil, purchasing: Set<ProductID> = []) async -> Shelf {
        await readProducts()
        let wanted = products(ids)
        guard !record.products.isEmpty else {
            return Shelf(items: [], isFromCache: true, problem: .productListUnavailable)
        }
        let asked = wanted.map { ProductID($0.id) }
        do throws(StoreProblem) {
            let answer = asked.isEmpty ? [] : try await ask(asked)
            learn(answer, about: asked)
        } catch {
            return Shelf(
                items: wanted.map { item($0, purchasing, isListed: false) }, isFromCache: true,
                problem: .productListUnavailable)
        }
        let items = wanted.filter { listed[ProductID($0.id)] != nil }.map { item($0, purchasing, isListed: true) }
        let found = Set(items.map(\.id))
        let missing = (ids ?? wanted.map(\.id)).filter { !found.contains($0) }
        return Shelf(
            items: items, isFromCache: false, missing: missing, problem: items.isEmpty ? .productUnavailable : nil)
    }

    /// The product that is asked for, as the store sells it now: never another one (L4).
    package func listing(of id: ProductID) async throws(StoreError) -> StoreListing {
        if let listing = listed[id] { return listing }
        do throws(StoreProblem) {
            learn(try await ask([id]), about: [id])
        } catch {
            throw error.isRetryable ? .productListUnavailable : .store(error)
        }
        guard let listing = listed[id] else { throw .productUnavailable }
        return listing
    }

    /// The customer is in another country now: prices and what is sold may be others.
    package func storefrontChanged() { listed = [:] }

    // MARK: What is known

    private func products(_ ids: [String]?) -> [CatalogueProduct] {
        guard let ids else { return record.products }
        let known = Dictionary(record.products.map { ($0.id, $0) }) { first, _ in first }
        var seen: Set<String> = []
        return ids.compactMap { seen.insert($0).inserted ? known[$0] : nil }
    }

    private func item(_ product: CatalogueProduct, _ purchasing: Set<ProductID>, isListed: Bool) -> ShelfItem {
        let id = ProductID(product.id)
        return ShelfItem(
            product, listed[id] ?? record.listings[id], isListed: isListed, isPurchasing: purchasing.contains(id),
            server.language)
    }

    /// What was asked about and is not in the answer, the store does not sell now.
    private func learn(_ answer: [StoreListing], about asked: [ProductID]) {
        let wanted = Set(asked)
        let found = Dictionary(
            answer.filter { wanted.contains($0.id) }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for id in asked { listed[id] = found[id] }
        var changed = record
        // A page that shows some of the products does not make the others forgotten.
        let known = Set(record.products.map { ProductID($0.id) })
        for id in asked { changed.listings[id] = known.contains(id) ? found[id] : nil }
        keep(changed)
    }

    private func readProducts() async {
        // Whatever the reason: what is known stays, and an answer that can't be read is none (P11).
        guard let answer = try? await server.products(ifNoneMatch: record.products.isEmpty ? nil : record.etag) else {
            return
        }
        var known: Set<ProductID> = []
        let products = answer.products.prefix(CatalogueRecord.productLimit).filter { product in
            let id = ProductID(product.id)
            return id.isWellFormed && known.insert(id).inserted
        }
        var changed = record
        changed.etag = answer.etag
        changed.products = products
        changed.listings = record.listings.filter { known.contains($0.key) }
        keep(changed)
    }

    private func keep(_ changed: CatalogueRecord) {
        guard changed != record else { return }
        record = changed
        if let bytes = changed.bytes { file.replace(bytes) }
    }
}
