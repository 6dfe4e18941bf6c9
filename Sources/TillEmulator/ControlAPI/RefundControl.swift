import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// Refunds and the end of Family Sharing.
extension ControlEndpoint {
    func addRefunds(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/transactions/{id}/refund", LocalizedText(en: "Refunds a transaction.", zh: "退款。"),
            body: [
                ControlMember(
                    "reason", .integer(0...1),
                    LocalizedText(
                        en: "the reason: 1 for an issue with the app, 0 for another", zh: "原因：1 为 App 有问题，0 为其他")),
                ControlMember(
                    "type", .choice(["full", "prorated"]),
                    LocalizedText(
                        en:
                            "the type; prorated without a percentage refunds a subscription's unused time",
                        zh: "退款类型；prorated 且未给百分比时，按订阅未用的时间退款")),
                ControlMember(
                    "percentage", .integer(1...100_000),
                    LocalizedText(
                        en: "the refunded share in thousandths of a percent; 100000 if absent",
                        zh: "退款比例，以千分之一个百分点计，省略则为 100000")),
            ], answer: TransactionText.answer
        ) { call in
            let reason = try call.body.integer("reason", in: 0...1) ?? 0
            let refunded = try await store.refund(number(call.id), reason: reason, refundShare(call.body))
            return .json(try json(try refunded.answered()))
        }
        routes.on(
            .post, "/emulator/transactions/{id}/refundReversal",
            LocalizedText(en: "Reverses a refund after a dispute.", zh: "争议后撤销退款。"), answer: TransactionText.answer
        ) { call in .json(try json(try await store.reverseRefund(number(call.id)).answered())) }
        routes.on(
            .post, "/emulator/transactions/{id}/revoke",
            LocalizedText(
                en:
                    "Ends a family member's access; on the purchaser's transaction, the whole family's, permanently.",
                zh: "结束家庭成员的访问；对购买者的交易，则永久结束整个家庭的访问。"),
            answer: TransactionText.answer
        ) { call in .json(try json(try await store.revoke(number(call.id)).answered())) }
        addRefundRequests(to: &routes)
    }

    private func addRefundRequests(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/transactions/{id}/consumptionRequest",
            LocalizedText(
                en: "The customer asks for a refund; the App Store decides 12 hours later.",
                zh: "客户申请退款；App Store 在 12 小时后决定。"),
            body: [
                ControlMember(
                    "reason", .choice(Self.refundReasons),
                    LocalizedText(en: "the customer's reason; OTHER if absent", zh: "客户给出的理由，省略则为 OTHER")),
                ControlMember(
                    "decision", .choice(of: RefundRequest.Decision.self),
                    LocalizedText(
                        en:
                            "the decision; developer (default) follows the developer's preference, or grants it",
                        zh: "决定方式；developer（默认）按开发者的意愿决定，开发者未答复则退款")),
            ], answer: Self.refundRequestAnswer
        ) { call in
            let reason = try call.body.text("reason") ?? "OTHER"
            guard Self.refundReasons.contains(reason) else {
                let all = Self.refundReasons.joined(separator: ", ")
                throw RequestBody.wrong("reason", "one of \(all)", "以下之一：\(all)")
            }
            let decision = try call.body.choice("decision", of: RefundRequest.Decision.self) ?? .developer
            let request = try await store.requestRefund(
                number(call.id), reason: ConsumptionRequestReason(rawValue: reason), decision: decision)
            return .json(Self.json(try request.answered()))
        }
        routes.on(
            .get, "/emulator/transactions/{id}/consumptionRequest",
            LocalizedText(en: "The status of the newest refund request.", zh: "最近一次退款申请的状态。"),
            answer: Self.refundRequestAnswer
        ) { call in
            guard let request = try await store.refundRequest(number(call.id)) else {
                throw ControlError(.noRefundRequest(call.id))
            }
            return .json(Self.json(request))
        }
    }

    private static let refundReasons = [
        "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
    ]

    private static let refundRequestAnswer = ControlResponse("RefundRequest", refundObject.members)
    private static func json(_ request: RefundRequest) -> JSONValue { refundObject.json(request) }

    private static let refundObject = ControlObject<RefundRequest> {
        $0.add("transactionId", .text(limit: 20), required: true, LocalizedText(en: "the transaction id", zh: "交易号")) {
            .string(String($0.number))
        }
        $0.add("reason", .choice(refundReasons), required: true, LocalizedText(en: "the reason", zh: "理由")) {
            .string($0.reason.rawValue)
        }
        $0.add(
            "decision", .choice(of: RefundRequest.Decision.self), required: true,
            LocalizedText(en: "the decision rule", zh: "决定方式")
        ) { .string($0.decision.rawValue) }
        $0.add("askedAt", .instant, required: true, LocalizedText(en: "the time of the request", zh: "申请时间")) {
            .string($0.asked.rfc3339)
        }
        $0.add("decidedAt", .instant, required: true, LocalizedText(en: "the time of the decision", zh: "决定时间")) {
            .string($0.decided.rfc3339)
        }
        $0.add(
            "answered", .bool, required: true,
            LocalizedText(en: "whether the developer sent consumption information", zh: "开发者是否发送了消费信息")
        ) { .bool($0.answer != nil) }
        $0.add(
            "outcome", .choice(of: RefundRequest.Outcome.self),
            LocalizedText(en: "the outcome, after the decision", zh: "结果，决定之后才有")
        ) {
            $0.outcome.map { .string($0.rawValue) }
        }
    }

    private func refundShare(_ body: RequestBody) throws(ControlError) -> RefundShare {
        let percentage = try body.integer("percentage", in: 1...100_000)
        switch try body.text("type") {
        case nil: return .percentage(percentage ?? 100_000)
        case "prorated": return percentage.map { .percentage($0) } ?? .unusedTime
        case "full" where percentage ?? 100_000 == 100_000: return .full
        default:
            throw RequestBody.wrong(
                "type", "full, without another percentage, or prorated", "full（不带其他百分比）或 prorated")
        }
    }
}
