import TillBilling

/// `POST /v1/reconciliations`: compares the ledger with Apple's records now.
public struct StartReconciliationBody: Codable, Sendable {
    /// Reports the changes without making them. False if absent.
    public var dryRun: Bool?
    /// Reads notifications from this time on, and all histories completely. If absent, continues after the last
    /// reconciliation.
    public var since: Instant?

    public init(dryRun: Bool? = nil, since: Instant? = nil) {
        self.dryRun = dryRun
        self.since = since
    }
}

/// One comparison of the ledger with Apple's records.
public struct ReconciliationReply: Codable, Sendable, Hashable {
    public enum State: String, Codable, Sendable, CaseIterable {
        case running
        /// Apple cannot be asked at present; the comparison continues by itself.
        case waiting
        case finished
        /// Given up; purchases that were processed before that stay processed.
        case failed
    }

    /// One count in one environment.
    public struct Count: Codable, Sendable, Hashable {
        public let environment: StoreEnvironment
        public let name: String
        public let count: Int64

        public init(environment: StoreEnvironment, name: String, count: Int64) {
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
    /// The current phase and its position.
    public var phase: String?
    public var environment: StoreEnvironment?
    /// The completed customers, transactions or pages of this phase.
    public var done: Int64?
    public var progressedAt: Instant?
    public var waitsUntil: Instant?
    /// The code of a fault, and a sentence in English.
    public var waitsFor: String?
    public var endedAt: Instant?
    /// The result.
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

/// One difference between Apple's records and the ledger.
public struct DifferenceReply: Codable, Sendable, Hashable {
    /// For programs.
    public let kind: String
    /// Whether the records differed; otherwise the entry states what could not be compared, or the end of an order.
    public let isDrift: Bool
    public let environment: StoreEnvironment
    public let transactionId: String?
    public let orderId: UniqueID?
    public let notificationId: String?
    public let was: String
    public let now: String
    public let explanation: LocalizedText
    /// Nil for a dry run.
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
        explanation = difference.kind.sentence(isDryRun: foundAt == nil)
        self.foundAt = foundAt
    }
}

/// `GET /v1/reconciliations/{id}`: its progress, and a page of its differences.
public struct ReconciliationDetail: Codable, Sendable {
    public let reconciliation: ReconciliationReply
    /// In the order in which they were found.
    public let differences: Page<DifferenceReply>

    public init(_ reconciliation: ReconciliationReply, _ differences: Page<DifferenceReply>) {
        self.reconciliation = reconciliation
        self.differences = differences
    }
}
