import Foundation
import StoreKit
import TillBilling

// The implementation of `StoreAccess` with StoreKit 1. It uses only API of Apple's SDK for iOS 15, so the same code
// compiles with Apple's framework and with this package's.

extension StoreAccess {
    /// Uses StoreKit 1 on the current device. The order's id is passed as `applicationUsername`, which the store keeps
    /// because it is a UUID (facts/storekit-client A3). Transactions are finished in this queue.
    ///
    /// - Parameter proof: the proof of a purchase that is sent.
    package static func storeKit1(
        _ effects: Effects, proof: StoreKit1Proof = .signedTransaction
    ) -> StoreAccess {
        let adapter = StoreKit1Adapter()
        let copies = proof == .receipt ? nil : StoreKit1SignedCopies(effects: effects)
        return StoreAccess(
            canMakePayments: { adapter.onDevice { SKPaymentQueue.canMakePayments() } },
            products: { ids async throws(AppStoreError) in try await adapter.listings(ids) },
            unsupported: { terms, _ in StoreKit1Adapter.unsupported(terms) },
            purchase: { request in await adapter.purchase(request) },
            unfinished: { () async throws(AppStoreError) in adapter.unfinished() },
            finish: { id in adapter.finish(id) },
            events: {
                adapter.attach()
                return adapter.events
            },
            restore: { () async throws(AppStoreError) in
                let restored = try await adapter.restore()
                return await copies?.signed(restored: restored) ?? restored
            },
            finishRestored: { id in adapter.finishRestored(id) },
            signed: { transaction in await copies?.signed(transaction) ?? transaction },
            proof: { (transaction) async throws(AppStoreError) in try await adapter.proof(of: transaction) },
            refreshed: { (transaction) async throws(AppStoreError) in try await adapter.refreshed(transaction) },
            stop: { adapter.detach() })
    }
}

// Sendable: its mutable state is accessed only under its lock.
private final class StoreKit1Adapter: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    private struct PendingPurchase {
        let order: OrderID
        /// The transaction in the queue, once there is one.
        var transaction: SKPaymentTransaction?
        let end: CheckedContinuation<PaymentResult, Never>
    }

    private struct State {
        var isAttached = false
        var isDetached = false
        var products: [ProductID: SKProduct] = [:]
        var pendingPurchases: [PendingPurchase] = []
        var restored: [SKPaymentTransaction] = []
        var restoring: [CheckedContinuation<[SKPaymentTransaction], any Error>] = []
    }

    // Guards `state`; no callback runs while it is held.
    private let lock = Guarded<Void>()
    private var state = State()
    let events: AsyncStream<StoreEvent>
    private let heard: AsyncStream<StoreEvent>.Continuation
    private let queue = SKPaymentQueue.default()

    override init() { (events, heard) = AsyncStream<StoreEvent>.makeStream() }

    #if os(Linux)
        /// Tests and simulations use several devices.
        private let device = EmulatedDevice.current
        private var receiptURL: URL? { device.receiptURL }

        func onDevice<Result>(_ work: () throws -> Result) rethrows -> Result {
            try EmulatedDevice.$current.withValue(device) { try work() }
        }
    #else
        private var receiptURL: URL? { Bundle.main.appStoreReceiptURL }

        func onDevice<Result>(_ work: () throws -> Result) rethrows -> Result { try work() }
    #endif

    func attach() {
        let isNew = lock.withLock {
            defer { state.isAttached = true }
            return !state.isAttached
        }
        if isNew { onDevice { queue.add(self) } }
    }

    /// The queue reports nothing after this, so waiting callers receive an unknown outcome; paid transactions are
    /// delivered at the next launch.
    func detach() {
        queue.remove(self)
        heard.finish()
        let (pendingPurchases, restoring) = lock.withLock {
            state.isDetached = true
            defer { (state.pendingPurchases, state.restoring) = ([], []) }
            return (state.pendingPurchases, state.restoring)
        }
        for request in pendingPurchases { request.end.resume(returning: .failed(.unknown)) }
        for one in restoring { one.resume(throwing: AppStoreError.unknown) }
    }

    // MARK: Products

    func listings(_ ids: [ProductID]) async throws(AppStoreError) -> [StoreListing] {
        let formats = PriceFormats()
        return try await find(ids).compactMap { StoreListing($0, formats) }
    }

    private func find(_ ids: [ProductID]) async throws(AppStoreError) -> [SKProduct] {
        let request = SKProductsRequest(productIdentifiers: Set(ids.map(\.text)))
        let answer = RequestCompletion()
        request.delegate = answer
        do { try await run(request, answer) } catch { throw AppStoreError(error) }
        let found = answer.products
        lock.withLock { for product in found { state.products[ProductID(product.productIdentifier)] = product } }
        return found
    }

    private func run(_ request: SKRequest, _ answer: RequestCompletion) async throws {
        try await withCheckedThrowingContinuation { (end: CheckedContinuation<Void, any Error>) in
            answer.begin(request, end)
            onDevice { request.start() }
        }
    }

    // MARK: Purchases

    /// `SKPayment` takes the classic form of an offer and none of the later options.
    static func unsupported(_ terms: PaymentTerms) -> UnsupportedOption? {
        if case .jws = terms.offer?.form { return .offerToken }
        if terms.introductoryEligibility != nil { return .introductoryEligibility }
        return terms.billingPlan == .monthly ? .billingPlan : nil
    }

    func purchase(_ request: PurchaseRequest) async -> PaymentResult {
        var product = lock.withLock { state.products[request.productID] }
        do throws(AppStoreError) {
            if product == nil { product = try await find([request.productID]).first }
        } catch {
            return .failed(error)
        }
        guard let product else { return .failed(.notAvailable) }
        let payment = SKMutablePayment(product: product)
        payment.quantity = request.quantity
        payment.applicationUsername = request.order.description
        if let offer = request.terms.offer {
            guard case .classic(let keyID, let nonce, let timestamp, let signature) = offer.form,
                let nonce = UUID(uuidString: nonce.description)
            else { return .failed(.invalidOfferSignature) }
            payment.paymentDiscount = SKPaymentDiscount(
                identifier: offer.id, keyIdentifier: keyID, nonce: nonce, signature: signature,
                timestamp: NSNumber(value: timestamp))
        }
        attach()
        return await withCheckedContinuation { end in
            let isDetached = lock.withLock {
                if !state.isDetached {
                    state.pendingPurchases.append(PendingPurchase(order: request.order, transaction: nil, end: end))
                }
                return state.isDetached
            }
            if isDetached { return end.resume(returning: .failed(.unknown)) }
            onDevice { queue.add(payment) }
        }
    }

    /// The pending purchase that a transaction completes: the one for which the queue showed this transaction, or the
    /// one that it names. A transaction of the same product that lost its name is not matched.
    private func takePendingPurchase(_ transaction: SKPaymentTransaction) -> PendingPurchase? {
        lock.withLock {
            let order = transaction.payment.order
            let place =
                state.pendingPurchases.firstIndex { $0.transaction === transaction }
                ?? order.flatMap { order in state.pendingPurchases.firstIndex { $0.order == order } }
            return place.map { state.pendingPurchases.remove(at: $0) }
        }
    }

    private func show(_ transaction: SKPaymentTransaction) {
        lock.withLock {
            guard let order = transaction.payment.order,
                let place = state.pendingPurchases.firstIndex(where: { $0.order == order && $0.transaction == nil })
            else { return }
            state.pendingPurchases[place].transaction = transaction
        }
    }

    // MARK: The queue

    func unfinished() -> [QueuedTransaction] {
        let receipt = receipt()
        return queue.transactions.filter { $0.transactionState == .purchased }
            .compactMap { QueuedTransaction($0, receipt: receipt) }
    }

    func finish(_ id: TransactionID) { finish { $0.isPurchase(id) || $0.restores(id) } }

    func finishRestored(_ id: TransactionID) { finish { $0.restores(id) } }

    private func finish(_ isMeant: (SKPaymentTransaction) -> Bool) {
        for transaction in queue.transactions where isMeant(transaction) {
            onDevice { queue.finishTransaction(transaction) }
        }
    }

    func restore() async throws(AppStoreError) -> [QueuedTransaction] {
        attach()
        let restored: [SKPaymentTransaction]
        do {
            restored = try await withCheckedThrowingContinuation { end in
                let place = lock.withLock { () -> Int? in
                    guard !state.isDetached else { return nil }
                    state.restoring.append(end)
                    return state.restoring.count
                }
                if place == nil { end.resume(throwing: AppStoreError.unknown) }
                if place == 1 { onDevice { queue.restoreCompletedTransactions() } }
            }
        } catch {
            throw AppStoreError(error)
        }
        let receipt = receipt()
        // Transactions left by an earlier restore occur again.
        var seen: Set<TransactionID> = []
        return restored.compactMap { transaction in
            transaction.original.flatMap { QueuedTransaction($0, receipt: receipt) }
        }
        .filter { seen.insert($0.id).inserted }
    }

    // MARK: The receipt

    private func receipt() -> [UInt8] { receiptURL.flatMap { try? Data(contentsOf: $0) }.map { [UInt8]($0) } ?? [] }

    func proof(of transaction: QueuedTransaction) async throws(AppStoreError) -> QueuedTransaction {
        let receipt = receipt()
        return receipt.isEmpty ? try await refreshed(transaction) : transaction.proven(by: .receipt(receipt))
    }

    func refreshed(_ transaction: QueuedTransaction) async throws(AppStoreError) -> QueuedTransaction {
        let request = SKReceiptRefreshRequest(receiptProperties: nil)
        let answer = RequestCompletion()
        request.delegate = answer
        do { try await run(request, answer) } catch { throw AppStoreError(error) }
        let receipt = receipt()
        guard !receipt.isEmpty else { throw .unknown }
        return transaction.proven(by: .receipt(receipt))
    }

    // MARK: Events of the queue

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchasing: show(transaction)
            case .purchased:
                guard let paid = QueuedTransaction(transaction, receipt: receipt()) else { continue }
                guard let request = takePendingPurchase(transaction) else {
                    heard.yield(.paid(paid))
                    continue
                }
                request.end.resume(returning: .paid(paid))
            case .deferred: takePendingPurchase(transaction)?.end.resume(returning: .deferred)
            case .failed: fail(transaction, in: queue)
            case .restored: lock.withLock { state.restored.append(transaction) }
            @unknown default: continue
            }
        }
    }

    private func fail(_ transaction: SKPaymentTransaction, in queue: SKPaymentQueue) {
        let problem = AppStoreError(transaction.error)
        if let request = takePendingPurchase(transaction) {
            request.end.resume(returning: problem == .cancelled ? .cancelled : .failed(problem))
        } else {
            let payment = transaction.payment
            heard.yield(.failed(payment.order, ProductID(payment.productIdentifier), problem))
        }
        queue.finishTransaction(transaction)
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        let (restored, waiting) = takeRestored()
        for one in waiting { one.resume(returning: restored) }
    }

    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        // Transactions that arrived before the failure stay in the queue, because the server has not answered for them.
        for one in takeRestored().1 { one.resume(throwing: error) }
    }

    private func takeRestored() -> ([SKPaymentTransaction], [CheckedContinuation<[SKPaymentTransaction], any Error>]) {
        lock.withLock {
            defer { (state.restored, state.restoring) = ([], []) }
            return (state.restored, state.restoring)
        }
    }

    // Apple Watch has no promoted purchases.
    #if !os(watchOS)
        func paymentQueue(
            _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
        ) -> Bool {
            heard.yield(.promoted(ProductID(product.productIdentifier)))
            // The app buys it like any other product, with an order.
            return false
        }
    #endif

    func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) { heard.yield(.storefrontChanged) }

    func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) {
        heard.yield(.revoked(productIdentifiers.map { ProductID($0) }))
    }
}

/// Waits for one request, and retains the request and itself until then, because StoreKit retains neither.
private final class RequestCompletion: NSObject, SKProductsRequestDelegate, @unchecked Sendable {
    // Guards all state below; no callback runs while it is held.
    private let lock = Guarded<Void>()
    private var kept: (request: SKRequest, answer: RequestCompletion, end: CheckedContinuation<Void, any Error>)?
    private var found: [SKProduct] = []

    var products: [SKProduct] { lock.withLock { found } }

    func begin(_ request: SKRequest, _ end: CheckedContinuation<Void, any Error>) {
        lock.withLock { kept = (request, self, end) }
    }

    private func take() -> CheckedContinuation<Void, any Error>? {
        lock.withLock {
            defer { kept = nil }
            return kept?.end
        }
    }

    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        lock.withLock { found = response.products }
    }

    func requestDidFinish(_ request: SKRequest) { take()?.resume() }

    func request(_ request: SKRequest, didFailWithError error: any Error) { take()?.resume(throwing: error) }
}

extension SKPaymentTransaction {
    fileprivate func isPurchase(_ id: TransactionID) -> Bool {
        transactionState == .purchased && transactionIdentifier == id.text
    }

    /// For a subscription, the chain that begins with this transaction.
    fileprivate func restores(_ id: TransactionID) -> Bool {
        transactionState == .restored && original?.transactionIdentifier == id.text
    }
}

extension SKPayment {
    /// The order of the payment, unless the store lost it.
    fileprivate var order: OrderID? { applicationUsername.flatMap { OrderID($0) } }
}

extension QueuedTransaction {
    /// Nil for a transaction without an id, which is not paid.
    fileprivate init?(_ transaction: SKPaymentTransaction, receipt: [UInt8]) {
        guard let id = transaction.transactionIdentifier else { return nil }
        let payment = transaction.payment
        let seconds = transaction.transactionDate?.timeIntervalSince1970 ?? 0
        self.init(
            id: TransactionID(id), productID: ProductID(payment.productIdentifier), quantity: payment.quantity,
            token: payment.order, purchasedAt: Instant(milliseconds: Int64((seconds * 1_000).rounded())),
            proof: .receipt(receipt))
    }
}

extension StoreListing {
    /// Nil if the price is not an amount of its currency. The only type that StoreKit 1 reveals is that of a product
    /// with a period.
    fileprivate init?(_ product: SKProduct, _ formats: PriceFormats) {
        guard let code = product.priceLocale.currencyCode,
            let price = Money(decimal: "\(product.price)", currency: Currency(code))
        else { return nil }
        let shown = formats.format(for: product.priceLocale).string(from: product.price)
        self.init(
            id: ProductID(product.productIdentifier),
            type: product.subscriptionPeriod == nil ? nil : ProductType(rawValue: "Auto-Renewable Subscription"),
            name: product.localizedTitle, description: product.localizedDescription, price: price,
            displayPrice: shown ?? "\(product.price) \(code)")
    }
}
