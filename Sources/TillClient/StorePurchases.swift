import TillAPI
import TillBilling

extension Store {
    /// Buys a product: the order is on this device's disk and at the server before the payment sheet is shown (L5, O1).
    /// Comes back when the buyer is done with the sheet and, if they paid, the server has spoken or cannot now.
    ///
    /// - Parameters:
    ///   - productID: as in App Store Connect.
    ///   - quantity: 1 to 10, for consumables.
    public func purchase(_ productID: String, quantity: Int = 1) async -> PurchaseOutcome {
        await checkout.buy(ProductID(productID), quantity: quantity).outcome
    }

    /// The same with callbacks: exactly one of them is called, exactly once (L12, C12).
    public func purchase(_ productID: String, quantity: Int = 1, callbacks: PurchaseCallbacks) {
        buy(ProductID(productID), quantity: quantity, callbacks: callbacks)
    }

    /// Buys a plan as it was previewed (C6): what comes of it is what the preview said, to the second, if the buyer is
    /// done within 24 hours of it and buys no other plan meanwhile. If it would not come to that any more, nothing is
    /// charged, and the outcome is `failed` with the code `preview_changed`: show a new preview then.
    public func purchase(_ preview: PlanPreview) async -> PurchaseOutcome {
        await checkout.buy(ProductID(preview.productID), quantity: preview.quantity, as: preview.told).outcome
    }

    /// The same with callbacks: exactly one of them is called, exactly once (L12, C12).
    public func purchase(_ preview: PlanPreview, callbacks: PurchaseCallbacks) {
        buy(ProductID(preview.productID), quantity: preview.quantity, as: preview.told, callbacks: callbacks)
    }

    private func buy(
        _ product: ProductID, quantity: Int, as preview: OpenOrderBody.Preview? = nil, callbacks: PurchaseCallbacks
    ) {
        let (checkout, effects) = (checkout, rooms.effects)
        effects.spawn {
            let ending = await checkout.buy(product, quantity: quantity, as: preview)
            await effects.callback { callbacks.call(ending) }
        }
    }

    /// Buys one for a user (P4): one of the two is called, once.
    ///
    /// - Parameters:
    ///   - user: must be who is signed in.
    ///   - success: paid and granted.
    ///   - failure: everything else. What is paid and will arrive comes here too, with an order that is *ongoing*;
    ///     one that waits for approval with a *deferred* one. Nothing is to be bought again then.
    public func addPayment(
        _ productID: String, user: String, success: @escaping @Sendable (OrderSummary) -> Void,
        failure: @escaping @Sendable (OrderSummary?, StoreError) -> Void
    ) {
        let (checkout, effects) = (checkout, rooms.effects)
        effects.spawn {
            let outcome = await checkout.buy(ProductID(productID), quantity: 1, by: UserID(user)).outcome
            await effects.callback {
                switch outcome {
                case .completed(let order): success(order)
                case .willArrive(let order, let error): failure(order, error ?? .undelivered(.accepted))
                case .deferred(let order): failure(order, .undelivered(.deferred))
                case .cancelled(let order): failure(order, .store(.cancelled))
                case .failed(let order, let error): failure(order, error)
                case .inProgress: failure(nil, .purchaseInProgress)
                }
            }
        }
    }
}
