import TillBilling
import TillSQL

/// The chains that one commit may change, each with its state before. At the end, one event is written for every
/// customer whose subscription changed.
struct SubscriptionChanges {
    private let now: Instant
    private let known: KnownProofHeaders?
    private let connection: any Connection
    /// In the order in which they were added.
    private var recorders: [SubscriptionRecorder] = []
    /// Whether the commit has decided purchases of other chains again.
    var hasDecidedContested = false

    /// A customer whose subscription changed.
    struct Changed: Hashable {
        let user: UserID
        let environment: StoreEnvironment
        /// Nil: anything that the customer has.
        let originalID: TransactionID?

        var ofCustomer: Changed { Changed(user: user, environment: environment, originalID: nil) }
    }

    init(now: Instant, knowing known: KnownProofHeaders?, _ connection: any Connection) {
        self.now = now
        self.known = known
        self.connection = connection
    }

    private func index(_ original: TransactionID?, _ environment: StoreEnvironment) -> Int? {
        recorders.firstIndex { $0.originalID == original && $0.environment == environment }
    }

    /// Call before anything in the transaction's chain is changed.
    mutating func watch(_ transaction: PaidTransaction) throws {
        guard transaction.isSubscription, index(transaction.originalID, transaction.environment) == nil else { return }
        recorders.append(
            try SubscriptionRecorder(
                of: transaction.originalID, in: transaction.environment, now: now, knowing: known, connection))
    }

    /// Lists a recorded transaction as one of its chain's periods.
    ///
    /// - Parameter known: the transaction's row id; nil if it has to be read.
    /// - Returns: the periods of the chain; nil for a transaction of no watched chain.
    mutating func list(_ transaction: PaidTransaction, _ known: Int64? = nil) throws -> [SubscriptionTable.Link]? {
        guard transaction.isSubscription, let index = index(transaction.originalID, transaction.environment) else {
            return nil
        }
        return try recorders[index].list(transaction, known)
    }

    /// Lists the first transaction of a watched chain that has no list.
    ///
    /// - Returns: whether it did, or the transaction is of no watched chain: there are no other periods.
    mutating func listFirst(_ transaction: PaidTransaction, _ rowID: Int64) throws -> Bool {
        guard let index = index(transaction.originalID, transaction.environment) else { return true }
        return try recorders[index].listFirst(rowID)
    }

    /// Lists a transaction that this commit has granted, if its chain is watched and has no list: there are no other
    /// periods.
    ///
    /// - Parameters:
    ///   - renewal: renewal information that came beside it; recorded in the same statement.
    ///   - customer: the number of the owner, if it is known.
    /// - Returns: what the owner's reminders follow from; nil if it did nothing.
    mutating func begin(
        _ transaction: PaidTransaction, _ rowID: Int64, _ grant: Grant, _ renewal: SignedRenewal?, customer: Int64?
    ) throws -> BegunSubscription? {
        guard let index = index(transaction.originalID, transaction.environment) else { return nil }
        if let renewal {
            let isOfChain = renewal.info.originalTransactionID == transaction.originalID
            guard isOfChain, renewal.info.environment == transaction.environment else { return nil }
        }
        guard try recorders[index].begin(with: rowID, transaction.period, of: grant.userID, renewal),
            let begun = recorders[index].begun
        else { return nil }
        _ = try recorders[index].recordEvents(customer: customer)
        return BegunSubscription(
            entry: PurchaseHistory.Entry(
                rowID: rowID, originalID: transaction.originalID, period: transaction.period,
                quantity: transaction.quantity, isRevoked: false, entitlement: grant.entitlement, deviceID: nil,
                subscription: begun.rowID), renewal: begun.renewal)
    }

    /// The only period of a chain that a commit begins, without its device.
    struct BegunSubscription {
        let entry: PurchaseHistory.Entry
        let renewal: RenewalTerms?
    }

    /// Call after something has changed the owners of periods that are listed.
    mutating func forgetLinks() {
        for index in recorders.indices { recorders[index].links = nil }
    }

    /// The owner of a granted period that is listed; nil if it has to be looked up.
    func owner(of transaction: PaidTransaction) -> UserID? {
        guard let index = index(transaction.originalID, transaction.environment) else { return nil }
        return recorders[index].links?.first { $0.period.transactionID == transaction.id }
            .flatMap { $0.state == .granted && $0.hasGrant ? $0.owner : nil }
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
            try recorder.recordEvents().map {
                Changed(user: $0, environment: recorder.environment, originalID: recorder.originalID)
            }
        }
    }

    /// Records renewal information that came without a transaction, and writes the events.
    static func record(
        _ renewal: SignedRenewal, now: Instant, knowing known: KnownProofHeaders?, _ connection: any Connection
    ) throws -> [Changed] {
        guard let original = renewal.info.originalTransactionID else { return [] }
        var watch = SubscriptionChanges(now: now, knowing: known, connection)
        watch.recorders.append(
            try SubscriptionRecorder(
                of: original, in: renewal.info.environment, now: now, knowing: known, connection))
        _ = try watch.store(renewal)
        return try watch.recordEvents()
    }
}
