import TillBilling

/// `POST /v1/users/{userId}/claims`: what somebody paid Apple for and nobody was given (U1). One of `orderNumber` and
/// `transactionId`.
public struct ClaimOrderBody: Codable, Sendable {
    /// Apple's, as it stands in the mail to whoever paid: `MVXK0ABC12`.
    public let orderNumber: String?
    /// A purchase that waits for the user's word, from `GET /v1/users/{userId}/claimable`.
    public let transactionId: String?
    /// Of the transaction: `production` or `sandbox`.
    public let environment: String?

    public init(orderNumber: String? = nil, transactionId: String? = nil, environment: String? = nil) {
        self.orderNumber = orderNumber
        self.transactionId = transactionId
        self.environment = environment
    }
}

/// A purchase that Apple signed for an order of the user, and that is of another product or quantity than was ordered.
/// It is granted when the user accepts it.
public struct ClaimableReply: Codable, Sendable, Hashable {
    public let transactionId: String
    public let productId: String
    public let quantity: Int
    public let purchasedAt: Instant
    /// The order whose id the purchase carries.
    public let orderId: UniqueID
    public let orderedProductId: String
    public let orderedQuantity: Int
    /// Why it waits: a stable code.
    public let reason: String
    /// True for a purchase in the sandbox; absent otherwise.
    public let sandbox: Bool?

    public init(
        transactionId: String, productId: String, quantity: Int, purchasedAt: Instant, orderId: UniqueID,
        orderedProductId: String, orderedQuantity: Int, reason: String, sandbox: Bool? = nil
    ) {
        self.transactionId = transactionId
        self.productId = productId
        self.quantity = quantity
        self.purchasedAt = purchasedAt
        self.orderId = orderId
        self.orderedProductId = orderedProductId
        self.orderedQuantity = orderedQuantity
        self.reason = reason
        self.sandbox = sandbox
    }
}

/// What became of a claim.
public struct ClaimReply: Codable, Sendable, Hashable {
    public enum State: String, Codable, Sendable, Hashable, CaseIterable {
        /// Apple could not be asked; the server asks again by itself.
        case waiting
        case answered
        /// Apple knows no order of that number for this app, or all of it is another customer's.
        case unknown
    }

    public let id: UniqueID
    /// Absent from a claim by transaction.
    public let orderNumber: String?
    public let state: State
    public let at: Instant
    public let endedAt: Instant?
    /// What became of each transaction of the order; empty as long as it waits.
    public let data: [ClaimedTransaction]

    public init(
        id: UniqueID, orderNumber: String?, state: State, at: Instant, endedAt: Instant?, data: [ClaimedTransaction]
    ) {
        self.id = id
        self.orderNumber = orderNumber
        self.state = state
        self.at = at
        self.endedAt = endedAt
        self.data = data
    }
}

/// What became of one transaction that was claimed.
public struct ClaimedTransaction: Codable, Sendable, Hashable {
    public enum Outcome: String, Codable, Sendable, Hashable, CaseIterable {
        /// It was nobody's, and is this user's now.
        case granted
        /// It was this user's before.
        case owned
        /// Apple took the money back.
        case revoked
        /// It can't be given to anybody; `reason` says why.
        case quarantined
        /// What Apple answered with can't be verified; `reason` says why.
        case refused
    }

    public let outcome: Outcome
    public let transactionId: String?
    public let productId: String?
    /// Of what is this user's.
    public let orderId: UniqueID?
    public let reason: String?

    public init(
        _ outcome: Outcome, transactionId: String? = nil, productId: String? = nil, orderId: UniqueID? = nil,
        reason: String? = nil
    ) {
        self.outcome = outcome
        self.transactionId = transactionId
        self.productId = productId
        self.orderId = orderId
        self.reason = reason
    }
}

/// `POST /v1/quarantine/{transactionId}/claims`: an operator decides whose a purchase is that is nobody's.
public struct ClaimQuarantinedBody: Codable, Sendable {
    public let userId: String
    public let reason: String
    public let `operator`: String
    /// `production` or `sandbox`.
    public let environment: String?

    public init(userId: String, reason: String, operator name: String, environment: String? = nil) {
        self.userId = userId
        self.reason = reason
        `operator` = name
        self.environment = environment
    }
}

/// What is paid and genuine, and nobody's yet.
public struct QuarantinedTransaction: Codable, Sendable, Hashable {
    /// A decision, and what it rests on.
    public struct Evidence: Codable, Sendable, Hashable {
        public let at: Instant
        public let decision: String
        public let ground: String
        /// What each rung of the matching ladder said.
        public let detail: String?
        public let door: String
        public let caller: String

        public init(at: Instant, decision: String, ground: String, detail: String?, door: String, caller: String) {
            self.at = at
            self.decision = decision
            self.ground = ground
            self.detail = detail
            self.door = door
            self.caller = caller
        }
    }

    /// Posts that ended with the purchase in quarantine for the same reason.
    public struct Reason: Codable, Sendable, Hashable {
        /// A stable code.
        public let reason: String
        public let count: Int64
        public let firstAt: Instant
        public let lastAt: Instant
        /// Who brought it last.
        public let lastCaller: String

        public init(reason: String, count: Int64, firstAt: Instant, lastAt: Instant, lastCaller: String) {
            self.reason = reason
            self.count = count
            self.firstAt = firstAt
            self.lastAt = lastAt
            self.lastCaller = lastCaller
        }
    }

    public let transactionId: String
    public let originalTransactionId: String
    public let productId: String
    public let quantity: Int
    public let environment: String
    public let price: Money?
    public let purchasedAt: Instant
    public let receivedAt: Instant
    /// Why nobody could be named the owner: a stable code.
    public let reason: String
    public let evidence: [Evidence]
    /// How often it was brought, for each reason.
    public let reasons: [Reason]

    public init(
        ids: (transaction: TransactionID, original: TransactionID), productID: ProductID, quantity: Int,
        environment: Environment, price: Money?, times: (purchased: Instant, received: Instant), reason: String,
        evidence: [Evidence], reasons: [Reason]
    ) {
        transactionId = ids.transaction.text
        originalTransactionId = ids.original.text
        productId = productID.text
        self.quantity = quantity
        self.environment = environment.rawValue
        self.price = price
        purchasedAt = times.purchased
        receivedAt = times.received
        self.reason = reason
        self.evidence = evidence
        self.reasons = reasons
    }
}
