import TillBilling
import TillSQL

/// The chains that one commit may change, each with its state before. At the end, one event is written for every
/// customer whose subscription changed.
struct SubscriptionChanges {
    private let now: Instant
    private let connection: any Connection
    /// In the order in which they were added.
    private var books: [SubscriptionRecorder] = []

    /// A customer whose subscriptions changed.
    struct Changed: Hashable {
        let user: UserID
        let environment: Environment
    }

    init(now: Instant, _ connection: any Connection) {
        self.now = now
        self.connection = connection
    }

    private func index(_ original: TransactionID?, _ environment: Environment) -> Int? {
        books.firstIndex { $0.originalID == original && $0.environment == environment }
    }

    /// Call before anything in the transaction's chain is changed.
    mutating func watch(_ transaction: PaidTransaction) throws {
        guard transaction.isSubscription, index(transaction.originalID, transaction.environment) == nil else { return }
        books.append(
            try SubscriptionRecorder(of: transaction.originalID, in: transaction.environment, now: now, connection))
    }

    /// Lists a recorded transaction as one of its chain's periods.
    mutating func list(_ transaction: PaidTransaction) throws {
        guard transaction.isSubscription, let index = index(transaction.originalID, transaction.environment) else {
            return
        }
        try books[index].list(transaction)
    }

    /// Records renewal information about a watched chain.
    ///
    /// - Returns: whether the chain is watched.
    mutating func keep(_ renewal: SignedRenewal) throws -> Bool {
        guard let index = index(renewal.info.originalTransactionID, renewal.info.environment) else { return false }
        try books[index].keep(renewal)
        return true
    }

    func tell() throws -> [Changed] {
        try books.flatMap { book in
            try book.tell().map { Changed(user: $0, environment: book.environment) }
        }
    }

    /// Records renewal information that came without a transaction, and writes the events.
    static func record(_ renewal: SignedRenewal, now: Instant, _ connection: any Connection) throws -> [Changed] {
        guard let original = renewal.info.originalTransactionID else { return [] }
        var watch = SubscriptionChanges(now: now, connection)
        watch.books.append(
            try SubscriptionRecorder(of: original, in: renewal.info.environment, now: now, connection))
        _ = try watch.keep(renewal)
        return try watch.tell()
    }
}
