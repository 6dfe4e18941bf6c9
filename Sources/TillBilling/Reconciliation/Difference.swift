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

extension Difference.Kind {
    /// The finding and its consequence, for a person.
    public var sentence: LocalizedText {
        switch self {
        case .purchaseMissed, .purchaseUnattributed, .revokedPurchaseMissed, .notificationMissed: missedSentence
        case .quarantineResolved, .refundMissed, .refundDiffers, .refundReversalMissed, .termsDiffer, .renewalDiffers,
            .unknownToApple:
            changedSentence
        case .orderClosed, .orderNotCompleted, .customerUnavailable, .responseRefused, .responseUnreadable,
            .notProcessed:
            noteSentence
        }
    }

    private var missedSentence: LocalizedText {
        switch self {
        case .purchaseMissed:
            LocalizedText(
                en: "Apple has a paid purchase that neither the app nor a notification delivered. It is granted.",
                zh: "Apple 有一笔已付款的购买，App 和通知都没有送达。现已发放。")
        case .purchaseUnattributed:
            LocalizedText(
                en: "Apple has a paid purchase that the ledger lacks, without an owner. It is kept in quarantine.",
                zh: "Apple 有一笔账本中没有的已付款购买，且无法确认归属。已存入待认领。")
        case .revokedPurchaseMissed:
            LocalizedText(
                en:
                    "Apple has a refunded purchase that the ledger lacks. Nothing is granted for it.",
                zh: "Apple 有一笔账本中没有的购买，且已退款。不会为它发放任何内容。")
        default:
            LocalizedText(
                en: "A notification from Apple had not arrived. It is stored and processed.",
                zh: "Apple 发送过的一条通知没有送达。已保存并处理。")
        }
    }

    private var changedSentence: LocalizedText {
        switch self {
        case .quarantineResolved:
            LocalizedText(
                en: "A purchase in quarantine now has an owner. It is granted.",
                zh: "待认领中的一笔购买已确认归属。现已发放。")
        case .refundMissed:
            LocalizedText(
                en: "Apple has refunded or revoked a purchase without a notification. The grant is taken back.",
                zh: "Apple 已退款或撤销一笔购买，但通知未送达。已收回所发放的内容。")
        case .refundDiffers:
            LocalizedText(
                en: "The refunded share of a purchase at Apple differs from the ledger. The ledger is corrected.",
                zh: "Apple 退款的份额与账本不同。账本已按 Apple 的记录更正。")
        case .refundReversalMissed:
            LocalizedText(
                en: "Apple has reversed a refund without a notification. The purchase is granted again.",
                zh: "Apple 撤销了一次退款，但通知未送达。已重新发放。")
        case .termsDiffer:
            LocalizedText(
                en: "The end or the state of a subscription's period differs at Apple. The ledger is corrected.",
                zh: "某个订阅周期的结束时间或状态与 Apple 的记录不同。账本已按 Apple 的记录更正。")
        case .renewalDiffers:
            LocalizedText(
                en: "Apple has newer renewal information for a subscription. It is stored.",
                zh: "Apple 有某个订阅更新的续订信息。已保存。")
        default:
            LocalizedText(
                en: "The ledger has a purchase that Apple lacks. Nothing is changed; check its proof.",
                zh: "账本中有一笔 Apple 没有记录的购买。未作任何更改，请查看其凭证。")
        }
    }

    private var noteSentence: LocalizedText {
        switch self {
        case .orderClosed:
            LocalizedText(
                en: "An order has waited long, and Apple has no payment for it. It is closed; if it turns out "
                    + "to be paid, it is granted all the same.",
                zh: "一个订单长期等待付款，而 Apple 没有它的付款记录。订单已关闭；如果后来发现已付款，仍会发放。")
        case .orderNotCompleted:
            LocalizedText(
                en: "An order says that it is being paid, and Apple has no payment for it. Ask the buyer for the "
                    + "receipt.",
                zh: "一个订单显示正在付款，而 Apple 没有它的付款记录。请向买家索要收据。")
        case .customerUnavailable:
            LocalizedText(
                en: "Apple provides no records of this customer. The other customers are compared.",
                zh: "Apple 不提供这位客户的记录。其他客户照常核对。")
        case .responseRefused:
            LocalizedText(
                en: "A response was not signed by Apple or not for this app. It is ignored; the proof is on the "
                    + "list of refused proofs.",
                zh: "有一项应答不是 Apple 签发的，或不属于本 App。未作任何处理，凭证已列入拒绝列表。")
        case .responseUnreadable:
            LocalizedText(
                en: "A response could not be read after several requests. It is skipped.",
                zh: "有一项应答多次请求仍无法读取，已跳过。")
        default:
            LocalizedText(
                en: "The ledger could not record one of Apple's responses. The others are recorded; report this.",
                zh: "账本拒绝记录 Apple 的一项应答。其余已记录；请报告此问题。")
        }
    }
}
