import TillBilling

/// The result of a purchase at the end of the call. Later changes arrive through `TillStore.updates`.
public enum PurchaseResult: Hashable, Sendable {
    /// The purchase is paid and granted. If the customer has the subscription already, or the App Store changes it at
    /// the next renewal only (a lower plan), nothing was charged: the order is the running period's, and the new order
    /// is cancelled with that reason.
    case completed(StoreOrder)
    /// The purchase is paid, and the server hasn't granted it yet. The kit sends the proof again by itself; the reason
    /// states what it waits for. Offer no second purchase.
    case deliveryPending(StoreOrder, reason: TillError)
    /// Another person must approve the purchase (Ask to Buy), which may take days.
    case deferred(StoreOrder)
    /// The customer closed the payment sheet. Nothing was charged.
    case cancelled(StoreOrder)
    /// A purchase of this product is already in progress; this call began no second one.
    case inProgress

    /// The order of the purchase, if this call began one.
    public var order: StoreOrder? {
        switch self {
        case .completed(let order), .deliveryPending(let order, _), .deferred(let order), .cancelled(let order): order
        case .inProgress: nil
        }
    }
}
