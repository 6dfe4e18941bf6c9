import TillBilling

/// The results of a purchase as callbacks. Exactly one of them is called, exactly once, even if the purchase could not
/// begin. On Apple platforms they run on the main actor, elsewhere on no particular thread.
public struct PurchaseCallbacks: Sendable {
    /// Called when the purchase is paid and granted.
    public var paid: @Sendable (StoreOrder) -> Void
    /// Called when the purchase is paid and will arrive automatically. The error states what the server waits for.
    public var deliveryPending: @Sendable (StoreOrder, TillError) -> Void
    /// Called when the purchase is paid and will arrive automatically once the network or the server is available
    /// again.
    public var deliveryPendingNetwork: @Sendable (StoreOrder, TillError) -> Void
    /// Called when the purchase waits for approval (Ask to Buy).
    public var deferred: @Sendable (StoreOrder) -> Void
    /// Called when the buyer closes the payment sheet.
    public var cancelled: @Sendable (StoreOrder) -> Void
    /// Called when the store or the server refuses the purchase. Includes the order, if there is one.
    public var failed: @Sendable (StoreOrder?, TillError) -> Void
    /// Called when purchases are not allowed on this device.
    public var notAllowed: @Sendable (TillError) -> Void
    /// Called when the store doesn't list the product, or can't be asked.
    public var productsUnavailable: @Sendable (TillError) -> Void
    /// Called when a purchase of this product is already in progress.
    public var inProgress: @Sendable () -> Void

    /// Creates the callbacks. Those that aren't parameters have a default: `deliveryPendingNetwork` and `deferred` call
    /// `deliveryPending`, `notAllowed` and `productsUnavailable` call `failed`, and `inProgress` does nothing.
    public init(
        paid: @escaping @Sendable (StoreOrder) -> Void,
        deliveryPending: @escaping @Sendable (StoreOrder, TillError) -> Void,
        cancelled: @escaping @Sendable (StoreOrder) -> Void,
        failed: @escaping @Sendable (StoreOrder?, TillError) -> Void
    ) {
        self.paid = paid
        self.deliveryPending = deliveryPending
        deliveryPendingNetwork = { deliveryPending($0, $1) }
        deferred = { deliveryPending($0, TillError(.undelivered(.deferred), order: $0.uuid)) }
        self.cancelled = cancelled
        self.failed = failed
        notAllowed = { failed(nil, $0) }
        productsUnavailable = { failed(nil, $0) }
        inProgress = {}
    }
}

extension TillStore {
    /// Buys a product and reports the result through callbacks, for code without `async`. Exactly one of them is
    /// called, exactly once.
    public func purchase(
        _ productID: String, options: PurchaseOptions = PurchaseOptions(), callbacks: PurchaseCallbacks
    ) {
        let (checkout, effects) = (checkout, components.effects)
        effects.spawn {
            let ending = await checkout.buy(ProductID(productID), options)
            await effects.callback { callbacks.call(ending) }
        }
    }

    /// Buys one unit of a product. Exactly one of the two callbacks is called, once.
    ///
    /// - Parameters:
    ///   - user: the user that the app means to charge; it must be the signed-in one. Nil for the signed-in user.
    ///   - success: called when the purchase is paid and granted.
    ///   - failure: called for every other result. A paid purchase that will arrive has an *ongoing* order, a purchase
    ///     that waits for approval a *deferred* one. Don't offer either for purchase again.
    public func addPayment(
        _ productID: String, user: String? = nil, success: @escaping @Sendable (StoreOrder) -> Void,
        failure: @escaping @Sendable (StoreOrder?, TillError) -> Void
    ) {
        let (checkout, effects) = (checkout, components.effects)
        effects.spawn {
            let ending = await checkout.buy(ProductID(productID), PurchaseOptions(), by: user.map(UserID.init))
            await effects.callback {
                var callbacks = PurchaseCallbacks(
                    paid: success, deliveryPending: { failure($0, $1) },
                    cancelled: { failure($0, TillError(.store(.cancelled), order: $0.uuid)) }, failed: failure)
                callbacks.inProgress = { failure(nil, TillError(.purchaseInProgress)) }
                callbacks.call(ending)
            }
        }
    }
}

extension PurchaseCallbacks {
    func call(_ ending: PurchaseEnding) {
        switch ending.outcome {
        case .completed(let order): paid(order)
        case .deliveryPending(let order, let error):
            let reason = TillError(error ?? .undelivered(.accepted), order: order.uuid)
            if ending.isOfNetwork { deliveryPendingNetwork(order, reason) } else { deliveryPending(order, reason) }
        case .deferred(let order): deferred(order)
        case .cancelled(let order): cancelled(order)
        case .failed(let order, let error):
            let error = TillError(error, order: order?.uuid, isUncharged: ending.isUncharged)
            switch ending.obstacle {
            case .notAllowed: notAllowed(error)
            case .productsUnavailable: productsUnavailable(error)
            case .network, nil: failed(order, error)
            }
        case .inProgress: inProgress()
        }
    }
}
