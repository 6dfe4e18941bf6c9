import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension TillStore {
    // MARK: The shop page

    /// Returns the products for sale: ids from the server, names and prices from the App Store. A product that the
    /// server or the App Store doesn't offer now is missing.
    ///
    /// - Parameter productIDs: the products on the page, in its order; nil for the whole catalogue.
    /// - Throws: why nothing can be bought. Show `cachedProducts` then.
    @discardableResult
    public func products(_ productIDs: [String]? = nil) async throws(TillError) -> [StoreProduct] {
        do throws(StoreError) {
            let found = try await components.catalog.products(productIDs, purchasing: await checkout.underWay)
            components.state.change { $0.products = found }
            return found
        } catch {
            components.log.record(.warning, "products_unavailable", code: error.code)
            throw TillError(error)
        }
    }

    /// Returns the products of the last launch at once, without a request; empty if there are none. None can be bought:
    /// show them dimmed until `products` has answered.
    public func cachedProducts(_ productIDs: [String]? = nil) async -> [StoreProduct] {
        let found = await components.catalog.cachedProducts(productIDs, purchasing: await checkout.underWay)
        components.state.change { if $0.products.isEmpty { $0.products = found } }
        return found
    }

    // MARK: The signed-in user's account

    /// Asks the server for the entitlements, the wallet and changed orders now. The kit does so by itself at a sign-in,
    /// after a purchase, after a refund and when the network returns.
    @discardableResult
    public func refresh() async throws(TillError) -> StoreState {
        do throws(StoreError) { try await account.refresh() } catch { throw TillError(error) }
        await retryCoordinator.compareOrders()
        return state
    }

    /// Returns the points by kind. A balance is negative after a refund of spent points.
    public func wallet() async throws(TillError) -> [String: Int64] {
        let (user, points) = try await read { reads throws(StoreError) in
            let session = try await reads.signedIn()
            return (session.userID.text, try await reads.wallet(as: session))
        }
        components.state.change { if $0.userID == user { $0.wallet = points } }
        return points
    }

    /// Returns the movements of points, newest first.
    ///
    /// - Parameters:
    ///   - limit: 1 to 100.
    ///   - cursor: `next` of the previous page.
    public func postings(limit: Int = 20, after cursor: String? = nil) async throws(TillError) -> WalletPage {
        try await read { reads throws(StoreError) in try await reads.postings(limit: limit, after: cursor) }
    }

    /// Asks the server whether an entitlement is available now, until when, and why.
    ///
    /// - Parameter name: the entitlement's name in the catalogue.
    public func entitlement(_ name: String) async throws(TillError) -> EntitlementAccess {
        try await read { reads throws(StoreError) in try await reads.entitlement(name) }
    }

    /// Returns all current and past auto-renewable subscriptions, newest first.
    public func subscriptions() async throws(TillError) -> [SubscriptionRecord] {
        try await read { reads throws(StoreError) in try await reads.subscriptions() }
    }

    /// Returns the result that buying a plan would have now, with the calculation. To get exactly this result, buy with
    /// `PurchaseOptions(preview)`.
    ///
    /// - Parameters:
    ///   - plan: the product's id, with or without the app's bundle id before it, or the plan's id.
    ///   - device: the device that the plan is for; nil for this phone.
    public func previewPlan(
        _ plan: String, quantity: Int = 1, device: String? = nil
    ) async throws(TillError) -> PlanPreview {
        try await read { reads throws(StoreError) in
            try await reads.planPreview(plan, quantity: quantity, device: device)
        }
    }

    /// Claims a purchase that has no owner, by the order number in Apple's mail.
    ///
    /// - Returns: the purchases of that order, and whether each belongs to the signed-in user now; empty if the server
    ///   waits for Apple's answer.
    public func claim(appleOrderNumber: String) async throws(TillError) -> [ClaimedPurchase] {
        let found = try await read { reads throws(StoreError) in try await reads.claim(appleOrderNumber) }
        account.refreshSoon()
        return found
    }

    /// Stores whether the customer agrees that Apple is told how much of a purchase was used, when Apple decides about
    /// a refund. Without consent nothing is sent.
    public func setConsumptionConsent(_ isGiven: Bool) async throws(TillError) {
        try await read { reads throws(StoreError) in try await reads.setConsent(isGiven) }
    }

    private func read<Value: Sendable>(
        _ body: (ServerReads) async throws(StoreError) -> Value
    ) async throws(TillError) -> Value {
        do throws(StoreError) { return try await body(components.reads) } catch { throw TillError(error) }
    }
}

/// A purchase that was claimed by Apple's order number.
public struct ClaimedPurchase: Hashable, Sendable {
    /// Nil if Apple's answer about it is invalid.
    public let transactionID: String?
    /// Nil if Apple's answer about it is invalid.
    public let productID: String?
    /// A Boolean value that indicates whether the purchase belongs to the signed-in user now.
    public let isYours: Bool
    /// Why not: a stable code.
    public let code: String?
}
