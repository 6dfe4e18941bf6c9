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

// What Apple answers is signed, and none of it is believed before a verifier has said so: these wrap the text, and
// give a verified value only to whoever brings the verifier (DESIGN §3).

/// A JWSTransaction that nobody has verified yet.
public struct SignedTransaction: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    public func verified(by verifier: SignedDataVerifier) throws(VerificationFailure) -> VerifiedTransaction {
        try verifier.transaction(jws)
    }
}

/// A JWSRenewalInfo that nobody has verified yet.
public struct SignedRenewalInfo: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    /// It names no app: believe it only beside its transaction (facts/jws §5).
    public func verified(by verifier: SignedDataVerifier) throws(VerificationFailure) -> VerifiedRenewalInfo {
        try verifier.renewalInfo(jws)
    }
}

/// An app transaction that nobody has verified yet.
public struct SignedAppTransaction: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    public func verified(by verifier: SignedDataVerifier) throws(VerificationFailure) -> VerifiedAppTransaction {
        try verifier.appTransaction(jws)
    }
}

/// A notification's `signedPayload` that nobody has verified yet.
public struct SignedNotification: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    public func verified(by verifier: SignedDataVerifier) throws(VerificationFailure) -> VerifiedNotification {
        try verifier.notification(jws)
    }
}

/// What was answered, and by which environment.
public struct Answered<Value: Sendable>: Sendable {
    public let environment: Environment
    public let value: Value

    public init(_ value: Value, from environment: Environment) {
        self.value = value
        self.environment = environment
    }
}

extension Answered: Equatable where Value: Equatable {}

/// A page that says how to get the next one.
public protocol ServerAPIPage: Sendable {
    var hasMore: Bool { get }
    /// What the next page is asked with.
    var nextToken: String? { get }
}

/// All pages, one request each, in Apple's order.
///
/// What changes while one walks may come again, newer (facts/server-api §4.1): whoever imports must be able to meet a
/// transaction twice. A fault does not move the walk: asking for the next page again asks for the same one.
public struct PageWalk<Page: ServerAPIPage>: AsyncSequence, Sendable {
    public typealias Element = Answered<Page>
    typealias Fetch =
        @Sendable (_ token: String?, _ environment: Environment?) async throws(ServerAPIFault)
        -> Answered<Page>

    let start: String?
    let environment: Environment?
    /// A walk that would take more pages ends with `unreadable(endless)`.
    let pageLimit: Int
    let fetch: Fetch

    /// Twenty entries a page: enough for the most faithful customer, and an end for a server that has none.
    public static var usualPageLimit: Int { 1_000 }

    public func makeAsyncIterator() -> Iterator { Iterator(walk: self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let walk: PageWalk
        private var token: String?
        private var environment: Environment?
        private var seen: Set<String>
        private var pages = 0
        private var isOver = false

        init(walk: PageWalk) {
            self.walk = walk
            token = walk.start
            environment = walk.environment
            seen = walk.start.map { [$0] } ?? []
        }

        public mutating func next() async throws(ServerAPIFault) -> Answered<Page>? {
            if isOver { return nil }
            guard pages < walk.pageLimit else { throw Self.endless("more than \(walk.pageLimit) pages") }
            let answered = try await walk.fetch(token, environment)
            // The first page shows where the customer is; no later one is asked elsewhere.
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

        private static func endless(_ detail: String) -> ServerAPIFault {
            .unreadable(UnreadableAnswer(.endless, status: 200, detail))
        }
    }
}
