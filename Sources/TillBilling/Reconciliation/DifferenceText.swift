/// What a difference means, and what follows from it.
private struct Explanation {
    let finding: LocalizedText
    /// The consequence, where records are changed.
    let done: LocalizedText
    /// The consequence that a comparison without changes foresees.
    let planned: LocalizedText

    init(_ finding: LocalizedText, done: LocalizedText, planned: LocalizedText? = nil) {
        self.finding = finding
        self.done = done
        self.planned = planned ?? done
    }
}

extension Difference.Kind {
    /// The finding and its consequence, for a person.
    ///
    /// - Parameter isDryRun: whether nothing is changed, so that the consequence is the one that a reconciliation would
    ///   have.
    public func sentence(isDryRun: Bool) -> LocalizedText {
        let explanation = self.explanation
        let consequence = isDryRun ? explanation.planned : explanation.done
        return LocalizedText(
            en: "\(explanation.finding.en) \(consequence.en)", zh: explanation.finding.zh + consequence.zh)
    }

    private var explanation: Explanation {
        switch self {
        case .purchaseMissed, .purchaseUnattributed, .revokedPurchaseMissed, .notificationMissed: missed
        case .quarantineResolved, .refundMissed, .refundDiffers, .refundReversalMissed, .termsDiffer, .renewalDiffers,
            .unknownToApple:
            changed
        case .orderClosed, .orderNotCompleted, .customerUnavailable, .responseRefused, .responseUnreadable,
            .notProcessed:
            note
        }
    }

    private var missed: Explanation {
        switch self {
        case .purchaseMissed:
            Explanation(
                LocalizedText(
                    en: "Apple has a paid purchase that neither the app nor a notification delivered.",
                    zh: "Apple 有一笔已付款的购买，App 和通知都没有送达。"),
                done: LocalizedText(en: "It is granted.", zh: "现已发放。"),
                planned: LocalizedText(en: "It would be granted.", zh: "对账会发放它。"))
        case .purchaseUnattributed:
            Explanation(
                LocalizedText(
                    en: "Apple has a paid purchase that the ledger lacks, without an owner.",
                    zh: "Apple 有一笔账本中没有的已付款购买，且无法确认归属。"),
                done: LocalizedText(en: "It is kept in quarantine.", zh: "已存入待认领。"),
                planned: LocalizedText(en: "It would be kept in quarantine.", zh: "对账会将其存入待认领。"))
        case .revokedPurchaseMissed:
            Explanation(
                LocalizedText(
                    en: "Apple has a refunded purchase that the ledger lacks.",
                    zh: "Apple 有一笔账本中没有的购买，且已退款。"),
                done: LocalizedText(en: "Nothing is granted for it.", zh: "不会为它发放任何内容。"),
                planned: LocalizedText(en: "Nothing would be granted for it.", zh: "对账不会为它发放任何内容。"))
        default:
            Explanation(
                LocalizedText(en: "A notification from Apple had not arrived.", zh: "Apple 发送过的一条通知没有送达。"),
                done: LocalizedText(en: "It is stored and processed.", zh: "已保存并处理。"),
                planned: LocalizedText(en: "It would be stored and processed.", zh: "对账会保存并处理它。"))
        }
    }

    private var changed: Explanation {
        switch self {
        case .quarantineResolved:
            Explanation(
                LocalizedText(en: "A purchase in quarantine now has an owner.", zh: "待认领中的一笔购买已确认归属。"),
                done: LocalizedText(en: "It is granted.", zh: "现已发放。"),
                planned: LocalizedText(en: "It would be granted.", zh: "对账会发放它。"))
        case .refundMissed:
            Explanation(
                LocalizedText(
                    en: "Apple has refunded or revoked a purchase without a notification.",
                    zh: "Apple 已退款或撤销一笔购买，但通知未送达。"),
                done: LocalizedText(en: "The grant is taken back.", zh: "已收回所发放的内容。"),
                planned: LocalizedText(en: "The grant would be taken back.", zh: "对账会收回所发放的内容。"))
        case .refundDiffers:
            Explanation(
                LocalizedText(
                    en: "The refunded share of a purchase at Apple differs from the ledger.",
                    zh: "Apple 退款的份额与账本不同。"),
                done: LocalizedText(en: "The ledger is corrected.", zh: "账本已按 Apple 的记录更正。"),
                planned: LocalizedText(en: "The ledger would be corrected.", zh: "对账会按 Apple 的记录更正账本。"))
        case .refundReversalMissed:
            Explanation(
                LocalizedText(en: "Apple has reversed a refund without a notification.", zh: "Apple 撤销了一次退款，但通知未送达。"),
                done: LocalizedText(en: "The purchase is granted again.", zh: "已重新发放。"),
                planned: LocalizedText(en: "The purchase would be granted again.", zh: "对账会重新发放。"))
        case .termsDiffer:
            Explanation(
                LocalizedText(
                    en: "The end or the state of a subscription's period differs at Apple.",
                    zh: "某个订阅周期的结束时间或状态与 Apple 的记录不同。"),
                done: LocalizedText(en: "The ledger is corrected.", zh: "账本已按 Apple 的记录更正。"),
                planned: LocalizedText(en: "The ledger would be corrected.", zh: "对账会按 Apple 的记录更正账本。"))
        case .renewalDiffers:
            Explanation(
                LocalizedText(
                    en: "Apple has newer renewal information for a subscription.",
                    zh: "Apple 有某个订阅更新的续订信息。"),
                done: LocalizedText(en: "It is stored.", zh: "已保存。"),
                planned: LocalizedText(en: "It would be stored.", zh: "对账会保存它。"))
        default:
            Explanation(
                LocalizedText(en: "The ledger has a purchase that Apple lacks.", zh: "账本中有一笔 Apple 没有记录的购买。"),
                done: LocalizedText(en: "Nothing is changed; check its proof.", zh: "未作任何更改，请查看其凭证。"),
                planned: LocalizedText(en: "Nothing would be changed; check its proof.", zh: "对账不会作任何更改，请查看其凭证。"))
        }
    }

    private var note: Explanation {
        switch self {
        case .orderClosed:
            Explanation(
                LocalizedText(
                    en: "An order has waited long, and Apple has no payment for it.",
                    zh: "一个订单长期等待付款，而 Apple 没有它的付款记录。"),
                done: LocalizedText(
                    en: "It is closed; if it turns out to be paid, it is granted all the same.",
                    zh: "订单已关闭；如果后来发现已付款，仍会发放。"),
                planned: LocalizedText(
                    en: "It would be closed; if it turned out to be paid, it would be granted all the same.",
                    zh: "对账会关闭它；如果后来发现已付款，仍会发放。"))
        case .orderNotCompleted:
            Explanation(
                LocalizedText(
                    en: "An order says that it is being paid, and Apple has no payment for it.",
                    zh: "一个订单显示正在付款，而 Apple 没有它的付款记录。"),
                done: LocalizedText(en: "Ask the buyer for the receipt.", zh: "请向买家索要收据。"))
        case .customerUnavailable:
            Explanation(
                LocalizedText(en: "Apple provides no records of this customer.", zh: "Apple 不提供这位客户的记录。"),
                done: LocalizedText(en: "The other customers are compared.", zh: "其他客户照常核对。"))
        case .responseRefused:
            Explanation(
                LocalizedText(
                    en: "A response was not signed by Apple or not for this app.",
                    zh: "有一项应答不是 Apple 签发的，或不属于本 App。"),
                done: LocalizedText(
                    en: "It is ignored; the proof is on the list of refused proofs.",
                    zh: "未作任何处理，凭证已列入拒绝列表。"),
                planned: LocalizedText(en: "It is ignored.", zh: "未作任何处理。"))
        case .responseUnreadable:
            Explanation(
                LocalizedText(en: "A response could not be read after several requests.", zh: "有一项应答多次请求仍无法读取。"),
                done: LocalizedText(en: "It is skipped.", zh: "已跳过。"))
        default:
            Explanation(
                LocalizedText(en: "The ledger could not record one of Apple's responses.", zh: "账本无法记录 Apple 的一项应答。"),
                done: LocalizedText(en: "The others are recorded; report this.", zh: "其余已记录；请报告此问题。"),
                planned: LocalizedText(en: "The others would be recorded; report this.", zh: "其余会记录；请报告此问题。"))
        }
    }
}
