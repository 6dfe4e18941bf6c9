import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// Refunds and the end of Family Sharing.
extension ControlEndpoint {
    func addRefunds(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/transactions/{id}/refund", Text(en: "Gives the money back.", zh: "退款。"),
            body: [
                ControlMember(
                    "reason", .integer(0...1), Text(en: "1: an issue with the app; 0: other", zh: "1：App 有问题；0：其他")),
                ControlMember(
                    "type", .choice(["full", "prorated"]),
                    Text(
                        en: "prorated without a percentage: the unused time of a subscription",
                        zh: "prorated 且无百分比时：订阅未用的时间")),
                ControlMember(
                    "percentage", .integer(1...100_000),
                    Text(en: "thousandths of a percent; 100000 if absent", zh: "千分之一个百分点；省略则为 100000")),
            ], answer: TransactionText.answer
        ) { call in
            let reason = try call.body.integer("reason", in: 0...1) ?? 0
            let refunded = try await store.refund(number(call.id), reason: reason, refundShare(call.body))
            return .json(try json(try refunded.answered()))
        }
        routes.on(
            .post, "/emulator/transactions/{id}/refundReversal",
            Text(en: "Undoes a refund after a dispute.", zh: "争议后撤销退款。"), answer: TransactionText.answer
        ) { call in .json(try json(try await store.reverseRefund(number(call.id)).answered())) }
        routes.on(
            .post, "/emulator/transactions/{id}/revoke",
            Text(
                en: "Ends a member's family access; of a purchaser's transaction, the whole family's, for good.",
                zh: "结束家庭成员的访问；若为购买者的交易，则整个家庭的访问永久结束。"),
            answer: TransactionText.answer
        ) { call in .json(try json(try await store.revoke(number(call.id)).answered())) }
        addRefundRequests(to: &routes)
    }

    private func addRefundRequests(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/transactions/{id}/consumptionRequest",
            Text(
                en: "The customer asks for a refund; the App Store decides 12 hours later.",
                zh: "顾客申请退款；App Store 在 12 小时后决定。"),
            body: [
                ControlMember(
                    "reason", .choice(Self.refundReasons),
                    Text(en: "what the customer says; OTHER if absent", zh: "顾客给出的理由；省略则为 OTHER")),
                ControlMember(
                    "decision", .choice(of: RefundRequest.Decision.self),
                    Text(
                        en: "developer: as the developer prefers, and granted if nobody answers; developer if absent",
                        zh: "developer：依开发者的意愿，无人回答则退款；省略则为 developer")),
            ], answer: Self.refundRequestAnswer
        ) { call in
            let reason = try call.body.text("reason") ?? "OTHER"
            guard Self.refundReasons.contains(reason) else {
                let all = Self.refundReasons.joined(separator: ", ")
                throw RequestBody.wrong("reason", "one of \(all)", "以下之一：\(all)")
            }
            let decision = try call.body.choice("decision", of: RefundRequest.Decision.self) ?? .developer
            let request = try await store.askForRefund(
                number(call.id), reason: ConsumptionRequestReason(rawValue: reason), decision: decision)
            return .json(Self.json(try request.answered()))
        }
        routes.on(
            .get, "/emulator/transactions/{id}/consumptionRequest",
            Text(en: "How the newest request for a refund stands.", zh: "最近一次退款申请的进展。"),
            answer: Self.refundRequestAnswer
        ) { call in
            guard let request = try await store.refundRequest(number(call.id)) else {
                throw Problem(.noRefundRequest(call.id))
            }
            return .json(Self.json(request))
        }
    }

    private static let refundReasons = [
        "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
    ]

    private static let refundRequestAnswer = ControlAnswer("RefundRequest", refundObject.members)
    private static func json(_ request: RefundRequest) -> JSONValue { refundObject.json(request) }

    private static let refundObject = ControlObject<RefundRequest> {
        $0.add("transactionId", .text(limit: 20), required: true, Text(en: "what was bought", zh: "所购交易")) {
            .string(String($0.number))
        }
        $0.add("reason", .choice(refundReasons), required: true, Text(en: "why", zh: "理由")) {
            .string($0.reason.rawValue)
        }
        $0.add(
            "decision", .choice(of: RefundRequest.Decision.self), required: true,
            Text(en: "how it will be decided", zh: "如何决定")
        ) { .string($0.decision.rawValue) }
        $0.add("askedAt", .instant, required: true, Text(en: "when it was asked for", zh: "申请时间")) {
            .string($0.asked.rfc3339)
        }
        $0.add("decidedAt", .instant, required: true, Text(en: "when it is decided", zh: "决定时间")) {
            .string($0.decided.rfc3339)
        }
        $0.add(
            "answered", .bool, required: true,
            Text(en: "whether the developer sent consumption information", zh: "开发者是否发送了消费信息")
        ) { .bool($0.answer != nil) }
        $0.add("outcome", .choice(of: RefundRequest.Outcome.self), Text(en: "once it is decided", zh: "决定之后")) {
            $0.outcome.map { .string($0.rawValue) }
        }
    }

    private func refundShare(_ body: RequestBody) throws(Problem) -> RefundShare {
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
