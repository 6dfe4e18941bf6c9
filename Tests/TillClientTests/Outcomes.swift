import TillBilling

@testable import TillClient

/// The kit's own outcomes, whose errors, statuses and orders tests compare. What an app gets of each is in
/// `PurchaseResultTests`.
extension TillStore {
    func buy(_ product: String, quantity: Int = 1) async -> PurchaseOutcome {
        var options = PurchaseOptions()
        options.quantity = quantity
        return await buy(product, options)
    }

    func buy(_ preview: PlanPreview) async -> PurchaseOutcome {
        await buy(preview.productID, PurchaseOptions(preview))
    }

    func buy(_ product: String, _ options: PurchaseOptions) async -> PurchaseOutcome {
        await checkout.buy(ProductID(product), options).outcome
    }

    func resubmitted(_ orderID: String) async -> PurchaseOutcome {
        guard let id = OrderID(orderID) else { return .failed(nil, .unknownOrder) }
        return await checkout.resubmit(id)
    }
}
