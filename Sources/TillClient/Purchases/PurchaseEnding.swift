import TillBilling

/// An outcome with the obstacle behind it, for callbacks that distinguish more cases than `PurchaseOutcome`.
struct PurchaseEnding: Sendable {
    enum Obstacle: Sendable {
        case notAllowed
        case productsUnavailable
        /// The server could not be reached, or the answer was not the server's.
        case network
    }

    let outcome: PurchaseOutcome
    let obstacle: Obstacle?
    /// Whether a purchase that failed certainly charged nothing.
    let isUncharged: Bool

    init(_ outcome: PurchaseOutcome, _ obstacle: Obstacle? = nil, isUncharged: Bool = false) {
        self.outcome = outcome
        self.obstacle = obstacle
        self.isUncharged = isUncharged
    }

    /// The end of a purchase for which nothing was requested from the store.
    static func notBegun(_ order: StoreOrder?, _ error: StoreError, _ obstacle: Obstacle? = nil) -> PurchaseEnding {
        PurchaseEnding(.failed(order, error), obstacle, isUncharged: true)
    }

    var isOfNetwork: Bool { obstacle == .network }
}

/// The outcome of a purchase at the end of the call. Later changes arrive through `Store.updates`.
package enum PurchaseOutcome: Hashable, Sendable {
    /// The purchase is paid and granted.
    case completed(StoreOrder)
    /// The purchase is paid, and the server hasn't granted it yet. It is sent again automatically; the error states the
    /// reason.
    case deliveryPending(StoreOrder, StoreError?)
    /// Another person must approve the purchase (Ask to Buy), which may take days.
    case deferred(StoreOrder)
    /// The buyer closed the payment sheet.
    case cancelled(StoreOrder)
    /// The purchase failed. Includes the order, if there is one. If the store later reports a payment, the order
    /// continues automatically.
    case failed(StoreOrder?, StoreError)
    /// A purchase of this product is already in progress; this call began no second one.
    case inProgress

    /// The order of the purchase, if there is one.
    package var order: StoreOrder? {
        switch self {
        case .completed(let order), .deliveryPending(let order, _), .deferred(let order), .cancelled(let order): order
        case .failed(let order, _): order
        case .inProgress: nil
        }
    }

    /// The error, or the reason for waiting.
    package var error: StoreError? {
        switch self {
        case .deliveryPending(_, let error): error
        case .failed(_, let error): error
        case .completed, .deferred, .cancelled, .inProgress: nil
        }
    }
}
