extension Difference.Kind {
    /// What was found and what became of it, for a person.
    public var sentence: Text {
        switch self {
        case .purchaseMissed, .purchaseUnattributed, .revokedPurchaseMissed, .notificationMissed: missedSentence
        case .quarantineResolved, .refundMissed, .refundDiffers, .refundReversalMissed, .termsDiffer, .renewalDiffers,
            .unknownToApple:
            changedSentence
        case .orderClosed, .orderUnsettled, .customerUntold, .answerRefused, .answerUnreadable, .notSettled:
            noteSentence
        }
    }

    private var missedSentence: Text {
        switch self {
        case .purchaseMissed:
            Text(
                en: "Apple had a paid purchase that neither the app nor a notification had brought. It is granted.",
                zh: "Apple 有一笔已付款的购买，应用和通知都没有送来。现已发放。")
        case .purchaseUnattributed:
            Text(
                en: "Apple had a paid purchase that was unknown here, and it names nobody. It is kept in quarantine.",
                zh: "Apple 有一笔已付款的购买，这里原本没有，且无法得知属于谁。已存入隔离区。")
        case .revokedPurchaseMissed:
            Text(
                en: "Apple had a purchase that was unknown here and is refunded already. Nothing is granted for it.",
                zh: "Apple 有一笔这里原本没有的购买，且已退款。不会为它发放任何内容。")
        default:
            Text(
                en: "Apple had sent a notification that never arrived. It is stored and taken up.",
                zh: "Apple 发送过的一条通知没有送达。已保存并处理。")
        }
    }

    private var changedSentence: Text {
        switch self {
        case .quarantineResolved:
            Text(
                en: "A purchase in quarantine turned out to be somebody's. It is granted.",
                zh: "隔离区里的一笔购买有了归属。现已发放。")
        case .refundMissed:
            Text(
                en: "Apple has taken a purchase back and nobody had said so. What was granted is taken back.",
                zh: "Apple 已退回一笔购买的款项，但此前没有人告知。已收回所发放的内容。")
        case .refundDiffers:
            Text(
                en: "Apple has taken back another share of a purchase than was known here. The books follow Apple.",
                zh: "Apple 退回的份额与这里所记不同。账本已按 Apple 的记录更正。")
        case .refundReversalMissed:
            Text(
                en: "Apple has undone a refund and nobody had said so. What was taken back is given again.",
                zh: "Apple 撤销了一次退款，但此前没有人告知。已重新发放。")
        case .termsDiffer:
            Text(
                en: "Apple has another end or another state of a subscription's period. The books follow Apple.",
                zh: "某个订阅周期的结束时间或状态与 Apple 的记录不同。账本已按 Apple 的记录更正。")
        case .renewalDiffers:
            Text(
                en: "Apple says something newer about a subscription's next renewal. It is kept.",
                zh: "关于某个订阅的下次续订，Apple 有更新的说法。已保存。")
        default:
            Text(
                en: "The ledger has a purchase that Apple does not know. Nothing is changed; look at its proof.",
                zh: "账本里有一笔 Apple 不知道的购买。未作任何更改，请查看其凭证。")
        }
    }

    private var noteSentence: Text {
        switch self {
        case .orderClosed:
            Text(
                en: "An order has waited long for a payment that Apple knows nothing of. It is closed; if it turns out "
                    + "to be paid, it is granted all the same.",
                zh: "一个订单长期等待付款，而 Apple 没有它的付款记录。订单已关闭；如果后来发现已付款，仍会发放。")
        case .orderUnsettled:
            Text(
                en: "An order says that it is being paid, and Apple has no payment for it. Ask the buyer for the "
                    + "receipt.",
                zh: "一个订单显示正在付款，而 Apple 没有它的付款记录。请向买家索要收据。")
        case .customerUntold:
            Text(
                en: "Apple does not tell of this customer. The others are compared all the same.",
                zh: "Apple 不提供这位顾客的记录。其他顾客照常核对。")
        case .answerRefused:
            Text(
                en: "An answer was not signed by Apple or not for this app. Nothing is made of it; the proof is on the "
                    + "list of refused ones.",
                zh: "有一项应答不是 Apple 签发的，或不属于本应用。未作任何处理，凭证已列入拒绝列表。")
        case .answerUnreadable:
            Text(
                en: "An answer could not be read however often it was asked for. It is passed over.",
                zh: "有一项应答多次请求仍无法读取，已跳过。")
        default:
            Text(
                en: "The ledger refused to book one of Apple's answers. The others are booked; report this.",
                zh: "账本拒绝记录 Apple 的一项应答。其余已记录；请报告此问题。")
        }
    }
}
