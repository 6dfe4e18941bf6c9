import TillBilling

/// `POST /v1/restores`: what a device shows as its customer's own (P10).
public struct RestoreBody: Codable, Sendable {
    /// Proofs in one request.
    public static let maximumCount = 100

    /// Whom it is restored for. A backend must say; an app's own token decides otherwise.
    public var userId: String?
    /// Each as StoreKit gave it, at most 100.
    public var signedTransactions: [String]?
    /// An app receipt in base64, in place of them.
    public var receipt: String?

    public init(userId: String? = nil, signedTransactions: [String]? = nil, receipt: String? = nil) {
        self.userId = userId
        self.signedTransactions = signedTransactions
        self.receipt = receipt
    }
}

/// What became of each transaction: of signed ones in their order; of a receipt's, the newest of each chain.
public struct RestoreReply: Codable, Sendable, Hashable {
    public let data: [RestoredTransaction]

    public init(data: [RestoredTransaction]) { self.data = data }
}

/// What became of one transaction.
public struct RestoredTransaction: Codable, Sendable, Hashable {
    public enum Outcome: String, Codable, Sendable, Hashable, CaseIterable {
        /// The restorer's, now and before.
        case owned
        /// Another customer's, and the restorer's from now on.
        case moved
        /// Another customer's, and it stays theirs.
        case kept
        /// It was nobody's, and is the restorer's from now on.
        case claimed
        /// Consumables never come back; service that the server keeps, to its owner only.
        case notRestorable = "not_restorable"
        /// Apple took the money back.
        case revoked
        /// Paid, and nobody's yet.
        case quarantined
        /// Kept, and Apple is asked about it.
        case accepted
        /// The proof is none, or can't be judged now; the reason says which.
        case refused
    }

    /// Absent where the proof is none.
    public let transactionId: String?
    public let originalTransactionId: String?
    public let productId: String?
    public let outcome: Outcome
    /// Why it is kept, quarantined, accepted only or refused: a stable code.
    public let reason: String?
    /// The app's backend may move it (`POST /v1/transfers`).
    public let askBackend: Bool?
    /// Whether the device may now finish the transaction. Clients obey only this.
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
