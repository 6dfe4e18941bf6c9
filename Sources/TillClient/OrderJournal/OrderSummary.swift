import TillAPI
import TillBilling

/// An order in the buyer's list of purchases.
public struct OrderSummary: Hashable, Sendable, Identifiable {
    public let id: OrderID
    /// The product.
    public let productID: ProductID
    /// The quantity, 1 to 10.
    public let quantity: Int
    /// The product's name, in the language of the shop page when the purchase began; the product id if it is unknown.
    public let productName: String
    private let kind: PurchaseKind?
    /// The total price that the buyer was shown; nil for a purchase that this device did not begin.
    public let price: Money?
    /// The status of the order.
    public private(set) var status: OrderStatus
    /// Why the order isn't completed, and what to do; nil if there is nothing to say.
    public private(set) var note: LocalizedText?
    /// Apple's transaction id, once the order is paid.
    public let transactionID: TransactionID?
    /// The time of the next automatic submission.
    public let retryAt: Instant?
    /// When the purchase began, by this device's clock.
    public let createdAt: Instant
    /// When the order last changed, by this device's clock.
    public let updatedAt: Instant

    init(_ entry: JournalEntry) {
        id = entry.id
        productID = entry.productID
        quantity = entry.quantity
        productName = entry.label?.name ?? entry.productID.text
        kind = entry.label?.kind
        price = entry.price
        status = entry.status
        note =
            switch entry.status {
            case .ongoing: entry.pendingReason?.sentence
            // The reason is a code of the kit; an unknown code of an older version shows no note.
            case .cancelled, .failed: entry.history.last.flatMap { PendingReason.sentence(ofReason: $0.reason) }
            case .prepared, .completed, .deferred, .refunded: nil
            }
        transactionID = entry.transactionID
        retryAt = entry.retryAt
        createdAt = entry.createdAt
        updatedAt = entry.updatedAt
    }

    /// The number to give to support: the order's UUID.
    public var orderNumber: String { id.description }
    /// The status in words: Completed / 充值完成 for points, 已开通 for a subscription.
    public var title: LocalizedText { status.title(of: kind) }
    /// A Boolean value that indicates whether the buyer may send the proof again.
    public var mayResubmit: Bool { status == .ongoing }

    /// The order with the server's status, if the device could not record it.
    func showing(_ status: OrderStatus, note: LocalizedText? = nil) -> OrderSummary {
        guard self.status != status else { return self }
        var changed = self
        changed.status = status
        changed.note = note
        return changed
    }
}

extension OrderJournal {
    /// The list of orders, newest first, or those of one buyer.
    package func summaries(of user: UserID? = nil) -> [OrderSummary] { entries(of: user).map(OrderSummary.init) }

    func summary(of id: OrderID) -> OrderSummary? { self[id].map(OrderSummary.init) }
}

// Sentences for the server's reasons to keep a paid purchase waiting (a 202).

extension PendingReason {
    /// The server has stored the proof and has not granted the purchase.
    init(waitingFor outcome: SubmitProofReply.Outcome, reason: String?) {
        let general = outcome == .quarantined ? PendingReason.quarantined : PendingReason.accepted
        self.init(code: general.code, isFinal: false, reason: reason)
    }

    /// A message for the buyer; nil for a reason of a later server, whose order shows the general sentence.
    static func sentence(ofWaiting reason: String) -> LocalizedText? { waiting[reason] }

    private static let waiting: [String: LocalizedText] = {
        var sentences = [
            "granted_soon": LocalizedText(
                en: "The payment is saved, and what you bought arrives in a moment.", zh: "付款已登记，购买的内容即将到账。"),
            "waiting_for_apple": LocalizedText(
                en: "The payment is being checked with Apple. The purchase arrives automatically.",
                zh: "正在向 Apple 核对付款，稍后会自动到账。"),
            "held": LocalizedText(
                en:
                    "It is in your account. You can spend it as soon as Apple has confirmed the payment, usually "
                    + "within a day.",
                zh: "已计入您的账户。待 Apple 确认付款后即可使用，通常不超过一天。"),
            "contested": LocalizedText(
                en: "The payment arrived, but another account of this app shows the same one. Tell support the order "
                    + "number.",
                zh: "付款已收到，但此 App 的另一个账户也出示了同一笔付款。请将订单号告知客服。"),
            "unknown_ownership": LocalizedText(
                en: "According to the App Store, another person paid for this. Tell support the order number.",
                zh: "App Store 显示此项购买由他人付款。请将订单号告知客服。"),
            QuarantineReason.unknownProduct.rawValue: LocalizedText(
                en: "The payment arrived, but the shop doesn't know this product yet. It arrives when the shop does.",
                zh: "付款已收到，但商店尚未登记此商品，登记后会自动到账。"),
            QuarantineReason.unusableQuantity.rawValue: LocalizedText(
                en: "The payment arrived, but for a number of items that support must confirm. Tell support the order "
                    + "number.",
                zh: "付款已收到，但购买数量需客服确认。请将订单号告知客服。"),
        ]
        let nameless = LocalizedText(
            en:
                "The payment arrived, but the receipt alone doesn't say who bought it. Open the app again later; if "
                + "it still waits after a day, tell support the order number.",
            zh: "付款已收到，但仅凭收据无法确认购买者。请稍后重新打开 App；如一天后仍未到账，请将订单号告知客服。")
        for reason in [QuarantineReason.receiptNeedsOrder.rawValue, "receipt_needs_signed_copy"] {
            sentences[reason] = nameless
        }
        let differs = LocalizedText(
            en: "The payment arrived, but it doesn't fit this order. Tell support the order number.",
            zh: "付款已收到，但与此订单不符。请将订单号告知客服。")
        let reasons: [QuarantineReason] = [
            .claimedOrderOfAnother, .claimedOrderDiffers, .claimedOrderOpenedLater, .claimedOrderTaken,
            .contradictsOrder,
        ]
        for reason in reasons { sentences[reason.rawValue] = differs }
        return sentences
    }()
}
