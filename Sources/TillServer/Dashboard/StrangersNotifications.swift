import TillBilling
import TillLedger
import TillPages

/// Notifications that Apple signed for somebody else's app, or for ours under another name: if there are any of ours,
/// the configuration is wrong.
struct StrangersNotifications {
    let say: Reader
    let entries: [ForeignNotificationTable.Entry]

    /// The newest so many are shown.
    static let limit = 20

    var html: HTML {
        guard !entries.isEmpty else { return .empty }
        return element("section") {
            element("h2") { title }
            element("p", .class("hint")) {
                say(
                    "Apple signed these, but not for this app as it is configured. Nothing was made of them. At "
                        + "most \(ForeignNotificationTable.capacity) are kept; the app with the most loses its oldest.",
                    "以下通知由 Apple 签名，但不属于当前配置的 App，未据此处理任何内容。"
                        + "最多保留 \(ForeignNotificationTable.capacity) 条，超出时删除条数最多的 App 的最早一条。")
            }
            HTML.table(
                "refusals", label: title,
                columns: [say("Time (UTC)", "时间（UTC）"), say("Why", "原因"), say("App", "App"), "UUID"]
            ) {
                for entry in entries { row(entry) }
            }
        }
    }

    private var title: String { say("Notifications for other apps", "其他 App 的通知") }

    private func row(_ entry: ForeignNotificationTable.Entry) -> HTML {
        HTML.row {
            HTML.cell("time") { HTML.exactTime(entry.receivedAt) }
            HTML.cell("ground") {
                element("strong") { HTML.code(entry.code) }
                " "
                Evidence.refusal(entry.code, say)
                if !entry.detail.isEmpty {
                    element("p", .class("hint")) { HTML.outside(entry.detail, limit: 500) }
                }
            }
            HTML.cell("origin") {
                HTML.code(entry.bundleID ?? say("none stated", "未注明"), limit: 160)
                " "
                HTML.code([entry.type, entry.subtype ?? ""].joined(separator: " "), limit: 160)
            }
            HTML.cell("digest") { HTML.code(entry.uuid) }
        }
    }
}
