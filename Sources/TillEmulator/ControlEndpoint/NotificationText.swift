import TillBilling
import TillJSON

/// One notification in the control API's own words.
enum NotificationText {
    static let members: [ControlMember] = [
        ControlMember("id", .uuid, required: true, Text(en: "notificationUUID", zh: "notificationUUID")),
        ControlMember("type", .text(limit: 100), required: true, Text(en: "notificationType", zh: "notificationType")),
        ControlMember("subtype", .text(limit: 100), Text(en: "if it has one", zh: "如有")),
        ControlMember("bundleId", .text(limit: 200), required: true, Text(en: "the app", zh: "App")),
        ControlMember("transactionId", .text(limit: 20), Text(en: "what it tells of", zh: "所说的交易")),
        ControlMember(
            "originalTransactionId", .text(limit: 20), Text(en: "the first transaction of its chain", zh: "所属链条的首笔交易")),
        ControlMember("createdAt", .instant, required: true, Text(en: "its signedDate", zh: "即 signedDate")),
        ControlMember("attempts", .integer(0...1_000), required: true, Text(en: "how often it was sent", zh: "发送次数")),
        ControlMember("nextAttemptAt", .instant, Text(en: "null: never", zh: "null 表示不再发送")),
        ControlMember(
            "result", .choice(SendAttemptResult.allCases.map(\.rawValue)),
            Text(en: "how the last attempt ended", zh: "最近一次的结果")),
    ]

    static let whole =
        members + [
            ControlMember(
                "sendAttempts",
                .list([
                    ControlMember("at", .instant, required: true, Text(en: "when", zh: "时间")),
                    ControlMember("result", .text(limit: 40), required: true, Text(en: "how it ended", zh: "结果")),
                ]), required: true, Text(en: "oldest first", zh: "从旧到新")),
            ControlMember(
                "signedPayload", .text(limit: 1 << 20), required: true, Text(en: "what is sent", zh: "发送的内容")),
        ]

    static func json(_ notification: StoredNotification) -> JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(notification.uuid.description), "type": .string(notification.type),
            "bundleId": .string(notification.bundleID), "createdAt": .string(notification.created.rfc3339),
            "attempts": .int(notification.attempts),
            "nextAttemptAt": notification.due.map { .string($0.rfc3339) } ?? .null,
        ]
        members["subtype"] = notification.subtype.map { .string($0) }
        members["originalTransactionId"] = notification.original.map { .string(String($0)) }
        members["transactionId"] = (try? JSONValue(decoding: notification.content))?["transaction"]?["transactionId"]
        members["result"] = notification.result.map { .string($0) }
        return .object(members)
    }
}
