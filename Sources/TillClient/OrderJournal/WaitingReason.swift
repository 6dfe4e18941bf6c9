import TillAPI
import TillBilling

// Why the server keeps a paid purchase back (a 202): its reasons are codes, and these are their sentences.

extension Trouble {
    /// The server has the proof and has not granted it.
    init(waitingFor outcome: SubmitProofReply.Outcome, reason: String?) {
        let general = outcome == .quarantined ? Trouble.quarantined : Trouble.accepted
        self.init(code: general.code, isFinal: false, reason: reason)
    }

    /// What the buyer is told; nil for a reason of a later server, whose order has the general sentence then.
    static func sentence(ofWaiting reason: String) -> Text? { waiting[reason] }

    private static let waiting: [String: Text] = {
        var sentences = [
            "granted_soon": Text(
                en: "The payment is saved, and what you bought arrives in a moment.", zh: "付款已登记，购买的内容即将到账。"),
            "waiting_for_apple": Text(
                en: "The payment is being checked with Apple. It arrives by itself.", zh: "正在向 Apple 核对付款，稍后会自动到账。"),
            "held": Text(
                en:
                    "It is in your account. You can spend it as soon as Apple has confirmed the payment, usually "
                    + "within a day.",
                zh: "已计入您的账户。待 Apple 确认付款后即可使用，通常不超过一天。"),
            "contested": Text(
                en: "The payment arrived, but another account of this app shows the same one. Tell support the order "
                    + "number.",
                zh: "付款已收到，但此 App 的另一个账户也出示了同一笔付款。请将订单号告知客服。"),
            "unknown_ownership": Text(
                en: "The App Store says that somebody else paid for this. Tell support the order number.",
                zh: "App Store 显示此项购买由他人付款。请将订单号告知客服。"),
            QuarantineReason.unknownProduct.rawValue: Text(
                en: "The payment arrived, but the shop doesn't know this product yet. It arrives when the shop does.",
                zh: "付款已收到，但商店尚未登记此商品，登记后会自动到账。"),
            QuarantineReason.unusableQuantity.rawValue: Text(
                en: "The payment arrived, but for a number of items that support must confirm. Tell support the order "
                    + "number.",
                zh: "付款已收到，但购买数量需客服确认。请将订单号告知客服。"),
        ]
        let nameless = Text(
            en:
                "The payment arrived, but the receipt alone doesn't say who bought it. Open the app again later; if "
                + "it still waits after a day, tell support the order number.",
            zh: "付款已收到，但仅凭收据无法确认购买者。请稍后重新打开 App；如一天后仍未到账，请将订单号告知客服。")
        for reason in [QuarantineReason.receiptNeedsOrder.rawValue, "receipt_needs_signed_copy"] {
            sentences[reason] = nameless
        }
        let differs = Text(
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
