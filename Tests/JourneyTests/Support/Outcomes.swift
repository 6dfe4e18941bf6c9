import TillBilling

@testable import TillClient

/// The kit's own outcomes, whose errors, statuses and orders journeys compare.
extension TillStore {
    func buy(_ product: String, quantity: Int = 1) async -> PurchaseOutcome {
        var options = PurchaseOptions()
        options.quantity = quantity
        return await checkout.buy(ProductID(product), options).outcome
    }

    func resubmitted(_ orderID: String) async -> PurchaseOutcome {
        guard let id = OrderID(orderID) else { return .failed(nil, .unknownOrder) }
        return await checkout.resubmit(id)
    }
}
