import TillBilling

extension TillStore {
    // MARK: Purchases

    /// Buys a product. The order is on this device's disk and at the server before the payment sheet is shown. Returns
    /// when the customer has closed the sheet and, after a payment, the server has answered or can't be reached.
    ///
    /// - Parameters:
    ///   - productID: the product id of App Store Connect.
    ///   - options: quantity, device, offer and others.
    /// - Throws: why the purchase failed. Nothing was granted, and the error's message says so if nothing was charged.
    ///   If the App Store still reports a payment, the order continues by itself, so keep it visible.
    ///   `TillError.orderID` names the order.
    @discardableResult
    public func purchase(
        _ productID: String, options: PurchaseOptions = PurchaseOptions()
    ) async throws(TillError) -> PurchaseResult {
        try await checkout.buy(ProductID(productID), options).result()
    }

    // MARK: Orders

    /// Returns the orders of the signed-in user on this device, newest first; none if no user is signed in.
    public func orders() async -> [StoreOrder] { await orders(all: false) }

    /// - Parameter all: whether to include the orders of other users of this installation, and those without a known
    ///   owner.
    package func orders(all: Bool) async -> [StoreOrder] {
        if all { return await components.journal.summaries() }
        guard let user = await components.signIn.userID else { return [] }
        return await components.journal.summaries(of: user)
    }

    /// Sends the proof of one order again. For an order that isn't ongoing, the result states its status.
    @discardableResult
    public func resubmit(orderID: String) async throws(TillError) -> PurchaseResult {
        guard let id = OrderID(orderID) else { throw TillError(.unknownOrder) }
        return try await checkout.resubmit(id).result()
    }

    /// Sends all pending paid purchases again, and returns when each is answered or postponed. Call it when the
    /// customer opens content that they may have paid for.
    public func checkOrderStatus() async { await retryCoordinator.checkAll() }

    /// Restores the customer's non-consumables and auto-renewable subscriptions through the App Store and the server.
    /// The App Store may ask the customer to sign in. For purchases that belong to another of the app's users, the
    /// server's configuration applies.
    public func restore() async throws(TillError) -> RestoreResult {
        let result = await checkout.restoreAll()
        if let error = result.failure, result.purchases.isEmpty { throw TillError(error) }
        return result
    }
}

extension PurchaseEnding {
    /// - Throws: the error of a purchase that failed.
    func result() throws(TillError) -> PurchaseResult { try outcome.result(isUncharged: isUncharged) }
}

extension PurchaseOutcome {
    /// - Throws: the error of a purchase that failed.
    func result(isUncharged: Bool = false) throws(TillError) -> PurchaseResult {
        switch self {
        case .completed(let order): .completed(order)
        case .deliveryPending(let order, let error):
            .deliveryPending(order, reason: TillError(error ?? .undelivered(.accepted), order: order.uuid))
        case .deferred(let order): .deferred(order)
        case .cancelled(let order): .cancelled(order)
        case .failed(let order, let error): throw TillError(error, order: order?.uuid, isUncharged: isUncharged)
        case .inProgress: .inProgress
        }
    }
}
