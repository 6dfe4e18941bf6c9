import TillBilling
import TillSQL

/// The chains that one commit may change, each with its state before. At the end, one event is written for every
/// customer whose subscription changed.
struct SubscriptionChanges {
    private let now: Instant
    private let connection: any Connection
    /// In the order in which they were added.
    private var recorders: [SubscriptionRecorder] = []

    /// A customer whose subscriptions changed.
    struct Changed: Hashable {
        let user: UserID
        let environment: StoreEnvironment
    }

    init(now: Instant, _ connection: any Connection) {
        self.now = now
        self.connection = connection
    }

    private func index(_ original: TransactionID?, _ environment: StoreEnvironment) -> Int? {
        recorders.firstIndex { $0.originalID == original && $0.environment == environment }
    }

    /// Call before anything in the transaction's chain is changed.
    mutating func watch(_ transaction: PaidTransaction) throws {
        guard transaction.isSubscription, index(transaction.originalID, transaction.environment) == nil else { return }
        recorders.append(
            try SubscriptionRecorder(of: transaction.originalID, in: transaction.environment, now: now, connection))
    }

    /// Lists a recorded transaction as one of its chain's periods.
    mutating func list(_ transaction: PaidTransaction) throws {
        guard transaction.isSubscription, let index = index(transaction.originalID, transaction.environment) else {
            return
        }
        try recorders[index].list(transaction)
    }

    /// Records renewal information about a watched chain.
    ///
    /// - Returns: whether the chain is watched.
    mutating func store(_ renewal: SignedRenewal) throws -> Bool {
        guard let index = index(renewal.info.originalTransactionID, renewal.info.environment) else { return false }
        try recorders[index].store(renewal)
        return true
    }

    func recordEvents() throws -> [Changed] {
        try recorders.flatMap { recorder in
            try recorder.recordEvents().map { Changed(user: $0, environment: recorder.environment) }
        }
    }

    /// Records renewal information that came without a transaction, and writes the events.
    static func record(_ renewal: SignedRenewal, now: Instant, _ connection: any Connection) throws -> [Changed] {
        guard let original = renewal.info.originalTransactionID else { return [] }
        var watch = SubscriptionChanges(now: now, connection)
        watch.recorders.append(
            try SubscriptionRecorder(of: original, in: renewal.info.environment, now: now, connection))
        _ = try watch.store(renewal)
        return try watch.recordEvents()
    }
}
