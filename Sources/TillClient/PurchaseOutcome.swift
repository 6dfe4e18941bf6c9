import TillBilling

/// How a purchase ended, as far as the buyer waits for it. What comes later comes by `Store.updates`.
public enum PurchaseOutcome: Hashable, Sendable {
    /// Paid and granted.
    case completed(OrderSummary)
    /// Paid; the server has not spoken yet. It is tried again by itself (L9), and the error says what is waited for.
    case willArrive(OrderSummary, StoreError?)
    /// Somebody else must approve it first (Ask to Buy), perhaps days later (G7).
    case deferred(OrderSummary)
    /// The buyer closed the payment sheet (L10).
    case cancelled(OrderSummary)
    /// With the order, if it came that far. Should the store say later that it was paid all the same, the order goes
    /// on by itself (T3, T12).
    case failed(OrderSummary?, StoreError)
    /// A purchase of this product is under way; this call began no second one (G3).
    case inProgress

    /// The order this is about, if there is one.
    public var order: OrderSummary? {
        switch self {
        case .completed(let order), .willArrive(let order, _), .deferred(let order), .cancelled(let order): order
        case .failed(let order, _): order
        case .inProgress: nil
        }
    }

    /// What went wrong, or what is waited for.
    public var error: StoreError? {
        switch self {
        case .willArrive(_, let error): error
        case .failed(_, let error): error
        case .completed, .deferred, .cancelled, .inProgress: nil
        }
    }
}
