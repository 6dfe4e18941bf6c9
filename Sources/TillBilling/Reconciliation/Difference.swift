/// A difference between Apple's records and the ledger, or a reason why they could not be compared.
public struct Difference: Hashable, Sendable {
    /// The raw value is for programs; the sentence for people is in `DifferenceText.swift`.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        // Apple has it, and the ledger did not.
        case purchaseMissed = "purchase_missed"
        case purchaseUnattributed = "purchase_unattributed"
        case revokedPurchaseMissed = "revoked_purchase_missed"
        case notificationMissed = "notification_missed"

        // The ledger had it, and Apple's record differs.
        case quarantineResolved = "quarantine_resolved"
        case refundMissed = "refund_missed"
        case refundDiffers = "refund_differs"
        case refundReversalMissed = "refund_reversal_missed"
        case termsDiffer = "terms_differ"
        case renewalDiffers = "renewal_differs"
        case unknownToApple = "unknown_to_apple"

        // Orders.
        case orderClosed = "order_closed"
        case orderNotCompleted = "order_not_completed"

        // Comparisons that could not be made.
        case customerUnavailable = "customer_unavailable"
        case responseRefused = "response_refused"
        case responseUnreadable = "response_unreadable"
        case notProcessed = "not_processed"

        /// Whether the records differed. The other kinds report what was skipped, or the end of an unpaid order.
        public var isDrift: Bool {
            switch self {
            case .purchaseMissed, .purchaseUnattributed, .revokedPurchaseMissed, .notificationMissed,
                .quarantineResolved, .refundMissed, .refundDiffers, .refundReversalMissed, .termsDiffer,
                .renewalDiffers, .unknownToApple, .notProcessed:
                true
            case .orderClosed, .orderNotCompleted, .customerUnavailable, .responseRefused, .responseUnreadable: false
            }
        }
    }

    public let kind: Kind
    public let environment: StoreEnvironment
    /// The transaction concerned; for a customer whose records Apple does not return, the transaction of the request.
    public var transactionID: TransactionID?
    public var orderID: OrderID?
    /// Apple's `notificationUUID`.
    public var notificationID: String?
    /// The previous state in the ledger: a stable code, with a detail after a colon.
    public var was: String
    /// The new state; in a comparison without changes, the state that it would have.
    public var now: String
    /// When its purchase was paid, if it concerns one.
    public var purchasedAt: Instant?

    public init(
        _ kind: Kind, in environment: StoreEnvironment, transaction: TransactionID? = nil, order: OrderID? = nil,
        was: String = "", now: String = ""
    ) {
        self.kind = kind
        self.environment = environment
        transactionID = transaction
        orderID = order
        self.was = was
        self.now = now
    }
}

/// The ledger's record of one transaction, as far as Apple's record may differ.
public struct TransactionSnapshot: Hashable, Sendable {
    public let state: RecordedTransaction.State
    public let quarantine: QuarantineReason?
    public let revokedAt: Instant?
    public let terms: TransactionTerms
    public let orderID: OrderID?

    public init(
        state: RecordedTransaction.State, quarantine: QuarantineReason?, revokedAt: Instant?, terms: TransactionTerms,
        orderID: OrderID?
    ) {
        self.state = state
        self.quarantine = quarantine
        self.revokedAt = revokedAt
        self.terms = terms
        self.orderID = orderID
    }

    /// The text for `Difference.was` and `now`.
    public var summary: String {
        switch state {
        case .granted: terms.expiresAt.map { "granted: until \($0.rfc3339)" } ?? "granted"
        case .quarantined: "quarantined: \(quarantine?.rawValue ?? "")"
        case .revoked: revokedAt.map { "revoked: \($0.rfc3339)" } ?? "revoked"
        }
    }
}

extension Difference {
    /// The change that processing Apple's copy of a transaction made; nil if there was none.
    ///
    /// - Parameter before: nil if the ledger did not know the transaction.
    public init?(
        of transaction: TransactionID, in environment: StoreEnvironment, from before: TransactionSnapshot?,
        to after: TransactionSnapshot
    ) {
        let kind: Kind
        switch (before?.state, after.state) {
        case (nil, .granted): kind = .purchaseMissed
        case (nil, .quarantined): kind = .purchaseUnattributed
        case (nil, .revoked): kind = .revokedPurchaseMissed
        case (.quarantined, .granted): kind = .quarantineResolved
        case (.granted, .revoked), (.quarantined, .revoked): kind = .refundMissed
        case (.revoked, .granted): kind = .refundReversalMissed
        default:
            guard let before else { return nil }
            // A receipt states a refund in whole seconds (facts/pkcs7-receipt).
            if before.revokedAt?.seconds != after.revokedAt?.seconds
                || before.terms.revocationPercentage != after.terms.revocationPercentage
            {
                kind = .refundDiffers
            } else if !before.terms.isServed(as: after.terms) {
                kind = .termsDiffer
            } else {
                return nil
            }
        }
        self.init(
            kind, in: environment, transaction: transaction, order: after.orderID, was: before?.summary ?? "unknown",
            now: after.summary)
    }
}

extension TransactionTerms {
    /// Whether both give the same service. Other values that Apple adds to a copy do not change rights.
    fileprivate func isServed(as other: TransactionTerms) -> Bool {
        expiresAt == other.expiresAt && isUpgraded == other.isUpgraded && isFamilyShared == other.isFamilyShared
    }
}
