import TillBilling

/// `POST /v1/restores`: the proofs that a device presents as its customer's purchases.
public struct RestoreBody: Codable, Sendable {
    /// The maximum of proofs in one request.
    public static let maximumCount = 100

    /// The customer, which a backend must state. For an app, its user token determines the customer.
    public var userId: String?
    /// Signed transactions from StoreKit, at most 100.
    public var signedTransactions: [String]?
    /// An app receipt in base64, instead of them.
    public var receipt: String?

    public init(userId: String? = nil, signedTransactions: [String]? = nil, receipt: String? = nil) {
        self.userId = userId
        self.signedTransactions = signedTransactions
        self.receipt = receipt
    }
}

/// The result for each transaction: signed transactions in the order of the request; for a receipt, the newest one of
/// each chain.
public struct RestoreReply: Codable, Sendable, Hashable {
    public let data: [RestoredTransaction]

    public init(data: [RestoredTransaction]) { self.data = data }
}

/// The result for one transaction.
public struct RestoredTransaction: Codable, Sendable, Hashable {
    public enum Outcome: String, Codable, Sendable, Hashable, CaseIterable {
        /// It already belongs to the restoring customer.
        case owned
        /// It belonged to another customer, and now belongs to the restoring one.
        case moved
        /// It belongs to another customer, and stays there.
        case kept
        /// It had no owner, and now belongs to the restoring customer.
        case claimed
        /// Consumables cannot be restored. The server keeps service that was bought for a time, for its owner only.
        case notRestorable = "not_restorable"
        /// Apple refunded or revoked it.
        case revoked
        /// Paid, without an owner yet.
        case quarantined
        /// Stored; the server is asking Apple about it.
        case accepted
        /// The proof is invalid, or cannot be verified now; `reason` says which.
        case refused
    }

    /// Absent if the proof is invalid.
    public let transactionId: String?
    public let originalTransactionId: String?
    public let productId: String?
    public let outcome: Outcome
    /// Why it is kept, quarantined, only accepted or refused: a stable code.
    public let reason: String?
    /// Whether the app's backend may move it (`POST /v1/transfers`).
    public let askBackend: Bool?
    /// Whether the device may now finish the transaction. Clients follow this member only.
    public let finish: Bool

    public init(
        transaction: (id: TransactionID, originalID: TransactionID, product: ProductID)?, outcome: Outcome,
        reason: String? = nil, askBackend: Bool? = nil, finish: Bool
    ) {
        transactionId = transaction?.id.text
        originalTransactionId = transaction?.originalID.text
        productId = transaction?.product.text
        self.outcome = outcome
        self.reason = reason
        self.askBackend = askBackend
        self.finish = finish
    }
}
