import Foundation
import TillThreads

/// The queue of the customer's payments in this app. The store keeps paid and unfinished transactions across launches,
/// reinstallations and devices (facts/storekit-client A1, C); the process keeps failed and pending ones.
///
/// The queue does nothing while it has no observer: payments wait, and no request is sent to the store.
open class SKPaymentQueue: NSObject, @unchecked Sendable {
    // All mutable state is in `state`, protected by its lock.
    let session: DeviceSession
    let state = Locked(QueueState())
    /// Observers and the delegate are called one at a time, in the order of the events.
    let callbacks: SerialWorkQueue
    /// Payments, launches and changes are handled one at a time, because the store may report a purchase before it
    /// answers the request.
    let workQueue: SerialWorkQueue

    init(session: DeviceSession) {
        self.session = session
        callbacks = SerialWorkQueue(spawn: session.effects.spawn)
        workQueue = SerialWorkQueue(spawn: session.effects.spawn)
    }

    public override convenience init() { self.init(session: EmulatedDevice.current.session) }

    deinit { state.withLock { $0.ending }?.finish() }

    /// The queue of the current device; always the same one.
    open class func `default`() -> SKPaymentQueue { EmulatedDevice.current.paymentQueue }

    /// Whether the customer may pay on this device, as far as is known: true before the store was reached.
    open class func canMakePayments() -> Bool { SKPaymentQueue.default().latest?.mayPay ?? true }

    open var transactions: [SKPaymentTransaction] { state.withLock { $0.transactions } }
    open var transactionObservers: [any SKPaymentTransactionObserver] { state.withLock { $0.observers } }

    /// The storefront, as far as is known: nil before the store was reached.
    open var storefront: SKStorefront? { latest.map { SKStorefront($0.storefront) } }

    /// The queue doesn't retain its delegate.
    open var delegate: (any SKPaymentQueueDelegate)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }

    /// Adds an observer. The first one receives all unfinished transactions, later ones only changes. The queue doesn't
    /// retain its observers.
    open func add(_ observer: any SKPaymentTransactionObserver) {
        let heldPayments: [SKPayment]? = state.withLock { state in
            guard state.add(observer) else { return nil }
            defer { state.heldPayments = [] }
            return state.heldPayments
        }
        guard let heldPayments else { return }
        // Transactions that ended while there was no observer.
        announce { state in state.transactions.filter { [.failed, .restored].contains($0.transactionState) } }
        listen()
        for payment in heldPayments { place(payment) }
    }

    open func remove(_ observer: any SKPaymentTransactionObserver) {
        let ending = state.withLock { state in
            state.remove(observer)
            guard state.observers.isEmpty else { return nil as AsyncStream<Never>.Continuation? }
            defer { state.ending = nil }
            return state.ending
        }
        ending?.finish()
    }

    /// Adds a copy of the payment. An invalid one (a quantity below 1 or above 10, no product) fails with
    /// `paymentInvalid`; Apple's queue raises an exception instead.
    open func add(_ payment: SKPayment) {
        let payment = SKPayment(payment.asked)
        let isHeld = state.withLock { state in
            guard state.observers.isEmpty else { return false }
            state.heldPayments.append(payment)
            return true
        }
        if !isHeld { place(payment) }
    }

    /// Finishes a transaction that the app has delivered, or whose error it has handled. A transaction in progress, or
    /// waiting for approval, stays in the queue; Apple's queue raises an exception instead.
    open func finishTransaction(_ transaction: SKPaymentTransaction) { finish(transaction) }

    open func restoreCompletedTransactions() { restore() }

    /// - Parameter username: ignored; all purchases are restored.
    open func restoreCompletedTransactions(withApplicationUsername username: String?) { restore() }

    /// Does nothing, because there is no sheet. Use `POST /emulator/offer-codes/{code}/redeem` of the control API to
    /// redeem a code.
    open func presentCodeRedemptionSheet() {}

    /// Shows the customer a subscription's new price.
    open func showPriceConsentIfNeeded() { showPriceConsent() }

    // Apple-hosted content, which the emulated store doesn't have.
    open func start(_ downloads: [SKDownload]) {}
    open func pause(_ downloads: [SKDownload]) {}
    open func resume(_ downloads: [SKDownload]) {}
    open func cancel(_ downloads: [SKDownload]) {}

    /// The store's latest status. A call before the store was reached starts the first request.
    private var latest: DeviceUpdateResponse? {
        if let latest = session.known.update { return latest }
        let asks = state.withLock { state in
            defer { state.hasAskedForStatus = true }
            return !state.hasAskedForStatus
        }
        if asks { session.effects.spawn { [session] in _ = try? await session.status() } }
        return nil
    }
}

/// A delegate that takes part in a payment (iOS 13). All methods are optional.
public protocol SKPaymentQueueDelegate: NSObjectProtocol {
    /// Asks whether to continue a payment after the storefront has changed. Without an answer within a second, the
    /// payment doesn't continue.
    func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool

    /// Asks whether to show the price consent now. After returning false, call `showPriceConsentIfNeeded()` later.
    func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool
}

extension SKPaymentQueueDelegate {
    public func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool { true }

    public func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool { true }
}

/// An observer of the queue's transactions. Only the first method is required.
///
/// The queue doesn't retain its observers.
public protocol SKPaymentTransactionObserver: NSObjectProtocol {
    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction])

    /// Optional. Called after transactions were finished.
    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction])

    /// Optional.
    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error)

    /// Optional. Called after all restorable transactions were delivered.
    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue)

    /// Optional. Apple-hosted content: never called here.
    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload])

    /// Optional. Asks whether to add the payment for a promoted product that was tapped in the App Store. After
    /// returning false, the app may add the payment later.
    func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool

    /// Optional.
    func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue)

    /// Optional. Called after refunds and the end of Family Sharing; the receipt has already been renewed.
    func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String])
}

extension SKPaymentTransactionObserver {
    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {}

    public func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {}

    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {}

    public func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {}

    public func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool {
        queue.leavePromotedPayment()
        return false
    }

    public func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) {}

    public func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) {}
}

/// Executes work one item after another, in the order in which it was added.
final class SerialWorkQueue: Sendable {
    typealias Work = @Sendable () async -> Void

    private struct Waiting {
        var work: [Work] = []
        var isWorking = false
    }

    private let spawn: @Sendable (@escaping Work) -> Void
    private let waiting = Locked(Waiting())

    init(spawn: @escaping @Sendable (@escaping Work) -> Void) { self.spawn = spawn }

    func add(_ work: @escaping Work) {
        let begins = waiting.withLock { waiting in
            waiting.work.append(work)
            defer { waiting.isWorking = true }
            return !waiting.isWorking
        }
        if begins { spawn { await self.workOff() } }
    }

    private func workOff() async {
        while let next = take() {
            for work in next { await work() }
        }
    }

    private func take() -> [Work]? {
        waiting.withLock { waiting in
            let next = waiting.work
            waiting.work = []
            waiting.isWorking = !next.isEmpty
            return next.isEmpty ? nil : next
        }
    }
}
