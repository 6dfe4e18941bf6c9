import TillBilling

extension Store {
    // MARK: The shop page

    /// The shop page as it was left, at once and without asking anybody: greyed out until `shelf` has answered (G2).
    ///
    /// - Parameter productIDs: those that the page shows, in its order; nil for all of the catalogue.
    public func keptShelf(_ productIDs: [String]? = nil) async -> Shelf {
        await rooms.catalogue.kept(productIDs, purchasing: await checkout.underWay)
    }

    /// What is for sale: ids from the server, names and prices from the store (P1). Never fails: without an answer it
    /// is the shelf of an earlier time, with the reason.
    ///
    /// - Parameter productIDs: those that the page shows, in its order; nil for all of the catalogue.
    public func shelf(_ productIDs: [String]? = nil) async -> Shelf {
        await rooms.catalogue.shelf(productIDs, purchasing: await checkout.underWay)
    }

    // MARK: What the server knows of whoever is signed in

    /// Points by kind. A refund of what was spent leaves less than zero.
    ///
    /// - Throws: `notSignedIn`, or `server` with the reason.
    public func wallet() async throws(StoreError) -> [String: Int64] { try await rooms.reads.wallet() }

    /// The movements of points, newest first.
    ///
    /// - Parameters:
    ///   - limit: 1 to 100.
    ///   - cursor: `next` of the page before.
    public func postings(limit: Int = 20, after cursor: String? = nil) async throws(StoreError) -> WalletPage {
        try await rooms.reads.postings(limit: limit, after: cursor)
    }

    /// What may be used now, the oldest first.
    public func entitlements() async throws(StoreError) -> [Entitlement] { try await rooms.reads.entitlements() }

    /// Whether one thing may be used now, until when, and why: the gate in front of a feature, in one call.
    ///
    /// - Parameter name: the right's name in the catalogue.
    /// - Throws: `server` with the code `unknown_entitlement` for a name that the catalogue does not have.
    public func entitlement(_ name: String) async throws(StoreError) -> EntitlementAccess {
        try await rooms.reads.entitlement(name)
    }

    /// All auto-renewable subscriptions that there are or were, the newest first.
    public func subscriptions() async throws(StoreError) -> [SubscriptionRecord] {
        try await rooms.reads.subscriptions()
    }

    /// What buying a plan now would come to, with the arithmetic spelled out (C6).
    ///
    /// - Parameter plan: the product's id, with or without the app's bundle id before it; or the plan's.
    public func previewPlan(_ plan: String, quantity: Int = 1) async throws(StoreError) -> PlanPreview {
        try await rooms.reads.planPreview(plan, quantity: quantity)
    }
}
