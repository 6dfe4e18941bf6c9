import TillBilling

/// The outcomes of a purchase as callbacks. Exactly one of them is called, exactly once, even if the purchase could not
/// begin. On Apple platforms they run on the main actor, elsewhere on no particular thread.
public struct PurchaseCallbacks: Sendable {
    /// Called when the purchase is paid and granted.
    public var paid: @Sendable (OrderSummary) -> Void
    /// Called when the purchase is paid and will arrive automatically. The error states what the server waits for.
    public var deliveryPending: @Sendable (OrderSummary, StoreError?) -> Void
    /// Called when the purchase is paid and will arrive automatically once the network or the server is available
    /// again.
    public var deliveryPendingNetwork: @Sendable (OrderSummary, StoreError) -> Void
    /// Called when the purchase waits for approval (Ask to Buy).
    public var deferred: @Sendable (OrderSummary) -> Void
    /// Called when the buyer closes the payment sheet.
    public var cancelled: @Sendable (OrderSummary) -> Void
    /// Called when the store or the server refuses the purchase. Includes the order, if there is one.
    public var failed: @Sendable (OrderSummary?, StoreError) -> Void
    /// Called when purchases are not allowed on this device.
    public var notAllowed: @Sendable (StoreError) -> Void
    /// Called when the store doesn't list the product, or can't be asked.
    public var productsUnavailable: @Sendable (StoreError) -> Void
    /// Called when a purchase of this product is already in progress.
    public var inProgress: @Sendable () -> Void

    /// Creates the callbacks. Those that aren't parameters have a default: `deliveryPendingNetwork` and `deferred` call
    /// `deliveryPending`, `notAllowed` and `productsUnavailable` call `failed`, and `inProgress` does nothing.
    public init(
        paid: @escaping @Sendable (OrderSummary) -> Void,
        deliveryPending: @escaping @Sendable (OrderSummary, StoreError?) -> Void,
        cancelled: @escaping @Sendable (OrderSummary) -> Void,
        failed: @escaping @Sendable (OrderSummary?, StoreError) -> Void
    ) {
        self.paid = paid
        self.deliveryPending = deliveryPending
        deliveryPendingNetwork = { deliveryPending($0, $1) }
        deferred = { deliveryPending($0, nil) }
        self.cancelled = cancelled
        self.failed = failed
        notAllowed = { failed(nil, $0) }
        productsUnavailable = { failed(nil, $0) }
        inProgress = {}
    }
}

extension PurchaseCallbacks {
    func call(_ ending: PurchaseResult) {
        switch ending.outcome {
        case .completed(let order): paid(order)
        case .deliveryPending(let order, let error):
            if let error, ending.isOfNetwork {
                deliveryPendingNetwork(order, error)
            } else {
                deliveryPending(order, error)
            }
        case .deferred(let order): deferred(order)
        case .cancelled(let order): cancelled(order)
        case .failed(let order, let error):
            switch ending.obstacle {
            case .notAllowed: notAllowed(error)
            case .productsUnavailable: productsUnavailable(error)
            case .network, nil: failed(order, error)
            }
        case .inProgress: inProgress()
        }
    }
}

/// An outcome with the obstacle behind it, for callbacks that distinguish more cases than `PurchaseOutcome`.
struct PurchaseResult: Sendable {
    enum Obstacle: Sendable {
        case notAllowed
        case productsUnavailable
        /// The server could not be reached, or the answer was not the server's.
        case network
    }

    let outcome: PurchaseOutcome
    let obstacle: Obstacle?

    init(_ outcome: PurchaseOutcome, _ obstacle: Obstacle? = nil) {
        self.outcome = outcome
        self.obstacle = obstacle
    }

    var isOfNetwork: Bool { obstacle == .network }
}

/// The outcome of a purchase at the end of the call. Later changes arrive through `Store.updates`.
public enum PurchaseOutcome: Hashable, Sendable {
    /// The purchase is paid and granted.
    case completed(OrderSummary)
    /// The purchase is paid, and the server hasn't granted it yet. It is sent again automatically; the error states the
    /// reason.
    case deliveryPending(OrderSummary, StoreError?)
    /// Another person must approve the purchase (Ask to Buy), which may take days.
    case deferred(OrderSummary)
    /// The buyer closed the payment sheet.
    case cancelled(OrderSummary)
    /// The purchase failed. Includes the order, if there is one. If the store later reports a payment, the order
    /// continues automatically.
    case failed(OrderSummary?, StoreError)
    /// A purchase of this product is already in progress; this call began no second one.
    case inProgress

    /// The order of the purchase, if there is one.
    public var order: OrderSummary? {
        switch self {
        case .completed(let order), .deliveryPending(let order, _), .deferred(let order), .cancelled(let order): order
        case .failed(let order, _): order
        case .inProgress: nil
        }
    }

    /// The error, or the reason for waiting.
    public var error: StoreError? {
        switch self {
        case .deliveryPending(_, let error): error
        case .failed(_, let error): error
        case .completed, .deferred, .cancelled, .inProgress: nil
        }
    }
}
