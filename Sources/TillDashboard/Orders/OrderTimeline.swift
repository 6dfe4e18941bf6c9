import TillBilling
import TillLedger
import TillPages

/// The history of one order in one timeline: its own moves, the decisions about its transactions with their grounds,
/// and the refused proofs that named it.
struct OrderTimeline {
    enum Step {
        case moved(OrderMove)
        case decided(EvidenceTable.Entry, TransactionID)
        case refused(RefusedProofTable.Entry)
        case transferred(Transfer, TransactionID)

        var at: Instant {
            switch self {
            case .moved(let move): move.at
            case .decided(let entry, _): entry.at
            case .refused(let entry): entry.at
            case .transferred(let transfer, _): transfer.at
            }
        }
    }

    let steps: [Step]

    init(_ detail: OrderDetail) {
        // A decision and the move it causes have the same time: the decision comes first, and the opening before
        // everything.
        let opening = detail.moves.prefix(1).map { (rank: 0, step: Step.moved($0)) }
        let refused = detail.refused.reversed().map { (rank: 1, step: Step.refused($0)) }
        let decided = detail.transactions.flatMap { transaction in
            transaction.evidence.map { (rank: 2, step: Step.decided($0, transaction.transaction.id)) }
        }
        let moved = detail.moves.dropFirst().map { (rank: 3, step: Step.moved($0)) }
        let transferred = detail.transactions.flatMap { transaction in
            transaction.transfers.map { (rank: 4, step: Step.transferred($0, transaction.transaction.id)) }
        }
        let all = (opening + refused + decided + moved + transferred).enumerated()
        steps = all.sorted { left, right in
            (left.element.step.at.milliseconds, left.element.rank, left.offset)
                < (right.element.step.at.milliseconds, right.element.rank, right.offset)
        }.map(\.element.step)
    }

    func html(of kind: PurchaseKind?, _ localize: Localizer) -> HTML {
        element("ol", .class("timeline")) {
            for step in steps {
                element("li", .class(mark(step))) {
                    HTML.exactTime(step.at)
                    element("div") { content(step, kind, localize) }
                }
            }
        }
    }

    private func mark(_ step: Step) -> StaticString {
        switch step {
        case .moved(let move): move.status.styleClass
        case .decided(let entry, _): Evidence.styleClass(entry.decision)
        case .refused: "bad"
        case .transferred: "idle"
        }
    }

    @HTMLBuilder
    private func content(_ step: Step, _ kind: PurchaseKind?, _ localize: Localizer) -> HTML {
        switch step {
        case .moved(let move):
            HTML.status(move.status, of: kind, localize)
            if !move.reason.isEmpty {
                element("p") {
                    if let sentence = Evidence.sentence(of: move) { localize(sentence) + " " }
                    HTML.code(move.reason)
                }
            }
        case .decided(let entry, let transaction):
            element("strong") { Evidence.title(entry.decision, localize) }
            " "
            HTML.code(transaction.text)
            element("p") { Evidence.ground(entry.ground, localize) }
            if let detail = entry.detail { element("p", .class("hint")) { HTML.code(detail, limit: 1_000) } }
            element("p", .class("hint")) { Evidence.origin(source: entry.source, caller: entry.caller, localize) }
        case .refused(let entry):
            element("strong") {
                entry.count == 1
                    ? localize("Proof refused", "凭证被拒")
                    : localize("Proof refused, \(entry.count) times", "凭证被拒，共 \(entry.count) 次")
            }
            " "
            HTML.code(entry.code)
            element("p") { Evidence.refusal(entry.code, localize) }
            element("p", .class("hint")) { Evidence.origin(source: entry.source, caller: entry.caller, localize) }
        case .transferred(let transfer, let transaction):
            element("a", .href(.transfer(transfer.id))) { localize("Moved to another user", "转移给其他用户") }
            " "
            HTML.code(transaction.text)
            element("p") {
                HTML.untrusted(transfer.from.text)
                " → "
                HTML.untrusted(transfer.to.text)
            }
            element("p") {
                localize(transfer.kind.sentence) + " "
                HTML.untrusted(transfer.reason, limit: 500)
            }
            element("p", .class("hint")) {
                if let name = transfer.operatorName { HTML.untrusted(name) + HTML(localize(", by ", "，来自 ")) }
                HTML.code(transfer.actor, limit: 160)
            }
        }
    }
}

/// Evidence as sentences. Codes that this version doesn't know are shown unchanged.
enum Evidence {
    static func title(_ decision: String, _ localize: Localizer) -> HTML {
        switch decision {
        case "granted": HTML(localize("Granted", "已发放"))
        case "quarantined": HTML(localize("Quarantined", "待认领"))
        case "revoked": HTML(localize("Taken back", "已收回"))
        case "reinstated": HTML(localize("Granted again", "重新发放"))
        case "consumption_answered": HTML(localize("Consumption data sent to Apple", "已向 Apple 提交使用情况"))
        case "consumption_unanswered": HTML(localize("Apple's consumption request not answered", "未答复 Apple 的使用情况询问"))
        case "finished": HTML(localize("Finished at Apple", "已在 Apple 完成交易（finish）"))
        case "token_set": HTML(localize("Order id sent to Apple", "已将订单号提交给 Apple"))
        case "token_left": HTML(localize("Order id not sent to Apple", "未将订单号提交给 Apple"))
        case "late": HTML(localize("Arrived late", "迟到的购买"))
        case "confirmed": HTML(localize("Owner confirmed", "归属已确认"))
        case "contested": HTML(localize("Owner contested", "归属有争议"))
        case "moved": HTML(localize("Moved to the signed buyer", "已转给签名中的买家"))
        case "kept": HTML(localize("Left unchanged", "维持不变"))
        case "succeeded": HTML(localize("Assigned to the current owner", "归当前归属客户"))
        case "revocation_unknown": HTML(localize("Certificates not checked", "证书未核实"))
        default: HTML.untrusted(decision)
        }
    }

    static func styleClass(_ decision: String) -> StaticString {
        switch decision {
        case "granted", "reinstated": "good"
        case "quarantined", "contested": "waiting"
        case "revoked", "moved": "back"
        default: "idle"
        }
    }

    /// The ground of a decision: an owner match, a quarantine reason, or Apple's statement.
    static func ground(_ ground: String, _ localize: Localizer) -> HTML {
        guard let sentence = sentence(ground: ground) else { return HTML.code(ground) }
        return HTML(localize(sentence)) + HTML(" ") + HTML.code(ground)
    }

    private static func sentence(ground: String) -> LocalizedText? {
        if let match = OwnerMatch(rawValue: ground) { return match.sentence }
        if let reason = QuarantineReason(rawValue: ground) { return reason.sentence }
        if let succession = NewOwner.Ground(rawValue: ground) { return succession.sentence }
        if let note = OwnershipDecision.Note(rawValue: ground) { return note.sentence }
        if let kind = Transfer.Kind(rawValue: ground) { return kind.sentence }
        if let basis = OwnershipBasis(rawValue: ground) { return basis.sentence }
        switch ground {
        case "purchase_date":
            return LocalizedText(
                en: "The purchase was recorded long after its date. Late purchases are granted like any others.",
                zh: "这笔购买在购买日期很久之后才被记录。迟到的购买与其他购买同样发放。")
        case "revocation_date":
            return LocalizedText(
                en: "Apple's signed copy carries a revocation date.", zh: "Apple 签名的新副本带有撤销日期。")
        case "revocation_percentage":
            return LocalizedText(
                en: "Apple refunded another share of the price than it had reported before.",
                zh: "Apple 退还的比例与之前告知的不同。")
        case "replaced_by_purchase":
            return LocalizedText(
                en: "A later purchase in the subscription replaced the rest of the period.",
                zh: "该订阅的后一次购买取代了这一周期的剩余时间。")
        case "refund_reversed":
            return LocalizedText(en: "Apple reversed the refund.", zh: "Apple 撤回了退款。")
        case "before_any_grant":
            return LocalizedText(
                en: "Apple had refunded the purchase before it was granted.", zh: "发放之前 Apple 已经退款。")
        case "finish_transaction":
            return LocalizedText(
                en: "The device had time to finish the transaction; the server finished it at Apple to be sure.",
                zh: "设备已有足够时间完成交易（finish）；服务器又在 Apple 完成了一次，以确保无误。")
        case "set_app_account_token":
            return LocalizedText(
                en: "Apple's transaction carried no order id; renewals and notifications carry it from now on.",
                zh: "Apple 原先未签入订单号；此后的续订与通知都会携带。")
        case "bought_since":
            return LocalizedText(
                en: "The subscription has a later purchase, and Apple would have set the order id on that purchase.",
                zh: "该订阅此后又有新的购买，Apple 会把订单号设置到新购买上。")
        case "accepted_on_signature":
            return LocalizedText(
                en: "Apple didn't say whether its certificates were revoked; the signature was good.",
                zh: "Apple 未答复证书是否被吊销；签名有效。")
        default: return nil
        }
    }

    /// The meaning of a move's stable code. The reason of a cancelled or failed order is the device's own text.
    static func sentence(of move: OrderMove) -> LocalizedText? {
        switch (move.status, move.reason) {
        case (.deferred, _):
            LocalizedText(en: "Another person must approve the purchase (Ask to Buy).", zh: "需他人批准此次购买（购买前询问）。")
        case (.cancelled, "not_approved"):
            LocalizedText(en: "The purchase was not approved.", zh: "此次购买未获批准。")
        case (.cancelled, _), (.failed, _): nil
        case (.prepared, "opened"): LocalizedText(en: "The order was opened.", zh: "订单已创建。")
        case (.prepared, "opened_for_payment"):
            LocalizedText(en: "The order was opened for a payment that had no order.", zh: "为一笔没有订单的付款创建。")
        case (.refunded, "moved_to_signed_buyer"): Transfer.Kind.signedBuyer.sentence
        case (.refunded, "contradicts_order"): QuarantineReason.contradictsOrder.sentence
        case (.refunded, "revoked_by_apple"): LocalizedText(en: "Apple refunded the purchase.", zh: "Apple 已退款。")
        case (_, "refund_reversed"): sentence(ground: move.reason)
        default: OwnerMatch(rawValue: move.reason)?.sentence
        }
    }

    static func refusal(_ code: String, _ localize: Localizer) -> HTML {
        Refusal(rawValue: code).map { HTML(localize($0.sentence)) } ?? HTML.code(code)
    }

    /// The source of the proof, and its caller.
    static func origin(source: String, caller: String, _ localize: Localizer) -> HTML {
        let name: HTML =
            switch source {
            case "app": HTML(localize("Sent to the server", "提交到服务器"))
            case "restore": HTML(localize("Restored on a device", "在设备上恢复购买"))
            case "notification": HTML(localize("Apple's notification", "Apple 通知"))
            case "reconciliation": HTML(localize("Reconciliation with Apple", "与 Apple 对账"))
            case "claim": HTML(localize("Claimed from quarantine", "认领"))
            case "task": HTML(localize("Task for Apple", "Apple 待办任务"))
            default: HTML.code(source)
            }
        return name + HTML(localize(", by ", "，来自 ")) + HTML.code(caller, limit: 160)
    }
}
