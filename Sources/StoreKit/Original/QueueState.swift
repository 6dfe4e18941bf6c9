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
