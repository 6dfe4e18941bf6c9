import TillBilling
import TillHTTP
import TillJSON

/// The whole store in a few numbers.
extension ControlEndpoint {
    func addState(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/state", Text(en: "The whole store in a few numbers.", zh: "商店概况。"),
            answer: ControlAnswer("State", Self.stateMembers)
        ) { _ in try await state() }
    }

    private func state() async throws -> HTTPResponse {
        let summary = try await store.summary()
        let clock = ClockText.json(summary.clock)
        let tallies = summary.tallies
        return .json([
            "environment": .string(configuration.environment.rawValue),
            "now": .string(summary.clock.now.rfc3339),
            "products": .int(Int64(summary.products)),
            "accounts": .int(summary.accounts),
            "transactions": [
                "total": .int(Self.total(tallies)),
                "unfinished": .int(Self.total(tallies.filter { !$0.isFinished && $0.state == "purchased" })),
                "refunded": .int(Self.total(tallies.filter(\.isRefunded))),
                "byState": Self.counts(tallies, by: \.state), "byType": Self.counts(tallies, by: \.kind),
            ],
            "subscriptions": [
                "total": .int(summary.subscriptions.values.reduce(0, +)),
                "byState": .object(summary.subscriptions.mapValues { .int($0) }),
            ],
            "notifications": [
                "url": summary.notificationURL.map { .string($0) } ?? .null,
                "total": .int(summary.notifications), "pending": .int(summary.pendingNotifications),
                "failed": .int(summary.failedNotifications),
                "nextAttemptAt": summary.nextAttempt.map { .string($0.rfc3339) } ?? .null,
            ],
            "clock": clock, "nextDue": clock["next"] ?? .null,
        ])
    }

    private static func total(_ tallies: [TransactionTally]) -> Int64 { tallies.reduce(0) { $0 + $1.count } }

    private static func counts(_ tallies: [TransactionTally], by name: (TransactionTally) -> String) -> JSONValue {
        .object(Dictionary(grouping: tallies, by: name).mapValues { .int(total($0)) })
    }

    private static func count(_ name: String, _ note: Text) -> ControlMember {
        ControlMember(name, .integer(0...Int64.max), required: true, note)
    }

    private static let stateMembers: [ControlMember] = [
        ControlMember(
            "environment", .choice(["Sandbox", "Production"]), required: true,
            Text(en: "what it signs as", zh: "签名所称的环境")),
        ControlMember("now", .instant, required: true, Text(en: "the store's time", zh: "商店时间")),
        count("products", Text(en: "on the shelves", zh: "商品数")),
        count("accounts", Text(en: "Apple Accounts", zh: "账户数")),
        ControlMember(
            "transactions",
            .object([
                count("total", Text(en: "all", zh: "全部")),
                count("unfinished", Text(en: "paid and in a queue", zh: "已付款且仍在队列中")),
                count("refunded", Text(en: "revoked, in full or in part", zh: "已全部或部分退款")),
                ControlMember("byState", .map, required: true, Text(en: "purchased, deferred, …", zh: "按付款进展")),
                ControlMember("byType", .map, required: true, Text(en: "by kind of product", zh: "按商品类型")),
            ]), required: true, Text(en: "how many", zh: "交易数")),
        ControlMember(
            "subscriptions",
            .object([
                count("total", Text(en: "all", zh: "全部")),
                ControlMember("byState", .map, required: true, Text(en: "active, expired, …", zh: "按状态")),
            ]), required: true, Text(en: "how many", zh: "订阅数")),
        ControlMember(
            "notifications",
            .object([
                ControlMember(
                    "url", .text(limit: 2_000), Text(en: "where they go; null: nowhere", zh: "发往何处；null 表示不发送")),
                count("total", Text(en: "all of the last 180 days", zh: "最近 180 天的全部")),
                count("pending", Text(en: "to be sent, or sent again", zh: "待发送或待重试")),
                count("failed", Text(en: "given up", zh: "已放弃")),
                ControlMember("nextAttemptAt", .instant, Text(en: "the first that is due", zh: "最早的一次尝试")),
            ]), required: true, Text(en: "how many", zh: "通知数")),
        ControlMember(
            "clock", .object(ClockText.members), required: true,
            Text(en: "as GET /emulator/clock", zh: "同 GET /emulator/clock")),
        ControlMember("nextDue", .object(ClockText.event), Text(en: "what happens next by itself", zh: "接下来自动发生的事")),
    ]
}
