import TillBilling

extension TillStore {
    // MARK: The shop page

    /// Returns the cached products at once, without a request. Show them dimmed until `productList` has answered.
    ///
    /// - Parameter productIDs: the products on the page, in its order; nil for the whole catalogue.
    public func cachedProducts(_ productIDs: [String]? = nil) async -> ProductList {
        await components.catalog.cachedProducts(productIDs, purchasing: await checkout.underWay)
    }

    /// Returns the products for sale: ids from the server, names and prices from the store. It never fails: without an
    /// answer it returns the cached products, with the reason.
    ///
    /// - Parameter productIDs: the products on the page, in its order; nil for the whole catalogue.
    public func products(_ productIDs: [String]? = nil) async -> ProductList {
        await components.catalog.products(productIDs, purchasing: await checkout.underWay)
    }

    // MARK: The signed-in user's data

    /// Returns the points by kind. A balance is negative after a refund of spent points.
    ///
    /// - Throws: `notSignedIn`, or `server` with the reason.
    public func wallet() async throws(StoreError) -> [String: Int64] { try await components.reads.wallet() }

    /// Returns the movements of points, newest first.
    ///
    /// - Parameters:
    ///   - limit: 1 to 100.
    ///   - cursor: `next` of the previous page.
    public func postings(limit: Int = 20, after cursor: String? = nil) async throws(StoreError) -> WalletPage {
        try await components.reads.postings(limit: limit, after: cursor)
    }

    /// Returns the current entitlements, oldest first.
    public func entitlements() async throws(StoreError) -> [Entitlement] { try await components.reads.entitlements() }

    /// Returns whether an entitlement is available now, until when, and why. Call it before you unlock a feature.
    ///
    /// - Parameter name: the entitlement's name in the catalogue.
    /// - Throws: `server` with the code `unknown_entitlement` if the catalogue has no such name.
    public func entitlement(_ name: String) async throws(StoreError) -> EntitlementAccess {
        try await components.reads.entitlement(name)
    }

    /// Returns all current and past auto-renewable subscriptions, newest first.
    public func subscriptions() async throws(StoreError) -> [SubscriptionRecord] {
        try await components.reads.subscriptions()
    }

    /// Returns the result that buying a plan for this device would have now, with the calculation. To get exactly this
    /// result, pass it to `purchase`.
    ///
    /// - Parameter plan: the product's id, with or without the app's bundle id before it, or the plan's id.
    public func previewPlan(_ plan: String, quantity: Int = 1) async throws(StoreError) -> PlanPreview {
        try await components.reads.planPreview(plan, quantity: quantity)
    }
}
