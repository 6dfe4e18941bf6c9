/// One thing in which Apple's books and ours were not the same, or that kept them from being compared (U3).
public struct Difference: Hashable, Sendable {
    /// The raw value is what programs decide by; the sentence for people is in `DifferenceText.swift`.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        // Apple has it, and we had not.
        case purchaseMissed = "purchase_missed"
        case purchaseUnattributed = "purchase_unattributed"
        case revokedPurchaseMissed = "revoked_purchase_missed"
        case notificationMissed = "notification_missed"

        // We had it, and Apple says something else of it.
        case quarantineResolved = "quarantine_resolved"
        case refundMissed = "refund_missed"
        case refundDiffers = "refund_differs"
        case refundReversalMissed = "refund_reversal_missed"
        case termsDiffer = "terms_differ"
        case renewalDiffers = "renewal_differs"
        case unknownToApple = "unknown_to_apple"

        // Orders.
        case orderClosed = "order_closed"
        case orderUnsettled = "order_unsettled"

        // What could not be compared.
        case customerUntold = "customer_untold"
        case answerRefused = "answer_refused"
        case answerUnreadable = "answer_unreadable"
        case notSettled = "not_settled"

        /// Whether the books differed. The others say what was passed over, or what became of an order that nobody
        /// paid.
        public var isDrift: Bool {
            switch self {
            case .purchaseMissed, .purchaseUnattributed, .revokedPurchaseMissed, .notificationMissed,
                .quarantineResolved, .refundMissed, .refundDiffers, .refundReversalMissed, .termsDiffer,
                .renewalDiffers, .unknownToApple, .notSettled:
                true
            case .orderClosed, .orderUnsettled, .customerUntold, .answerRefused, .answerUnreadable: false
            }
        }
    }

    public let kind: Kind
    public let environment: Environment
    /// The transaction it is about; of a customer who is not told of, the one that was asked about.
    public var transactionID: TransactionID?
    public var orderID: OrderID?
    /// Apple's `notificationUUID`.
    public var notificationID: String?
    /// How the ledger had it: a stable word, with a detail behind a colon.
    public var was: String
    /// How it is, or in a comparison that changes nothing: how it would be.
    public var now: String
    /// When its purchase was paid, if it is about one.
    public var purchasedAt: Instant?

    public init(
        _ kind: Kind, in environment: Environment, transaction: TransactionID? = nil, order: OrderID? = nil,
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

/// How the ledger has one transaction, as far as it may differ from Apple's books.
public struct LedgerStanding: Hashable, Sendable {
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

    /// As `Difference.was` and `now` say it.
    public var words: String {
        switch state {
        case .granted: terms.expiresAt.map { "granted: until \($0.rfc3339)" } ?? "granted"
        case .quarantined: "quarantined: \(quarantine?.rawValue ?? "")"
        case .revoked: revokedAt.map { "revoked: \($0.rfc3339)" } ?? "revoked"
        }
    }
}

extension Difference {
    /// What the settlement of Apple's copy of a transaction has changed; nil if nothing.
    ///
    /// - Parameter before: nil if the ledger did not know it.
    public init?(
        of transaction: TransactionID, in environment: Environment, from before: LedgerStanding?,
        to after: LedgerStanding
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
            // A receipt tells of a refund in whole seconds (facts/pkcs7-receipt).
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
            kind, in: environment, transaction: transaction, order: after.orderID, was: before?.words ?? "unknown",
            now: after.words)
    }
}

extension TransactionTerms {
    /// Whether both give the same service. What else Apple may add to a copy changes nobody's rights.
    fileprivate func isServed(as other: TransactionTerms) -> Bool {
        expiresAt == other.expiresAt && isUpgraded == other.isUpgraded && isFamilyShared == other.isFamilyShared
    }
}
