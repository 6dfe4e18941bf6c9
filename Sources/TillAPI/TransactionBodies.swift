import TillBilling

/// `POST /v1/transactions`: a signed transaction, or a receipt with the transaction and product it is about (O3).
public struct SubmitProofBody: Codable, Sendable {
    public var signedTransaction: String?
    /// Base64; ASCII white space inside is ignored.
    public var receipt: String?
    public var transactionId: String?
    public var productId: String?
    public var orderId: UniqueID?
    /// Proves that the order id inside what Apple signed is a commitment to the caller: an order that the server does
    /// not know is opened on the spot.
    public var idNonce: OrderIDNonce?
    /// The user that the order id commits to, where that is a guest who has become part of the caller's account since.
    public var idUserId: String?
    /// Believed from a backend only.
    public var userId: String?
    /// The device that brings it, as orders name it: looked at where Apple signed no order id (U1).
    public var deviceId: String?

    public init(
        signedTransaction: String? = nil, receipt: String? = nil, transactionId: String? = nil,
        productId: String? = nil, orderId: UniqueID? = nil, userId: String? = nil, deviceId: String? = nil,
        idNonce: OrderIDNonce? = nil, idUserId: String? = nil
    ) {
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

/// What became of a proof.
public struct SubmitProofReply: Codable, Sendable, Hashable {
    public enum Outcome: String, Codable, Sendable, Hashable, CaseIterable {
        case granted
        case alreadyGranted
        /// The proof is kept, and what is missing is being asked for.
        case accepted
        /// The proof is kept, and nobody owns it yet.
        case quarantined
        /// Apple took the money back.
        case revoked
    }

    public let outcome: Outcome
    public let transactionId: String
    /// Whether the device may now finish the transaction. Clients obey only this.
    public let finish: Bool
    // The rest is for the owner and for backends only (P8).
    public let orderId: UniqueID?
    public let userId: String?
    public let grant: GrantReply?
    /// True for what was paid in the sandbox, where nobody pays: give no real goods. Absent otherwise.
    public let sandbox: Bool?
    /// Why a proof is quarantined, or accepted only: a stable code.
    public let reason: String?

    public init(
        outcome: Outcome, transactionId: String, finish: Bool, orderId: UniqueID? = nil, userId: String? = nil,
        grant: GrantReply? = nil, sandbox: Bool? = nil, reason: String? = nil
    ) {
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

extension Environment {
    /// What answers say beside a status: `true` in the sandbox, where nobody paid anything, and nothing elsewhere. So
    /// that no backend gives real goods by a status alone.
    public var sandboxMark: Bool? { self == .sandbox ? true : nil }
}
