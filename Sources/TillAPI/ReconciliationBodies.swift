import TillBilling

/// `POST /v1/reconciliations`: compare the ledger with Apple's books now.
public struct StartReconciliationBody: Codable, Sendable {
    /// Says what would change, and changes nothing. False if absent.
    public var dryRun: Bool?
    /// From when on notifications are read, and all histories whole; goes on after the last one if absent.
    public var since: Instant?

    public init(dryRun: Bool? = nil, since: Instant? = nil) {
        self.dryRun = dryRun
        self.since = since
    }
}

/// One comparison of the ledger with Apple's books.
public struct ReconciliationReply: Codable, Sendable, Hashable {
    public enum State: String, Codable, Sendable, CaseIterable {
        case running
        /// Apple can't be asked just now; it goes on by itself.
        case waiting
        case finished
        /// Given up; what was settled until then stays settled.
        case failed
    }

    /// What was counted in one environment.
    public struct Count: Codable, Sendable, Hashable {
        public let environment: Environment
        public let name: String
        public let count: Int64

        public init(environment: Environment, name: String, count: Int64) {
            self.environment = environment
            self.name = name
            self.count = count
        }
    }

    public let id: String
    public let dryRun: Bool
    public var state: State
    /// `first`, `regular`, `gap`, `asked`.
    public let reason: String
    /// `till`, `key:backend`, `operator:anna`.
    public let caller: String
    public let since: Instant?
    public let beganAt: Instant
    /// What is being done: a phase, and where.
    public var phase: String?
    public var environment: Environment?
    /// Customers, transactions or pages of this phase that are done.
    public var done: Int64?
    public var progressedAt: Instant?
    public var waitsUntil: Instant?
    /// A fault's code and a sentence in English.
    public var waitsFor: String?
    public var endedAt: Instant?
    /// How it ended.
    public var ending: String?
    public var counts: [Count] = []

    public init(
        id: String, dryRun: Bool, state: State, asked: (reason: String, caller: String), since: Instant?,
        beganAt: Instant
    ) {
        self.id = id
        self.dryRun = dryRun
        self.state = state
        reason = asked.reason
        caller = asked.caller
        self.since = since
        self.beganAt = beganAt
    }
}

/// One thing in which Apple's books and ours were not the same.
public struct DifferenceReply: Codable, Sendable, Hashable {
    /// For programs.
    public let kind: String
    /// Whether the books differed; else it says what could not be compared, or what became of an order.
    public let isDrift: Bool
    public let environment: Environment
    public let transactionId: String?
    public let orderId: UniqueID?
    public let notificationId: String?
    public let was: String
    public let now: String
    public let explanation: Text
    /// Nil of a dry run.
    public let foundAt: Instant?

    public init(_ difference: Difference, foundAt: Instant?) {
        kind = difference.kind.rawValue
        isDrift = difference.kind.isDrift
        environment = difference.environment
        transactionId = difference.transactionID?.text
        orderId = difference.orderID
        notificationId = difference.notificationID
        was = difference.was
        now = difference.now
        explanation = difference.kind.sentence
        self.foundAt = foundAt
    }
}

/// `GET /v1/reconciliations/{id}`: how far it is, and a page of what it found.
public struct ReconciliationDetail: Codable, Sendable {
    public let reconciliation: ReconciliationReply
    /// In the order in which they were found.
    public let differences: Page<DifferenceReply>

    public init(_ reconciliation: ReconciliationReply, _ differences: Page<DifferenceReply>) {
        self.reconciliation = reconciliation
        self.differences = differences
    }
}
