import TillBilling

/// The verified result of a walk: the newest copy of each transaction, however often it occurred (facts/server-api
/// §4.1).
public struct VerifiedHistory: Sendable {
    /// A transaction in Apple's response that failed verification.
    public struct RefusedTransaction: Sendable, Hashable {
        public let transaction: SignedTransaction
        public let verdict: Verdict
        public let detail: String
    }

    /// In the order of their first occurrence.
    public private(set) var transactions: [VerifiedTransaction] = []
    public private(set) var refused: [RefusedTransaction] = []
    /// The last page's revision, to be stored if the walk was ascending.
    public fileprivate(set) var revision: String?
    public fileprivate(set) var environment: StoreEnvironment?
    private var places: [TransactionID: Int] = [:]

    public init() {}

    /// Verifies and adds a transaction; it replaces an older copy.
    public mutating func take(_ signed: SignedTransaction, by verifier: SignedDataVerifier) {
        let transaction: VerifiedTransaction
        do {
            transaction = try signed.verified(by: verifier)
        } catch {
            refused.append(RefusedTransaction(transaction: signed, verdict: error.verdict, detail: error.detail))
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
    /// A customer's complete history, or the changes since a revision, verified.
    public func verifiedHistory(
        of id: TransactionID, filter: HistoryFilter = HistoryFilter(), since revision: String? = nil,
        in environment: StoreEnvironment? = nil, by verifier: SignedDataVerifier,
        retrying policy: RetryPolicy = .persistent
    ) async throws(ServerAPIError) -> VerifiedHistory {
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
        of id: TransactionID, since revision: String? = nil, in environment: StoreEnvironment? = nil,
        by verifier: SignedDataVerifier, retrying policy: RetryPolicy = .persistent
    ) async throws(ServerAPIError) -> VerifiedHistory {
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

// Apple's responses are signed and not yet verified. These types wrap the text, and return a verified value only
// through a verifier.

/// An unverified JWSTransaction.
public struct SignedTransaction: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    public func verified(by verifier: SignedDataVerifier) throws(VerificationError) -> VerifiedTransaction {
        try verifier.transaction(jws)
    }
}

/// An unverified JWSRenewalInfo.
public struct SignedRenewalInfo: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    /// The result names no app: use it only together with its transaction (facts/jws §5).
    public func verified(by verifier: SignedDataVerifier) throws(VerificationError) -> VerifiedRenewalInfo {
        try verifier.renewalInfo(jws)
    }
}

/// An unverified app transaction.
public struct SignedAppTransaction: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    public func verified(by verifier: SignedDataVerifier) throws(VerificationError) -> VerifiedAppTransaction {
        try verifier.appTransaction(jws)
    }
}

/// An unverified `signedPayload` of a notification.
public struct SignedNotification: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    public func verified(by verifier: SignedDataVerifier) throws(VerificationError) -> VerifiedNotification {
        try verifier.notification(jws)
    }
}

/// A response, and the environment that gave it.
public struct EnvironmentResult<Value: Sendable>: Sendable {
    public let environment: StoreEnvironment
    public let value: Value

    public init(_ value: Value, from environment: StoreEnvironment) {
        self.value = value
        self.environment = environment
    }
}

extension EnvironmentResult: Equatable where Value: Equatable {}

/// A page that can have a successor.
public protocol ServerAPIPage: Sendable {
    var hasMore: Bool { get }
    /// The token for requesting the next page.
    var nextToken: String? { get }
}

/// All pages, one request each, in Apple's order.
///
/// An entry that changes during the walk may occur again in a newer version (facts/server-api §4.1), so importers must
/// accept a transaction twice. After a fault, the next call requests the same page again.
public struct PageSequence<Page: ServerAPIPage>: AsyncSequence, Sendable {
    public typealias Element = EnvironmentResult<Page>
    typealias Fetch =
        @Sendable (_ token: String?, _ environment: StoreEnvironment?) async throws(ServerAPIError)
        -> EnvironmentResult<Page>

    let start: String?
    let environment: StoreEnvironment?
    /// A walk with more pages ends with `unreadable(endless)`.
    let pageLimit: Int
    let fetch: Fetch

    /// Twenty entries a page: sufficient for any real customer, and an end for a faulty server.
    public static var usualPageLimit: Int { 1_000 }

    public func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let sequence: PageSequence
        private var token: String?
        private var environment: StoreEnvironment?
        private var seen: Set<String>
        private var pages = 0
        private var isOver = false

        init(sequence: PageSequence) {
            self.sequence = sequence
            token = sequence.start
            environment = sequence.environment
            seen = sequence.start.map { [$0] } ?? []
        }

        public mutating func next() async throws(ServerAPIError) -> EnvironmentResult<Page>? {
            if isOver { return nil }
            guard pages < sequence.pageLimit else { throw Self.endless("more than \(sequence.pageLimit) pages") }
            let answered = try await sequence.fetch(token, environment)
            // The first page determines the customer's environment; all later pages are requested there.
            environment = answered.environment
            pages += 1
            guard answered.value.hasMore else {
                isOver = true
                return answered
            }
            guard let next = answered.value.nextToken, seen.insert(next).inserted else {
                throw Self.endless("page \(pages) refers to an earlier page")
            }
            token = next
            return answered
        }

        private static func endless(_ detail: String) -> ServerAPIError {
            .unreadable(UnreadableResponse(.endless, status: 200, detail))
        }
    }
}
