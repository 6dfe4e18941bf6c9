import TillBilling

/// What the store gives to prove a payment.
public enum PurchaseProof: Hashable, Sendable {
    /// StoreKit 2's `jwsRepresentation`.
    case signedTransaction(String)
    /// The bytes of the app receipt (StoreKit 1). It holds many transactions and names none of them as ours.
    case receipt([UInt8])
}

/// A paid transaction as the store shows it to the app: bought, restored, or left unfinished by an earlier launch.
public struct QueuedTransaction: Hashable, Sendable {
    public let id: TransactionID
    public let productID: ProductID
    public let quantity: Int
    /// `appAccountToken` or `applicationUsername`: the order, unless the store lost it (U1).
    public let token: OrderID?
    public let purchasedAt: Instant
    public let proof: PurchaseProof

    public init(
        id: TransactionID, productID: ProductID, quantity: Int, token: OrderID?, purchasedAt: Instant,
        proof: PurchaseProof
    ) {
        self.id = id
        self.productID = productID
        self.quantity = quantity
        self.token = token
        self.purchasedAt = purchasedAt
        self.proof = proof
    }
}

/// The store's queue of transactions, which belongs to the store account and outlives the app, its deletion and its
/// reinstallation (facts/storekit-client §C).
public struct StoreQueue: Sendable {
    /// Every paid transaction that nobody has finished yet.
    public var unfinished: @Sendable () async throws -> [QueuedTransaction]
    /// Takes a transaction off the queue for ever. One that is gone already is no error.
    public var finish: @Sendable (TransactionID) async -> Void

    public init(
        unfinished: @escaping @Sendable () async throws -> [QueuedTransaction],
        finish: @escaping @Sendable (TransactionID) async -> Void
    ) {
        self.unfinished = unfinished
        self.finish = finish
    }
}
