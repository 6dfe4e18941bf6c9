import TillAPI
import TillBilling

extension Store {
    /// Buys a product. The order is on this device's disk and at the server before the payment sheet is shown. Returns
    /// when the buyer has closed the sheet and, after a payment, the server has answered or can't be reached.
    ///
    /// - Parameters:
    ///   - productID: the product id of App Store Connect.
    ///   - quantity: 1 to 10, for consumables.
    public func purchase(_ productID: String, quantity: Int = 1) async -> PurchaseOutcome {
        await checkout.buy(ProductID(productID), quantity: quantity).outcome
    }

    /// Buys a product and reports the outcome through callbacks. Exactly one of them is called, exactly once.
    public func purchase(_ productID: String, quantity: Int = 1, callbacks: PurchaseCallbacks) {
        buy(ProductID(productID), quantity: quantity, callbacks: callbacks)
    }

    /// Buys a plan as previewed. The result equals the preview to the second, if the buyer completes the purchase
    /// within 24 hours and buys no other plan in between. If the result would differ, nothing is charged, and the
    /// outcome is `failed` with the code `preview_changed`; show a new preview then.
    public func purchase(_ preview: PlanPreview) async -> PurchaseOutcome {
        await checkout.buy(ProductID(preview.productID), quantity: preview.quantity, as: preview.body).outcome
    }

    /// Buys a plan as previewed and reports the outcome through callbacks. Exactly one of them is called, exactly once.
    public func purchase(_ preview: PlanPreview, callbacks: PurchaseCallbacks) {
        buy(ProductID(preview.productID), quantity: preview.quantity, as: preview.body, callbacks: callbacks)
    }

    private func buy(
        _ product: ProductID, quantity: Int, as preview: OpenOrderBody.Preview? = nil, callbacks: PurchaseCallbacks
    ) {
        let (checkout, effects) = (checkout, components.effects)
        effects.spawn {
            let ending = await checkout.buy(product, quantity: quantity, as: preview)
            await effects.callback { callbacks.call(ending) }
        }
    }

    /// Buys one unit of a product for a user. Exactly one of the two callbacks is called, once.
    ///
    /// - Parameters:
    ///   - productID: the product id of App Store Connect.
    ///   - user: must be the signed-in user.
    ///   - success: called when the purchase is paid and granted.
    ///   - failure: called for every other outcome. A paid purchase that will arrive has an *ongoing* order, a purchase
    ///     that waits for approval a *deferred* one. Don't offer either for purchase again.
    public func addPayment(
        _ productID: String, user: String, success: @escaping @Sendable (OrderSummary) -> Void,
        failure: @escaping @Sendable (OrderSummary?, StoreError) -> Void
    ) {
        let (checkout, effects) = (checkout, components.effects)
        effects.spawn {
            let outcome = await checkout.buy(ProductID(productID), quantity: 1, by: UserID(user)).outcome
            await effects.callback {
                switch outcome {
                case .completed(let order): success(order)
                case .deliveryPending(let order, let error): failure(order, error ?? .undelivered(.accepted))
                case .deferred(let order): failure(order, .undelivered(.deferred))
                case .cancelled(let order): failure(order, .store(.cancelled))
                case .failed(let order, let error): failure(order, error)
                case .inProgress: failure(nil, .purchaseInProgress)
                }
            }
        }
    }
}
