import Foundation

/// The state of a payment queue in this process.
struct QueueState {
    private struct Observation {
        // Apple's queue does not retain its observers either.
        weak var observer: (any SKPaymentTransactionObserver)?
    }

    private var observations: [Observation] = []
    var transactions: [SKPaymentTransaction] = []
    weak var delegate: (any SKPaymentQueueDelegate)?
    /// Payments that were added while there was no observer.
    var heldPayments: [SKPayment] = []
    /// Ends the task that listens to the store.
    var ending: AsyncStream<Never>.Continuation?

    // By the store's id of the transaction:
    /// Delivered as purchased since the first observer was added.
    var announced: Set<String> = []
    /// Being finished at the store.
    var finishing: Set<String> = []
    var finished: Set<String> = []
    /// Delivered as revoked, each with its date.
    var revoked: Set<String> = []
    /// Promoted payments that observers were asked about.
    var asked: Set<String> = []
    /// The number of observers that do not implement the method for the current promoted payment.
    var unanswered = 0
    var hasAskedForStatus = false

    var observers: [any SKPaymentTransactionObserver] { observations.compactMap(\.observer) }

    /// - Returns: whether it is the first observer.
    mutating func add(_ observer: any SKPaymentTransactionObserver) -> Bool {
        observations.removeAll { $0.observer == nil }
        guard !observations.contains(where: { $0.observer === observer }) else { return false }
        observations.append(Observation(observer: observer))
        guard observations.count == 1 else { return false }
        announced = []
        return true
    }

    mutating func remove(_ observer: any SKPaymentTransactionObserver) {
        observations.removeAll { $0.observer == nil || $0.observer === observer }
    }

    /// Handles a transaction that is paid and unfinished.
    ///
    /// - Returns: the transactions to report to observers; none if it was already reported or finished.
    mutating func arrive(_ response: TransactionResponse, receipt: Data?) -> [SKPaymentTransaction] {
        let number = response.transactionId
        guard !finishing.contains(number), !finished.contains(number), announced.insert(number).inserted else {
            return []
        }
        if let known = transactions.first(where: { $0.number == number }) {
            known.pay(response, receipt: receipt ?? known.transactionReceipt)
            return [known]
        }
        let new = SKPaymentTransaction(response, receipt: receipt)
        transactions.append(new)
        return [new]
    }

    /// Records that a payment of this process succeeded.
    mutating func complete(_ transaction: SKPaymentTransaction, _ response: TransactionResponse, receipt: Data?) {
        transaction.pay(response, receipt: receipt)
        announced.insert(response.transactionId)
        // A non-consumable that is bought again arrives as the transaction that was finished before.
        finished.remove(response.transactionId)
    }
}

extension SKPaymentQueue {
    /// Changes the queue and informs the observers in one step of the callbacks' queue: an observer sees exactly this
    /// change and the earlier ones.
    ///
    /// - Parameter change: returns the transactions that changed.
    func announce(_ change: @escaping @Sendable (inout QueueState) -> [SKPaymentTransaction]) {
        call { queue in
            let (changed, observers) = queue.state.withLock { state in (change(&state), state.observers) }
            guard !changed.isEmpty else { return }
            for observer in observers { observer.paymentQueue(queue, updatedTransactions: changed) }
        }
    }

    /// Removes transactions from the queue.
    func drop(_ isOver: @escaping @Sendable (SKPaymentTransaction) -> Bool) {
        call { queue in
            let (removed, observers) = queue.state.withLock { state in
                let removed = state.transactions.filter(isOver)
                state.transactions.removeAll(where: isOver)
                return (removed, state.observers)
            }
            guard !removed.isEmpty else { return }
            for observer in observers { observer.paymentQueue(queue, removedTransactions: removed) }
        }
    }

    /// Calls every observer.
    func notify(_ message: @escaping @Sendable (any SKPaymentTransactionObserver, SKPaymentQueue) -> Void) {
        call { queue in
            for observer in queue.state.withLock({ $0.observers }) { message(observer, queue) }
        }
    }

    /// Asks the app a question.
    ///
    /// - Parameter limit: milliseconds after which the answer is false; nil waits without limit.
    func ask(within limit: Int64? = nil, _ question: @escaping @Sendable (SKPaymentQueue) -> Bool) async -> Bool {
        let (answers, answer) = AsyncStream<Bool>.makeStream()
        let effects = session.effects
        if let limit {
            callbacks.add {
                effects.spawn {
                    await effects.pause(limit)
                    answer.yield(false)
                }
            }
        }
        call { queue in answer.yield(question(queue)) }
        for await answer in answers { return answer }
        return false
    }

    private func call(_ call: @escaping @Sendable (SKPaymentQueue) -> Void) {
        let callback = session.effects.callback
        callbacks.add { await callback { call(self) } }
    }
}

/// Changes from the store while there is an observer.
extension SKPaymentQueue {
    func listen() {
        let (stopped, ending) = AsyncStream<Never>.makeStream()
        let previous = state.withLock { state in
            defer { state.ending = ending }
            return state.ending
        }
        previous?.finish()
        // The task does not retain the queue; the release of the queue ends it.
        session.effects.spawn { [weak self, session] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await change in await session.changes() { self?.handle(change) }
                }
                group.addTask { for await _ in stopped {} }
                await group.next()
                group.cancelAll()
            }
        }
    }

    private func handle(_ change: DeviceEvent) {
        switch change {
        case .launched: workQueue.add { await self.deliverUnfinished() }
        case .transaction(let response): workQueue.add { await self.handle(response) }
        case .storefront: notify { observer, queue in observer.paymentQueueDidChangeStorefront(queue) }
        case .intent(let intent): session.effects.spawn { await self.offer(intent) }
        case .message(let message) where message.isPriceConsent:
            session.effects.spawn { await self.askForConsent(message) }
        case .message, .subscriptions: break
        }
    }

    /// The number of transactions that are delivered with their own receipt; more would delay the delivery.
    private static let receiptLimit = 20

    private func deliverUnfinished() async {
        guard state.withLock({ !$0.observers.isEmpty }) else { return }
        let unfinished: [TransactionResponse]
        do throws(EmulatorClientError) {
            unfinished = try await session.client.transactions(.unfinished)
        } catch {
            let effects = session.effects
            return effects.spawn { [weak self] in
                await effects.pause(effects.pollInterval)
                self?.handle(.launched)
            }
        }
        let isKnown = state.withLock { state in unfinished.allSatisfy { state.announced.contains($0.transactionId) } }
        guard !isKnown else { return }
        // The receipt file does not yet contain purchases from elsewhere, or from before a reinstallation.
        try? await session.renewReceipt()
        var receipts: [String: Data] = [:]
        for response in unfinished.prefix(Self.receiptLimit) {
            receipts[response.transactionId] = await session.receipt(of: response.transactionId)
        }
        let delivered = receipts
        announce { state in
            unfinished.flatMap { state.arrive($0, receipt: delivered[$0.transactionId]) }
        }
        dropMerged(into: Set(unfinished.map(\.transactionId)))
    }

    /// Removes requests that were merged into one that is paid now (facts/storekit-client A8).
    private func dropMerged(into paid: Set<String>) {
        drop { $0.transactionState == .deferred && paid.contains($0.number ?? "") }
    }

    private func handle(_ response: TransactionResponse) async {
        if let date = response.revocationDate {
            guard state.withLock({ $0.revoked.insert("\(response.transactionId) \(date)").inserted }) else { return }
            return notify { observer, queue in
                observer.paymentQueue(queue, didRevokeEntitlementsForProductIdentifiers: [response.productId])
            }
        }
        switch response.state {
        // A running app is informed of a renewal at its next launch (facts/storekit-client A8).
        case .purchased where response.reason != "RENEWAL" && !response.finished:
            guard !state.withLock({ $0.announced.contains(response.transactionId) }) else { return }
            let receipt = await session.receipt(of: response.transactionId)
            announce { state in state.arrive(response, receipt: receipt) }
            dropMerged(into: [response.transactionId])
        case .declined:
            announce { state in
                let declined = state.transactions.filter {
                    $0.number == response.transactionId && $0.transactionState == .deferred
                }
                for transaction in declined { transaction.fail(SKError(.paymentCancelled)) }
                return declined
            }
        default: break
        }
    }
}

extension SKPaymentQueue {
    func restore() { workQueue.add { await self.restoreNow() } }

    private func restoreNow() async {
        do throws(EmulatorClientError) {
            try await session.signedIn()
            let restored = try await session.client.restore()
            try? await session.renewReceipt()
            announce { state in
                let transactions = restored.map { SKPaymentTransaction($0) }
                state.transactions += transactions
                return transactions
            }
            notify { observer, queue in observer.paymentQueueRestoreCompletedTransactionsFinished(queue) }
        } catch {
            let error = error.error
            notify { observer, queue in
                observer.paymentQueue(queue, restoreCompletedTransactionsFailedWithError: error)
            }
        }
    }
}

extension SKPaymentTransaction {
    /// A restored transaction has an id of this restore; its original identifies the purchase (facts/storekit-client
    /// A4).
    fileprivate convenience init(_ restored: RestoredPurchaseResponse) {
        let original = SKPaymentTransaction(restored.original, receipt: nil)
        original.content.withLock { $0.identifier = restored.original.originalTransactionId }
        let payment = original.payment
        self.init(
            Content(
                payment: payment, state: .restored, identifier: restored.transactionId,
                date: restored.original.purchased,
                original: original))
    }
}
