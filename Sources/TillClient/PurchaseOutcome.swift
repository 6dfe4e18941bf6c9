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

/// What came back from the store, through the server (P10, T11). Consumables don't come back.
public struct RestoreOutcome: Hashable, Sendable {
    /// Product ids of whoever is signed in, each once: theirs now, or before already.
    public internal(set) var restored: [String] = []
    /// Product ids that the server could not speak about yet. Restoring again asks again.
    public internal(set) var waiting: [String] = []
    /// How many purchases the store showed that belong to another of the app's users. They stay theirs (P8).
    public internal(set) var ofOthers = 0
    /// Why nothing, or not everything, came back.
    public internal(set) var error: StoreError?

    init(error: StoreError? = nil) { self.error = error }

    mutating func add(_ outcome: SubmitOutcome, of product: ProductID) {
        switch outcome {
        case .completed(let reply):
            // The owner, and nobody else, is told whose it is (P8).
            if reply.userId == nil {
                ofOthers += 1
            } else if !restored.contains(product.text) {
                restored.append(product.text)
            }
        case .refunded: break
        case .willArrive(let trouble, _):
            if !waiting.contains(product.text) { waiting.append(product.text) }
            error = error ?? .undelivered(trouble)
        case .refused(let trouble): error = error ?? .undelivered(trouble)
        }
    }
}
