import TillAPI
import TillBilling

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
