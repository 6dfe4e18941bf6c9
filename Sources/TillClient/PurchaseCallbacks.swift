import TillBilling

/// The ends of a purchase as callbacks: exactly one of them is called, exactly once (L12, C12), also when a purchase
/// could not even begin. On Apple's systems on the main actor, elsewhere on no particular thread.
public struct PurchaseCallbacks: Sendable {
    /// Paid and granted.
    public var paid: @Sendable (OrderSummary) -> Void
    /// Paid; it will arrive by itself. The error says what the server waits for.
    public var willArrive: @Sendable (OrderSummary, StoreError?) -> Void
    /// Paid; it will arrive by itself when the network or the server is back.
    public var willArriveNetwork: @Sendable (OrderSummary, StoreError) -> Void
    /// Waits for somebody's approval (Ask to Buy).
    public var deferred: @Sendable (OrderSummary) -> Void
    /// The buyer closed the payment sheet.
    public var cancelled: @Sendable (OrderSummary) -> Void
    /// The store or the server said no. With the order, if it came that far.
    public var failed: @Sendable (OrderSummary?, StoreError) -> Void
    /// Purchases are forbidden on this device (L3).
    public var notAllowed: @Sendable (StoreError) -> Void
    /// The store did not list the product, or could not be asked (L4).
    public var productsUnavailable: @Sendable (StoreError) -> Void
    /// A purchase of this product is under way already (G3).
    public var inProgress: @Sendable () -> Void

    /// Callbacks that are not given fall back on one that is: the two of the network and of approval on `willArrive`,
    /// the others on `failed`; `inProgress` on nothing.
    public init(
        paid: @escaping @Sendable (OrderSummary) -> Void,
        willArrive: @escaping @Sendable (OrderSummary, StoreError?) -> Void,
        cancelled: @escaping @Sendable (OrderSummary) -> Void,
        failed: @escaping @Sendable (OrderSummary?, StoreError) -> Void
    ) {
        self.paid = paid
        self.willArrive = willArrive
        willArriveNetwork = { willArrive($0, $1) }
        deferred = { willArrive($0, nil) }
        self.cancelled = cancelled
        self.failed = failed
        notAllowed = { failed(nil, $0) }
        productsUnavailable = { failed(nil, $0) }
        inProgress = {}
    }
}

extension PurchaseCallbacks {
    func call(_ ending: PurchaseEnding) {
        switch ending.outcome {
        case .completed(let order): paid(order)
        case .willArrive(let order, let error):
            if let error, ending.isOfNetwork { willArriveNetwork(order, error) } else { willArrive(order, error) }
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

/// An outcome with what stood in the way, for those who tell more ends apart than `PurchaseOutcome` does.
struct PurchaseEnding: Sendable {
    enum Obstacle: Sendable {
        case notAllowed
        case productsUnavailable
        /// The server could not be reached, or what answered was not the server.
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
