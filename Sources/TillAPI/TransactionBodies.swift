import TillBilling

/// `POST /v1/transactions`: a signed transaction, or a receipt with the transaction and product in question.
public struct SubmitProofBody: Codable, Sendable {
    public var signedTransaction: String?
    /// Base64; ASCII white space inside is ignored.
    public var receipt: String?
    public var transactionId: String?
    public var productId: String?
    public var orderId: UniqueID?
    /// Proves that the order id in the signed transaction is a commitment to the caller. The server then opens an order
    /// that it does not know yet.
    public var idNonce: OrderIDNonce?
    /// The user that the order id commits to, if that is a guest who has since been merged into the caller's account.
    public var idUserId: String?
    /// Accepted from a backend only.
    public var userId: String?
    /// The submitting device, as named in orders. Used if Apple signed no order id.
    public var deviceId: String?
    /// The submitting phone, as named in orders, if that is another device than the one that a plan is for.
    public var phoneId: String?

    public init(
        signedTransaction: String? = nil, receipt: String? = nil, transactionId: String? = nil,
        productId: String? = nil, orderId: UniqueID? = nil, userId: String? = nil, deviceId: String? = nil,
        idNonce: OrderIDNonce? = nil, idUserId: String? = nil, phoneId: String? = nil
    ) {
        self.phoneId = phoneId
        self.idNonce = idNonce
        self.idUserId = idUserId
        self.signedTransaction = signedTransaction
        self.receipt = receipt
        self.transactionId = transactionId
        self.productId = productId
        self.orderId = orderId
        self.userId = userId
        self.deviceId = deviceId
    }
}

/// The result of submitting a proof.
public struct SubmitProofReply: Codable, Sendable, Hashable {
    public enum Outcome: String, Codable, Sendable, Hashable, CaseIterable {
        case granted
        case alreadyGranted
        /// The proof is stored, and the server is requesting the missing information.
        case accepted
        /// The proof is stored, and the purchase has no owner yet.
        case quarantined
        /// Apple refunded or revoked the purchase.
        case revoked
    }

    public let outcome: Outcome
    public let transactionId: String
    /// Whether the device may now finish the transaction. Clients follow this member only.
    public let finish: Bool
    // The remaining members are for the owner and for backends only.
    public let orderId: UniqueID?
    public let userId: String?
    public let grant: GrantReply?
    /// What Apple charged, if the proof states it; a receipt does not.
    public let paid: Money?
    /// True for a purchase in the sandbox, where purchases are not paid: do not deliver real goods. Absent otherwise.
    public let sandbox: Bool?
    /// Why a proof is quarantined or only accepted: a stable code.
    public let reason: String?

    public init(
        outcome: Outcome, transactionId: String, finish: Bool, orderId: UniqueID? = nil, userId: String? = nil,
        grant: GrantReply? = nil, sandbox: Bool? = nil, reason: String? = nil, paid: Money? = nil
    ) {
        self.paid = paid
        self.outcome = outcome
        self.transactionId = transactionId
        self.finish = finish
        self.orderId = orderId
        self.userId = userId
        self.grant = grant
        self.sandbox = sandbox
        self.reason = reason
    }
}

public struct GrantReply: Codable, Sendable, Hashable {
    public struct PostingReply: Codable, Sendable, Hashable {
        public let account: String
        public let currency: String
        public let amount: Int64

        public init(account: String, currency: String, amount: Int64) {
            self.account = account
            self.currency = currency
            self.amount = amount
        }
    }

    public let id: UniqueID
    public let productId: String
    public let quantity: Int
    public let postings: [PostingReply]
    public let entitlement: String?

    public init(_ grant: Grant) {
        id = grant.id
        productId = grant.productID.text
        quantity = grant.quantity
        postings = grant.points.map { points in
            PostingReply(account: "user:\(grant.userID)", currency: points.currency, amount: points.amount)
        }
        entitlement = grant.entitlement
    }
}

/// `POST /v1/notifications/apple`, as Apple sends it.
public struct AppleNotificationBody: Codable, Sendable {
    public let signedPayload: String

    public init(signedPayload: String) { self.signedPayload = signedPayload }
}

extension StoreEnvironment {
    /// The `sandbox` member of responses: `true` in the sandbox and in Xcode, where purchases are not paid, and absent
    /// otherwise. It keeps backends from delivering real goods on a status alone.
    public var sandboxMark: Bool? { self == .production ? nil : true }
}
