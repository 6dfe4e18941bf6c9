import Foundation
import TillThreads

/// The customer's payments in this app. What is paid and not finished is kept by the store, across launches,
/// reinstallations and devices (facts/storekit-client A1, C); what failed or waits is kept as long as the process runs.
///
/// Nothing happens while no observer is attached: payments wait, and nothing is asked of the store.
open class SKPaymentQueue: NSObject, @unchecked Sendable {
    // All that changes is in `state`, behind its lock.
    let session: DeviceSession
    let state = Locked(QueueState())
    /// Observers and the delegate are called one at a time, in the order of what happened.
    let callbacks: WorkLine
    /// Payments, launches and news are handled one at a time: the store may tell of a purchase before it answers it.
    let desk: WorkLine

    init(session: DeviceSession) {
        self.session = session
        callbacks = WorkLine(spawn: session.effects.spawn)
        desk = WorkLine(spawn: session.effects.spawn)
    }

    public override convenience init() { self.init(session: EmulatedDevice.current.session) }

    deinit { state.withLock { $0.ending }?.finish() }

    /// The current device's; the same one always.
    open class func `default`() -> SKPaymentQueue { EmulatedDevice.current.paymentQueue }

    /// Whether the customer may pay on this device, as far as it is known: true before the store was reached.
    open class func canMakePayments() -> Bool { SKPaymentQueue.default().latest?.mayPay ?? true }

    open var transactions: [SKPaymentTransaction] { state.withLock { $0.transactions } }
    open var transactionObservers: [any SKPaymentTransactionObserver] { state.withLock { $0.observers } }

    /// As far as it is known: nil before the store was reached.
    open var storefront: SKStorefront? { latest.map { SKStorefront($0.storefront) } }

    /// Not retained.
    open var delegate: (any SKPaymentQueueDelegate)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }

    /// The first observer gets everything that is unfinished; later ones only what changes. Not retained.
    open func add(_ observer: any SKPaymentTransactionObserver) {
        let held: [SKPayment]? = state.withLock { state in
            guard state.add(observer) else { return nil }
            defer { state.held = [] }
            return state.held
        }
        guard let held else { return }
        // What ended while nobody observed.
        announce { state in state.transactions.filter { [.failed, .restored].contains($0.transactionState) } }
        listen()
        for payment in held { place(payment) }
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

    /// Takes a copy of the payment. One that can't be paid (a quantity below 1 or above 10, no product) fails with
    /// `paymentInvalid`, where Apple's queue raises an exception.
    open func add(_ payment: SKPayment) {
        let payment = SKPayment(payment.asked)
        let isHeld = state.withLock { state in
            guard state.observers.isEmpty else { return false }
            state.held.append(payment)
            return true
        }
        if !isHeld { place(payment) }
    }

    /// The app has delivered what was paid for, or has read why it failed. One that is still being paid, or decided by
    /// somebody else, stays: Apple's queue raises an exception.
    open func finishTransaction(_ transaction: SKPaymentTransaction) { finish(transaction) }

    open func restoreCompletedTransactions() { restore() }

    /// - Parameter username: what the purchases were made with. Everything is restored, whatever it is.
    open func restoreCompletedTransactions(withApplicationUsername username: String?) { restore() }

    /// There is no sheet here: `POST /emulator/offer-codes/{code}/redeem` of the control API redeems a code.
    open func presentCodeRedemptionSheet() {}

    /// The customer sees what a subscription is going to cost.
    open func showPriceConsentIfNeeded() { showPriceConsent() }

    // Hosted content, which the emulated store has none of.
    open func start(_ downloads: [SKDownload]) {}
    open func pause(_ downloads: [SKDownload]) {}
    open func resume(_ downloads: [SKDownload]) {}
    open func cancel(_ downloads: [SKDownload]) {}

    /// What the store told last. Who asks before it was ever reached sets off a first question.
    private var latest: NewsWords? {
        if let latest = session.known.news { return latest }
        let asks = state.withLock { state in
            defer { state.hasAskedForStatus = true }
            return !state.hasAskedForStatus
        }
        if asks { session.effects.spawn { [session] in _ = try? await session.status() } }
        return nil
    }
}

/// Has a say in a payment that is under way (iOS 13). All of it is optional.
public protocol SKPaymentQueueDelegate: NSObjectProtocol {
    /// The storefront changed since the product was shown: whether to go on. No answer within a second is no.
    func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool

    /// Whether the App Store asks for consent to a higher price now. Who says no calls `showPriceConsentIfNeeded()`
    /// later.
    func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool
}

extension SKPaymentQueueDelegate {
    public func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool { true }

    public func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool { true }
}

/// Hears of the queue's transactions. Only the first of these is required.
///
/// The queue does not retain its observers.
public protocol SKPaymentTransactionObserver: NSObjectProtocol {
    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction])

    /// Optional. They were finished.
    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction])

    /// Optional.
    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error)

    /// Optional. Everything that could be restored was delivered.
    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue)

    /// Optional. Hosted content: never called here.
    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload])

    /// Optional. A promoted product was tapped in the App Store: whether the queue adds the payment now. Who says no
    /// may keep the payment and add it later.
    func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool

    /// Optional.
    func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue)

    /// Optional. Refunds, and family sharing that ended; the receipt is renewed already.
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

/// Work that is done one piece after the other, in the order in which it was handed in.
final class WorkLine: Sendable {
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
