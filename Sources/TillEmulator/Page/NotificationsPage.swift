import TillBilling
import TillHTTP
import TillPages
import TillSQL

extension EmulatorPage {
    /// `GET /emulator/page/notifications?before=`.
    func showNotifications(_ visit: PageVisit) async throws -> HTML? {
        let (size, before) = (Self.pageSize, visit.before)
        let found = try await store.ask { session in
            NotificationsPage.Found(
                url: try SettingTable.value(.notificationURL, session),
                pending: try Counter.pendingNotifications.value(session),
                nextDue: try NotificationTable.nextDue(session),
                notifications: try PageQueries.notifications(before: before, limit: size + 1, session))
        }
        return NotificationsPage(visit: visit, found: found).html
    }
}

/// The notifications to the developer's server, sent and waiting.
struct NotificationsPage {
    struct Found: Sendable {
        var url: String?
        var pending: Int64
        var nextDue: Instant?
        var notifications: [PageQueries.Notification]
    }

    let visit: PageVisit
    let found: Found

    private var say: Reader { visit.say }
    private var size: Int { EmulatorPage.pageSize }

    var html: HTML {
        let isLive = visit.before == nil
        return EmulatorFrame.page(title: say("Notifications", "通知"), visit, in: .notifications, isLive: isLive) {
            EmulatorFrame.head(say("Notifications", "通知"), isLive: isLive, say) {}
            target
            element("div", Attribute("id", "results")) {
                element("p", .class("hint")) {
                    say("Waiting: \(found.pending).", "等待发送：\(found.pending)。")
                    if let next = found.nextDue {
                        say(" Next attempt: ", "下次尝试：")
                        HTML.time(next)
                    }
                }
                list
            }
        }
    }

    private var target: HTML {
        element("section", .class("card")) {
            HTML.form(.notify, "line", to: visit.here) {
                HTML.field(
                    "url", say("Receiver URL (empty: none are sent)", "接收地址（留空则不发送）"), found.url ?? "",
                    Attribute("type", "url"), Attribute("maxlength", "2000"),
                    hint: "http://127.0.0.1:8787/v1/notifications/apple")
                element("button", Attribute("type", "submit"), .class("primary")) { say("Save", "保存") }
            }
        }
    }

    @HTMLBuilder private var list: HTML {
        if found.notifications.isEmpty {
            HTML.nothing(
                found.url == nil
                    ? say("Without a receiver URL, no notifications are recorded.", "没有接收地址时不会记录通知。")
                    : say("No notifications yet.", "还没有通知。"))
        } else {
            HTML.table(
                "told", label: say("Notifications, newest first", "通知，最新的在前"),
                columns: [
                    say("Notification", "通知"), say("About", "关于"), say("State", "状态"),
                    say("Created (UTC)", "产生时间（UTC）"),
                    say("Attempts", "尝试"),
                ]
            ) {
                for notification in found.notifications.prefix(size) { row(notification) }
            }
        }
        HTML.pager(
            newest: visit.before == nil ? nil : .storeNotifications,
            older: found.notifications.count > size
                ? found.notifications.prefix(size).last.map { .notifications(before: $0.number) } : nil, say)
    }

    private func row(_ notification: PageQueries.Notification) -> HTML {
        element("tr", Attribute("role", "row"), .id("notification", notification.number)) {
            HTML.cell("product") {
                element("strong") { NoticeWords.sentence(notification.type, notification.subtype, say) }
                element("div", .class("under")) { NoticeWords.code(notification.type, notification.subtype) }
                element("div", .class("under")) { HTML.code(notification.uuid) }
            }
            HTML.cell("about") {
                if let original = notification.original { HTML.code(String(original)) } else { "–" }
            }
            HTML.cell("status") { state(notification) }
            HTML.cell("time") { HTML.time(notification.created) }
            HTML.cell("attempts") {
                if notification.attempts.isEmpty { say("none yet", "尚无") }
                element("ul", .class("plain")) {
                    for attempt in notification.attempts {
                        element("li") {
                            HTML.time(attempt.at)
                            " "
                            HTML.code(attempt.result, limit: 60)
                        }
                    }
                }
            }
        }
    }

    @HTMLBuilder private func state(_ notification: PageQueries.Notification) -> HTML {
        if notification.attempts.first?.result == "SUCCESS" {
            element("span", .class("pill", "good")) { say("Delivered", "已送达") }
        } else if let due = notification.due {
            element("span", .class("pill", "waiting")) { say("Waiting", "等待发送") }
            element("div", .class("under")) {
                say("next ", "下次 ")
                HTML.time(due)
            }
        } else if notification.attempts.isEmpty {
            element("span", .class("pill", "idle")) { say("Not sent", "未发送") }
        } else {
            element("span", .class("pill", "bad")) { say("Failed", "已停止重试") }
        }
    }
}
