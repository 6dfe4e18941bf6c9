import Foundation

/// What a payment queue knows in this process.
struct QueueState {
    private struct Observation {
        // Apple's queue does not retain its observers either.
        weak var observer: (any SKPaymentTransactionObserver)?
    }

    private var observations: [Observation] = []
    var transactions: [SKPaymentTransaction] = []
    weak var delegate: (any SKPaymentQueueDelegate)?
    /// Payments that were added while nobody observed.
    var held: [SKPayment] = []
    /// Ends the listening to the store.
    var ending: AsyncStream<Never>.Continuation?

    // By the store's number of the transaction.
    /// Delivered as purchased since the first observer came.
    var announced: Set<String> = []
    /// On their way out: the store is being told.
    var finishing: Set<String> = []
    var finished: Set<String> = []
    /// Delivered as revoked, each with its date.
    var revoked: Set<String> = []
    /// Promoted payments that observers were asked about.
    var asked: Set<String> = []
    /// Observers that have no answer of their own to the promoted payment in question.
    var unanswered = 0
    var hasAskedForStatus = false

    var observers: [any SKPaymentTransactionObserver] { observations.compactMap(\.observer) }

    /// - Returns: whether it is the first one.
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

    /// A transaction is paid and waits to be finished.
    ///
    /// - Returns: what observers are to be told of: none if they know it, or if the app is done with it.
    mutating func arrive(_ words: TransactionWords, receipt: Data?) -> [SKPaymentTransaction] {
        let number = words.transactionId
        guard !finishing.contains(number), !finished.contains(number), announced.insert(number).inserted else {
            return []
        }
        if let known = transactions.first(where: { $0.number == number }) {
            known.pay(words, receipt: receipt ?? known.transactionReceipt)
            return [known]
        }
        let new = SKPaymentTransaction(words, receipt: receipt)
        transactions.append(new)
        return [new]
    }

    /// A payment of this process went through.
    mutating func settle(_ transaction: SKPaymentTransaction, _ words: TransactionWords, receipt: Data?) {
        transaction.pay(words, receipt: receipt)
        announced.insert(words.transactionId)
        // A non-consumable that is bought again comes as the transaction that was finished then.
        finished.remove(words.transactionId)
    }
}

extension SKPaymentQueue {
    /// Changes the queue and tells the observers of what changed, in one step of the callbacks' line: whoever is called
    /// sees exactly this change and the ones before it.
    ///
    /// - Parameter change: gives the transactions that changed.
    func announce(_ change: @escaping @Sendable (inout QueueState) -> [SKPaymentTransaction]) {
        call { queue in
            let (changed, observers) = queue.state.withLock { state in (change(&state), state.observers) }
            guard !changed.isEmpty else { return }
            for observer in observers { observer.paymentQueue(queue, updatedTransactions: changed) }
        }
    }

    /// Takes transactions off the queue.
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

    /// Tells every observer.
    func tell(_ message: @escaping @Sendable (any SKPaymentTransactionObserver, SKPaymentQueue) -> Void) {
        call { queue in
            for observer in queue.state.withLock({ $0.observers }) { message(observer, queue) }
        }
    }

    /// Asks the app something.
    ///
    /// - Parameter limit: so many milliseconds after the app was asked the answer is no; nil: as long as it takes.
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

/// What the store tells while somebody observes.
extension SKPaymentQueue {
    func listen() {
        let (stopped, ending) = AsyncStream<Never>.makeStream()
        let previous = state.withLock { state in
            defer { state.ending = ending }
            return state.ending
        }
        previous?.finish()
        // The task does not keep the queue: a queue that is gone ends it.
        session.effects.spawn { [weak self, session] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await change in await session.changes() { self?.hear(change) }
                }
                group.addTask { for await _ in stopped {} }
                await group.next()
                group.cancelAll()
            }
        }
    }

    private func hear(_ change: StoreChange) {
        switch change {
        case .launched: desk.add { await self.deliverUnfinished() }
        case .transaction(let words): desk.add { await self.hear(words) }
        case .storefront: tell { observer, queue in observer.paymentQueueDidChangeStorefront(queue) }
        case .intent(let intent): session.effects.spawn { await self.offer(intent) }
        case .message(let message) where message.isPriceConsent:
            session.effects.spawn { await self.askForConsent(message) }
        case .message, .subscriptions: break
        }
    }

    /// So many transactions are delivered with a receipt of their own; nobody wants to wait for more.
    private static let receiptLimit = 20

    private func deliverUnfinished() async {
        guard state.withLock({ !$0.observers.isEmpty }) else { return }
        let unfinished: [TransactionWords]
        do throws(StoreFault) {
            unfinished = try await session.line.transactions(.unfinished)
        } catch {
            let effects = session.effects
            return effects.spawn { [weak self] in
                await effects.pause(effects.pollInterval)
                self?.hear(.launched)
            }
        }
        let isKnown = state.withLock { state in unfinished.allSatisfy { state.announced.contains($0.transactionId) } }
        guard !isKnown else { return }
        // The record of what was paid for elsewhere, or before a reinstallation, is in no file yet.
        try? await session.renewReceipt()
        var receipts: [String: Data] = [:]
        for words in unfinished.prefix(Self.receiptLimit) {
            receipts[words.transactionId] = try? await session.line.receipt(of: words.transactionId)
        }
        let delivered = receipts
        announce { state in
            unfinished.flatMap { state.arrive($0, receipt: delivered[$0.transactionId]) }
        }
        dropMerged(into: Set(unfinished.map(\.transactionId)))
    }

    /// Requests that were merged into one that is paid end with it (facts/storekit-client A8).
    private func dropMerged(into paid: Set<String>) {
        drop { $0.transactionState == .deferred && paid.contains($0.number ?? "") }
    }

    private func hear(_ words: TransactionWords) async {
        if let date = words.revocationDate {
            guard state.withLock({ $0.revoked.insert("\(words.transactionId) \(date)").inserted }) else { return }
            return tell { observer, queue in
                observer.paymentQueue(queue, didRevokeEntitlementsForProductIdentifiers: [words.productId])
            }
        }
        switch words.state {
        // An app that runs when a subscription renews hears of it at its next launch (facts/storekit-client A8).
        case .purchased where words.reason != "RENEWAL" && !words.finished:
            guard !state.withLock({ $0.announced.contains(words.transactionId) }) else { return }
            let receipt = try? await session.line.receipt(of: words.transactionId)
            announce { state in state.arrive(words, receipt: receipt) }
            dropMerged(into: [words.transactionId])
        case .declined:
            announce { state in
                let declined = state.transactions.filter {
                    $0.number == words.transactionId && $0.transactionState == .deferred
                }
                for transaction in declined { transaction.fail(SKError(.paymentCancelled)) }
                return declined
            }
        default: break
        }
    }
}

extension SKPaymentQueue {
    func restore() { desk.add { await self.restoreNow() } }

    private func restoreNow() async {
        do throws(StoreFault) {
            try await session.signedIn()
            let restored = try await session.line.restore()
            try? await session.renewReceipt()
            announce { state in
                let transactions = restored.map { SKPaymentTransaction($0) }
                state.transactions += transactions
                return transactions
            }
            tell { observer, queue in observer.paymentQueueRestoreCompletedTransactionsFinished(queue) }
        } catch {
            let error = error.error
            tell { observer, queue in
                observer.paymentQueue(queue, restoreCompletedTransactionsFailedWithError: error)
            }
        }
    }
}

extension SKPaymentTransaction {
    /// A restored transaction has an id of this restore; whose it is, its original says (facts/storekit-client A4).
    fileprivate convenience init(_ restored: RestoredWords) {
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
