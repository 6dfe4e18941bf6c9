import TillBilling

/// `PUT /v1/users/{userId}/consents/consumption`.
public struct ConsentBody: Codable, Sendable {
    /// Whether the user lets Apple be told how much of a purchase was used.
    public let given: Bool

    public init(given: Bool) { self.given = given }
}

/// How a user's consent stands.
public struct ConsentReply: Codable, Sendable, Hashable {
    /// False too if nobody ever said.
    public let given: Bool
    /// Since when; nil if nobody ever said.
    public let at: Instant?

    public init(given: Bool, at: Instant?) {
        self.given = given
        self.at = at
    }
}

/// One of Apple's questions about a purchase whose money a customer wants back: `GET /v1/consumption-requests`.
public struct ConsumptionRequestReply: Codable, Sendable, Hashable {
    public enum State: String, Codable, Sendable, CaseIterable {
        case waiting, answered, unanswered, refused
    }

    /// What Apple was told (facts/server-api §5).
    public struct Answer: Codable, Sendable, Hashable {
        public let customerConsented: Bool
        public let deliveryStatus: String
        public let sampleContentProvided: Bool
        /// Thousandths of a percent.
        public let consumptionPercentage: Int?
        public let refundPreference: String?

        public init(
            customerConsented: Bool, deliveryStatus: String, sampleContentProvided: Bool, consumptionPercentage: Int?,
            refundPreference: String?
        ) {
            self.customerConsented = customerConsented
            self.deliveryStatus = deliveryStatus
            self.sampleContentProvided = sampleContentProvided
            self.consumptionPercentage = consumptionPercentage
            self.refundPreference = refundPreference
        }
    }

    public let transactionId: String
    public let environment: Environment
    /// Nil if nobody knows whose purchase it is.
    public var userId: String?
    public var productId: String?
    /// What the customer told Apple.
    public let reason: String?
    public let requestedAt: Instant
    public let answerBy: Instant
    public let state: State
    public let attempts: Int64
    /// What it waits for, or why it ended so; a code, and a sentence in English.
    public let detail: String
    public let answer: Answer?
    /// When it was answered, or given up.
    public let endedAt: Instant?

    public init(
        transactionId: String, environment: Environment, reason: String?, asked: (at: Instant, until: Instant),
        state: State, attempts: Int64, detail: String, ended: (answer: Answer?, at: Instant?)
    ) {
        self.transactionId = transactionId
        self.environment = environment
        self.reason = reason
        requestedAt = asked.at
        answerBy = asked.until
        self.state = state
        self.attempts = attempts
        self.detail = detail
        answer = ended.answer
        endedAt = ended.at
    }
}
