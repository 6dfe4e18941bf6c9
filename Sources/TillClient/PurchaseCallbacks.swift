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
