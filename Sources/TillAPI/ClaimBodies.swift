import TillBilling

/// `POST /v1/users/{userId}/claims`: claims a paid purchase that was not granted yet. Contains either `orderNumber` or
/// `transactionId`.
public struct ClaimOrderBody: Codable, Sendable {
    /// Apple's order number, from the mail to the paying customer: `MVXK0ABC12`.
    public let orderNumber: String?
    /// A purchase that waits for the user's acceptance, from `GET /v1/users/{userId}/claimable`.
    public let transactionId: String?
    /// The environment of the transaction: `production` or `sandbox`.
    public let environment: String?

    public init(orderNumber: String? = nil, transactionId: String? = nil, environment: String? = nil) {
        self.orderNumber = orderNumber
        self.transactionId = transactionId
        self.environment = environment
    }
}

/// A purchase that Apple signed for an order of the user, for another product or quantity than ordered. It is granted
/// when the user accepts it.
public struct ClaimableReply: Codable, Sendable, Hashable {
    public let transactionId: String
    public let productId: String
    public let quantity: Int
    public let purchasedAt: Instant
    /// The order whose id the purchase carries.
    public let orderId: UniqueID
    public let orderedProductId: String
    public let orderedQuantity: Int
    /// Why the purchase waits: a stable code.
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

/// The state and result of a claim.
public struct ClaimReply: Codable, Sendable, Hashable {
    public enum State: String, Codable, Sendable, Hashable, CaseIterable {
        /// Apple could not be asked; the server retries by itself.
        case waiting
        case answered
        /// Apple knows no order with this number for this app, or all of its purchases belong to another customer.
        case unknown
    }

    public let id: UniqueID
    /// Absent from a claim by transaction.
    public let orderNumber: String?
    public let state: State
    public let at: Instant
    public let endedAt: Instant?
    /// The result for each transaction of the order; empty while the claim waits.
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

/// The result for one claimed transaction.
public struct ClaimedTransaction: Codable, Sendable, Hashable {
    public enum Outcome: String, Codable, Sendable, Hashable, CaseIterable {
        /// It had no owner, and now belongs to this user.
        case granted
        /// It already belonged to this user.
        case owned
        /// Apple refunded or revoked it.
        case revoked
        /// It cannot be granted; `reason` states why.
        case quarantined
        /// Apple's response cannot be verified; `reason` states why.
        case refused
    }

    public let outcome: Outcome
    public let transactionId: String?
    public let productId: String?
    /// Set if the transaction belongs to this user.
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

/// `POST /v1/quarantine/{transactionId}/claims`: an operator assigns an unclaimed purchase to a user.
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

/// A paid and genuine purchase without an owner.
public struct QuarantinedTransaction: Codable, Sendable, Hashable {
    /// A decision, with its grounds.
    public struct Evidence: Codable, Sendable, Hashable {
        public let at: Instant
        public let decision: String
        public let ground: String
        /// The finding of each step of owner matching.
        public let detail: String?
        public let source: String
        public let caller: String

        public init(at: Instant, decision: String, ground: String, detail: String?, source: String, caller: String) {
            self.at = at
            self.decision = decision
            self.ground = ground
            self.detail = detail
            self.source = source
            self.caller = caller
        }
    }

    /// How often the purchase ended in quarantine for one reason.
    public struct Reason: Codable, Sendable, Hashable {
        /// A stable code.
        public let reason: String
        public let count: Int64
        public let firstAt: Instant
        public let lastAt: Instant
        /// The caller who submitted it last.
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
    /// Why no owner was found: a stable code.
    public let reason: String
    /// The `appAccountToken` that Apple signed; absent if there is none.
    public let appAccountToken: UniqueID?
    public let evidence: [Evidence]
    /// How often the purchase was submitted, for each reason.
    public let reasons: [Reason]

    public init(
        ids: (transaction: TransactionID, original: TransactionID), productID: ProductID, quantity: Int,
        environment: StoreEnvironment, price: Money?, times: (purchased: Instant, received: Instant), reason: String,
        token: UniqueID?, evidence: [Evidence], reasons: [Reason]
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
        appAccountToken = token
        self.evidence = evidence
        self.reasons = reasons
    }
}
