import TillBilling
import TillSQL

/// The plans that a user bought, from the ledger.
package enum PlanHistory {
    /// The maximum number of a user's newest transactions read.
    static let transactionLimit = 20_000

    /// The purchases in force, by Apple's purchase dates, oldest first. `Service` decides when each counts.
    package static func purchases(
        of user: UserID, in environment: StoreEnvironment, _ catalogs: CatalogHistory, _ connection: any Connection
    ) throws -> [PlanPurchase] {
        let entries = try GrantedPurchases(connection).list(
            user: user, environment: environment, limit: transactionLimit
        ) { id, _ in catalogs.current[id].flatMap { Plan(soldBy: $0) } != nil }
        guard !entries.isEmpty else { return [] }
        let versions = try catalogs.versions(connection)
        return entries.compactMap { PlanPurchase($0, catalogs.current, versions) }
    }

    /// The earliest moment of the next purchase. The store's clock may be ahead of the server's, and a new purchase
    /// cannot precede the recorded ones.
    package static func next(after purchases: [PlanPurchase], at now: Instant) -> Instant {
        (purchases + PlanPurchase.counted(purchases)).reduce(now) { max($0, $1.at) }
    }
}

extension PlanPurchase {
    /// Worth what was paid for it, at the list price of its date. The order's own price is ignored, because the payer
    /// may have opened the order years ago.
    ///
    /// Nil if the catalogue has no plan for the product: sold plans stay in the catalogue as long as a customer has
    /// them.
    init?(_ entry: GrantedPurchases.Entry, _ catalog: Catalog, _ versions: CatalogVersions) {
        guard let product = catalog[entry.productID] else { return nil }
        let price = versions.listPrice(of: product, at: entry.purchasedAt, paid: entry.price)
        let sold = versions.product(entry.productID, at: entry.purchasedAt)?.plan
        guard let plan = Plan(soldBy: product, at: price.base, as: sold) else { return nil }
        self.init(
            plan: plan, quantity: entry.quantity,
            worth: price.worth(of: entry.price, quantity: entry.quantity, isOffer: entry.isOffer),
            at: entry.purchasedAt, preview: Self.preview(entry, product, versions), deviceID: entry.order.deviceID,
            transactionID: entry.id)
    }

    /// The preview that the buyer saw of this purchase, at the catalogue's price when the order was opened.
    private static func preview(
        _ entry: GrantedPurchases.Entry, _ product: CatalogProduct, _ versions: CatalogVersions
    ) -> Preview? {
        let order = entry.order
        guard let at = order.previewedAt, order.productID == entry.productID, order.quantity == entry.quantity else {
            return nil
        }
        let shown =
            order.catalogVersion.flatMap { versions.listPrice(of: product, inVersion: $0) }
            ?? versions.listPrice(of: product, at: at)
        return Preview(at: at, price: shown.base)
    }
}
