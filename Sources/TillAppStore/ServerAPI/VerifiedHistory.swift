import TillBilling

/// What came of a walk, verified: of each transaction the newest copy, however often it came (facts/server-api §4.1).
public struct VerifiedHistory: Sendable {
    /// What Apple answered and the verifier did not believe.
    public struct Refused: Sendable, Hashable {
        public let transaction: SignedTransaction
        public let verdict: Verdict
        public let detail: String
    }

    /// In the order in which they first came.
    public private(set) var transactions: [VerifiedTransaction] = []
    public private(set) var refused: [Refused] = []
    /// The last page's, to be kept for later if the walk was ascending.
    public fileprivate(set) var revision: String?
    public fileprivate(set) var environment: Environment?
    private var places: [TransactionID: Int] = [:]

    public init() {}

    /// Takes one in, in place of an older copy.
    public mutating func take(_ signed: SignedTransaction, by verifier: SignedDataVerifier) {
        let transaction: VerifiedTransaction
        do {
            transaction = try signed.verified(by: verifier)
        } catch {
            refused.append(Refused(transaction: signed, verdict: error.verdict, detail: error.detail))
            return
        }
        if let place = places[transaction.id] {
            if transactions[place].signedDate <= transaction.signedDate { transactions[place] = transaction }
        } else {
            places[transaction.id] = transactions.count
            transactions.append(transaction)
        }
    }
}

extension ServerAPI {
    /// All of a customer's history, or what is new since a revision, verified.
    public func verifiedHistory(
        of id: TransactionID, filter: HistoryFilter = HistoryFilter(), since revision: String? = nil,
        in environment: Environment? = nil, by verifier: SignedDataVerifier, retrying policy: RetryPolicy = .patient
    ) async throws(ServerAPIFault) -> VerifiedHistory {
        var history = VerifiedHistory()
        history.revision = revision
        var pages = historyPages(of: id, filter: filter, since: revision, in: environment, retrying: policy)
            .makeAsyncIterator()
        while let page = try await pages.next() {
            history.environment = page.environment
            history.revision = page.value.revision ?? history.revision
            for transaction in page.value.transactions { history.take(transaction, by: verifier) }
        }
        return history
    }

    /// All refunds of a customer, verified.
    public func verifiedRefunds(
        of id: TransactionID, since revision: String? = nil, in environment: Environment? = nil,
        by verifier: SignedDataVerifier, retrying policy: RetryPolicy = .patient
    ) async throws(ServerAPIFault) -> VerifiedHistory {
        var history = VerifiedHistory()
        history.revision = revision
        var pages = refundPages(of: id, since: revision, in: environment, retrying: policy).makeAsyncIterator()
        while let page = try await pages.next() {
            history.environment = page.environment
            history.revision = page.value.revision ?? history.revision
            for transaction in page.value.transactions { history.take(transaction, by: verifier) }
        }
        return history
    }
}
