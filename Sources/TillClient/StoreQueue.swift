import TillBilling

/// What the store gives to prove a payment.
package enum PurchaseProof: Hashable, Sendable {
    /// StoreKit 2's `jwsRepresentation`.
    case signedTransaction(String)
    /// The bytes of the app receipt (StoreKit 1). It holds many transactions and names none of them as ours.
    case receipt([UInt8])
}

/// A paid transaction as the store shows it to the app: bought, restored, or left unfinished by an earlier launch.
package struct QueuedTransaction: Hashable, Sendable {
    package let id: TransactionID
    package let productID: ProductID
    package let quantity: Int
    /// `appAccountToken` or `applicationUsername`: the order, unless the store lost it (U1).
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

/// The store's queue of transactions, which belongs to the store account and outlives the app, its deletion and its
/// reinstallation (facts/storekit-client §C).
package struct StoreQueue: Sendable {
    /// Every paid transaction that nobody has finished yet.
    package var unfinished: @Sendable () async throws -> [QueuedTransaction]
    /// Takes a transaction off the queue for ever. One that is gone already is no error.
    package var finish: @Sendable (TransactionID) async -> Void
    /// The same with Apple's signed copy in the receipt's place, where the store has one at hand.
    package var signed: @Sendable (QueuedTransaction) async -> QueuedTransaction
    /// The same with a proof that can be sent: a receipt that was missing or empty is there now (O4).
    package var proof: @Sendable (QueuedTransaction) async throws(StoreProblem) -> QueuedTransaction

    package init(
        unfinished: @escaping @Sendable () async throws -> [QueuedTransaction],
        finish: @escaping @Sendable (TransactionID) async -> Void,
        signed: @escaping @Sendable (QueuedTransaction) async -> QueuedTransaction = { $0 },
        proof: @escaping @Sendable (QueuedTransaction) async throws(StoreProblem) -> QueuedTransaction = { $0 }
    ) {
        self.unfinished = unfinished
        self.finish = finish
        self.signed = signed
        self.proof = proof
    }

    init(_ access: StoreAccess) {
        self.init(
            unfinished: access.unfinished, finish: access.finish, signed: access.signed, proof: access.proof)
    }
}
