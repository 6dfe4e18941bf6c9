import TillBilling

/// `PUT /v1/users/{userId}/consents/consumption`.
public struct ConsentBody: Codable, Sendable {
    /// Whether the user consents to sending consumption information to Apple.
    public let given: Bool

    public init(given: Bool) { self.given = given }
}

/// A user's consent.
public struct ConsentReply: Codable, Sendable, Hashable {
    /// False also if the user never stated a consent.
    public let given: Bool
    /// The date of the consent; nil if the user never stated one.
    public let at: Instant?

    public init(given: Bool, at: Instant?) {
        self.given = given
        self.at = at
    }
}

/// One of Apple's requests for consumption information about a purchase for which a customer wants a refund:
/// `GET /v1/consumption-requests`.
public struct ConsumptionRequestReply: Codable, Sendable, Hashable {
    public enum State: String, Codable, Sendable, CaseIterable {
        case waiting, answered, unanswered, refused
    }

    /// The information sent to Apple (facts/server-api §5).
    public struct Answer: Codable, Sendable, Hashable {
        public let customerConsented: Bool
        public let deliveryStatus: String
        public let sampleContentProvided: Bool
        /// In thousandths of a percent.
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
    public let environment: StoreEnvironment
    /// Nil if the owner of the purchase is unknown.
    public var userId: String?
    public var productId: String?
    /// The customer's reason, as stated to Apple.
    public let reason: String?
    public let requestedAt: Instant
    public let answerBy: Instant
    public let state: State
    public let attempts: Int64
    /// What the request waits for, or why it ended: a code, and a sentence in English.
    public let detail: String
    public let answer: Answer?
    /// The time of the answer, or of giving up.
    public let endedAt: Instant?

    public init(
        transactionId: String, environment: StoreEnvironment, reason: String?, asked: (at: Instant, until: Instant),
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
