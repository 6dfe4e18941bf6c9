import TillBilling

/// What the client kit wants of a StoreKit, in the kit's own words. Two rooms make one: `StoreKit1Queue.swift` and
/// `StoreKit2Transactions.swift`; everything else in the kit is the same for both.
///
/// A maker attaches its observer (StoreKit 1) or begins to listen (StoreKit 2) when `events` is called, once for the
/// whole life of the app (G1, T10), and keeps what comes before anybody reads the stream (P7).
package struct StoreAccess: Sendable {
    /// False: purchases are forbidden on this device (L3).
    package var canMakePayments: @Sendable () async -> Bool
    /// What the store sells under these ids. Ids that it doesn't know are missing.
    /// - Throws: `StoreProblem`.
    package var products: @Sendable (_ ids: [ProductID]) async throws(StoreProblem) -> [StoreListing]
    /// Shows the payment sheet and comes back when the buyer is done with it. The order's id goes along as
    /// `appAccountToken` or `applicationUsername`. A transaction that is returned here does not come as an event too.
    package var purchase: @Sendable (StoreWish) async -> StoreResult
    /// Every paid transaction of this app that nobody finished, restored ones not among them.
    package var unfinished: @Sendable () async throws(StoreProblem) -> [QueuedTransaction]
    /// Takes a transaction off the queue for ever. One that is gone already is no error; one that can't be finished
    /// now comes again at the next launch.
    package var finish: @Sendable (TransactionID) async -> Void
    /// What comes by itself, from the launch on: unfinished purchases of earlier launches first.
    package var events: @Sendable () -> AsyncStream<StoreEvent>
    /// Asks the store for what the customer owns (P10): non-consumables and auto-renewables, as proofs for the server.
    /// None of them is finished by that; `finishRestored` does it, by the id given here.
    package var restore: @Sendable () async throws(StoreProblem) -> [QueuedTransaction]
    /// Takes what was restored off the queue, and never a purchase of the same chain that still waits there: StoreKit 1
    /// names a whole chain by its first transaction, and the server may have spoken of its newest.
    package var finishRestored: @Sendable (TransactionID) async -> Void
    /// The same transaction with Apple's signed copy as proof, where StoreKit 1's queue showed it with the receipt and
    /// the copy comes within a few seconds. StoreKit 2's transactions come back as they are.
    package var signed: @Sendable (QueuedTransaction) async -> QueuedTransaction
    /// A proof that can be sent: the receipt is read anew, and refreshed once where it is missing or empty (O4).
    /// StoreKit 2's transactions carry theirs and come back as they are.
    package var proof: @Sendable (QueuedTransaction) async throws(StoreProblem) -> QueuedTransaction
    /// Removes the observer (P7: at termination).
    package var stop: @Sendable () async -> Void

    package init(
        canMakePayments: @escaping @Sendable () async -> Bool,
        products: @escaping @Sendable ([ProductID]) async throws(StoreProblem) -> [StoreListing],
        purchase: @escaping @Sendable (StoreWish) async -> StoreResult,
        unfinished: @escaping @Sendable () async throws(StoreProblem) -> [QueuedTransaction],
        finish: @escaping @Sendable (TransactionID) async -> Void,
        events: @escaping @Sendable () -> AsyncStream<StoreEvent>,
        restore: @escaping @Sendable () async throws(StoreProblem) -> [QueuedTransaction],
        finishRestored: @escaping @Sendable (TransactionID) async -> Void,
        signed: @escaping @Sendable (QueuedTransaction) async -> QueuedTransaction = { $0 },
        proof: @escaping @Sendable (QueuedTransaction) async throws(StoreProblem) -> QueuedTransaction,
        stop: @escaping @Sendable () async -> Void
    ) {
        self.canMakePayments = canMakePayments
        self.products = products
        self.purchase = purchase
        self.unfinished = unfinished
        self.finish = finish
        self.events = events
        self.restore = restore
        self.finishRestored = finishRestored
        self.signed = signed
        self.proof = proof
        self.stop = stop
    }
}

/// A product as the store lists it for this buyer.
package struct StoreListing: Hashable, Sendable {
    package let id: ProductID
    package let type: ProductType?
    package let name: String
    package let description: String
    package let price: Money
    /// As the store writes it: `¥6.00`.
    package let displayPrice: String

    package init(
        id: ProductID, type: ProductType?, name: String, description: String, price: Money, displayPrice: String
    ) {
        self.id = id
        self.type = type
        self.name = name
        self.description = description
        self.price = price
        self.displayPrice = displayPrice
    }
}

/// What the buyer confirmed in the app.
package struct StoreWish: Hashable, Sendable {
    package let order: OrderID
    package let productID: ProductID
    package let quantity: Int

    package init(order: OrderID, productID: ProductID, quantity: Int) {
        self.order = order
        self.productID = productID
        self.quantity = quantity
    }
}

/// How the payment sheet ended.
package enum StoreResult: Hashable, Sendable {
    case paid(QueuedTransaction)
    /// Somebody else must approve (Ask to Buy); it comes as an event, or never.
    case deferred
    case cancelled
    /// It may turn out paid all the same (T3, T12): then it comes as an event.
    case failed(StoreProblem)
}

/// What the store tells by itself.
package enum StoreEvent: Hashable, Sendable {
    case paid(QueuedTransaction)
    /// A payment of an earlier call failed or was declined in the end. The token where the store knows it.
    case failed(OrderID?, ProductID, StoreProblem)
    /// Rights of these products were taken back. The server hears it from Apple; the app reads its entitlements anew.
    case revoked([ProductID])
    /// A promoted product was tapped in the App Store: the app decides.
    case promoted(ProductID)
    case storefrontChanged
}
