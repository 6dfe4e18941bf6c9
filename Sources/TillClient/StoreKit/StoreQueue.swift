import TillBilling

/// The store's proof of a payment.
package enum PurchaseProof: Hashable, Sendable {
    /// StoreKit 2's `jwsRepresentation`.
    case signedTransaction(String)
    /// The bytes of the app receipt (StoreKit 1). It contains many transactions, and names no order.
    case receipt([UInt8])
}

/// A paid transaction that the store returns to the app: bought, restored, or left unfinished by an earlier launch.
package struct QueuedTransaction: Hashable, Sendable {
    package let id: TransactionID
    package let productID: ProductID
    package let quantity: Int
    /// `appAccountToken` or `applicationUsername`: the order's id, unless the store lost it.
    package let token: OrderID?
    package let purchasedAt: Instant
    package let proof: PurchaseProof

    package init(
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

    func proven(by proof: PurchaseProof, token signed: OrderID? = nil) -> QueuedTransaction {
        QueuedTransaction(
            id: id, productID: productID, quantity: quantity, token: signed ?? token, purchasedAt: purchasedAt,
            proof: proof)
    }
}

/// The store's queue of transactions, which belongs to the store account and survives the deletion and reinstallation
/// of the app (facts/storekit-client §C).
package struct StoreQueue: Sendable {
    /// Every unfinished paid transaction.
    package var unfinished: @Sendable () async throws -> [QueuedTransaction]
    /// Removes a transaction from the queue permanently. A transaction that is already removed is no error.
    package var finish: @Sendable (TransactionID) async -> Void
    /// Replaces the receipt of a transaction with Apple's signed copy, if the store has one.
    package var signed: @Sendable (QueuedTransaction) async -> QueuedTransaction
    /// A transaction with a proof that can be sent: a missing or empty receipt has been refreshed.
    package var proof: @Sendable (QueuedTransaction) async throws(AppStoreError) -> QueuedTransaction
    /// A transaction with a refreshed receipt; unchanged if its proof is no receipt.
    package var refreshed: @Sendable (QueuedTransaction) async throws(AppStoreError) -> QueuedTransaction

    package init(
        unfinished: @escaping @Sendable () async throws -> [QueuedTransaction],
        finish: @escaping @Sendable (TransactionID) async -> Void,
        signed: @escaping @Sendable (QueuedTransaction) async -> QueuedTransaction = { $0 },
        proof: @escaping @Sendable (QueuedTransaction) async throws(AppStoreError) -> QueuedTransaction = { $0 },
        refreshed: @escaping @Sendable (QueuedTransaction) async throws(AppStoreError) -> QueuedTransaction = { $0 }
    ) {
        self.unfinished = unfinished
        self.finish = finish
        self.signed = signed
        self.proof = proof
        self.refreshed = refreshed
    }

    init(_ access: StoreAccess) {
        self.init(
            unfinished: access.unfinished, finish: access.finish, signed: access.signed, proof: access.proof,
            refreshed: access.refreshed)
    }
}
