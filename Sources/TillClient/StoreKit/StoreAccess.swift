import TillBilling

/// The kit's interface to StoreKit. `StoreKit1Queue.swift` and `StoreKit2Transactions.swift` implement it; the rest of
/// the kit is the same for both.
///
/// An implementation attaches its observer (StoreKit 1) or begins to listen (StoreKit 2) when `events` is called, once
/// for the whole life of the app, and buffers events until the stream is read.
package struct StoreAccess: Sendable {
    /// Whether purchases are allowed on this device.
    package var canMakePayments: @Sendable () async -> Bool
    /// The store's listings for these ids. Unknown ids are missing.
    ///
    /// - Throws: `AppStoreError`.
    package var products: @Sendable (_ ids: [ProductID]) async throws(AppStoreError) -> [StoreListing]
    /// The first option that can't be applied to this product on this device; nil if all can.
    package var unsupported: @Sendable (PaymentTerms, ProductID) async -> UnsupportedOption?
    /// Shows the payment sheet and returns when the buyer has closed it. The order's id is passed as `appAccountToken`
    /// or `applicationUsername`. A transaction that is returned here is not delivered as an event.
    package var purchase: @Sendable (PurchaseRequest) async -> PaymentResult
    /// Every unfinished paid transaction of this app, except restored ones.
    package var unfinished: @Sendable () async throws(AppStoreError) -> [QueuedTransaction]
    /// Removes a transaction from the queue permanently. A transaction that is already removed is no error; one that
    /// cannot be finished now returns at the next launch.
    package var finish: @Sendable (TransactionID) async -> Void
    /// The customer's current entitlements at the store: products with the transaction that grants them. Empty for
    /// StoreKit 1, which has no such list.
    package var current: @Sendable () async -> [CurrentPurchase]
    /// Events from launch on: first the unfinished purchases of earlier launches.
    package var events: @Sendable () -> AsyncStream<StoreEvent>
    /// The customer's non-consumables and auto-renewable subscriptions from the store, as proofs for the server. This
    /// finishes none of them; `finishRestored` does, with the id that is returned here.
    package var restore: @Sendable () async throws(AppStoreError) -> [QueuedTransaction]
    /// Removes restored transactions from the queue, but no pending purchase of the same chain: StoreKit 1 identifies a
    /// whole chain by its first transaction, and the server's answer may concern its newest.
    package var finishRestored: @Sendable (TransactionID) async -> Void
    /// Replaces the receipt of a transaction from StoreKit 1's queue with Apple's signed copy, if that arrives within a
    /// few seconds. StoreKit 2's transactions are returned unchanged.
    package var signed: @Sendable (QueuedTransaction) async -> QueuedTransaction
    /// A transaction with a proof that can be sent: the receipt is read again, and refreshed once if it is missing or
    /// empty. StoreKit 2's transactions contain their proof and are returned unchanged.
    package var proof: @Sendable (QueuedTransaction) async throws(AppStoreError) -> QueuedTransaction
    /// The same with a receipt that the App Store has just made, because the server refused the one on the device.
    package var refreshed: @Sendable (QueuedTransaction) async throws(AppStoreError) -> QueuedTransaction
    /// Removes the observer, at termination.
    package var stop: @Sendable () async -> Void

    package init(
        canMakePayments: @escaping @Sendable () async -> Bool,
        products: @escaping @Sendable ([ProductID]) async throws(AppStoreError) -> [StoreListing],
        unsupported: @escaping @Sendable (PaymentTerms, ProductID) async -> UnsupportedOption? = { _, _ in nil },
        purchase: @escaping @Sendable (PurchaseRequest) async -> PaymentResult,
        unfinished: @escaping @Sendable () async throws(AppStoreError) -> [QueuedTransaction],
        finish: @escaping @Sendable (TransactionID) async -> Void,
        current: @escaping @Sendable () async -> [CurrentPurchase] = { [] },
        events: @escaping @Sendable () -> AsyncStream<StoreEvent>,
        restore: @escaping @Sendable () async throws(AppStoreError) -> [QueuedTransaction],
        finishRestored: @escaping @Sendable (TransactionID) async -> Void,
        signed: @escaping @Sendable (QueuedTransaction) async -> QueuedTransaction = { $0 },
        proof: @escaping @Sendable (QueuedTransaction) async throws(AppStoreError) -> QueuedTransaction,
        refreshed: @escaping @Sendable (QueuedTransaction) async throws(AppStoreError) -> QueuedTransaction = { $0 },
        stop: @escaping @Sendable () async -> Void
    ) {
        self.canMakePayments = canMakePayments
        self.products = products
        self.unsupported = unsupported
        self.purchase = purchase
        self.unfinished = unfinished
        self.finish = finish
        self.current = current
        self.events = events
        self.restore = restore
        self.finishRestored = finishRestored
        self.signed = signed
        self.proof = proof
        self.refreshed = refreshed
        self.stop = stop
    }
}

/// A product in the store's listing for this buyer.
package struct StoreListing: Hashable, Sendable {
    package let id: ProductID
    package let type: ProductType?
    package let name: String
    package let description: String
    package let price: Money
    /// The price as formatted by the store: `¥6.00`.
    package let displayPrice: String
    /// Nil for products without an introductory offer, and for StoreKit 1, which does not state it.
    package let isEligibleForIntroductoryOffer: Bool?

    package init(
        id: ProductID, type: ProductType?, name: String, description: String, price: Money, displayPrice: String,
        isEligibleForIntroductoryOffer: Bool? = nil
    ) {
        self.id = id
        self.type = type
        self.name = name
        self.description = description
        self.price = price
        self.displayPrice = displayPrice
        self.isEligibleForIntroductoryOffer = isEligibleForIntroductoryOffer
    }
}

/// A purchase that the buyer confirmed in the app.
package struct PurchaseRequest: Hashable, Sendable {
    package let order: OrderID
    package let productID: ProductID
    package let quantity: Int
    package var terms = PaymentTerms()

    package init(order: OrderID, productID: ProductID, quantity: Int) {
        self.order = order
        self.productID = productID
        self.quantity = quantity
    }
}

/// The outcome of the payment sheet.
package enum PaymentResult: Hashable, Sendable {
    case paid(QueuedTransaction)
    /// Another person must approve (Ask to Buy); a payment arrives as an event, if at all.
    case deferred
    case cancelled
    /// The purchase may turn out to be paid; then it arrives as an event.
    case failed(AppStoreError)
}

/// An event of the store.
package enum StoreEvent: Hashable, Sendable {
    case paid(QueuedTransaction)
    /// A payment of an earlier call failed or was declined. Includes the token, if the store knows it.
    case failed(OrderID?, ProductID, AppStoreError)
    /// The entitlements of these products were revoked. Apple notifies the server; the app reads its entitlements
    /// again.
    case revoked([ProductID])
    /// The buyer tapped a promoted product in the App Store; the app decides whether to buy it.
    case promoted(ProductID)
    case storefrontChanged
}

/// A purchase that the store counts as current, verified on this device.
package struct CurrentPurchase: Hashable, Sendable {
    package let productID: ProductID
    package let token: OrderID?
    package let transactionID: TransactionID
    /// Nil for what lasts.
    package let expires: Instant?

    package init(productID: ProductID, token: OrderID?, transactionID: TransactionID, expires: Instant?) {
        self.productID = productID
        self.token = token
        self.transactionID = transactionID
        self.expires = expires
    }
}
