import TillBilling
import TillHTTP
import TillPages
import TillSQL

extension EmulatorPage {
    /// `GET /emulator/page/notifications?before=`.
    func showNotifications(_ visit: PageVisit) async throws -> HTML? {
        let (size, before) = (Self.pageSize, visit.before)
        let content = try await store.ask { connection in
            NotificationsPage.Content(
                url: try SettingTable.value(.notificationURL, connection),
                pending: try Counter.pendingNotifications.value(connection),
                nextDue: try NotificationTable.nextDue(connection),
                notifications: try PageQueries.notifications(before: before, limit: size + 1, connection))
        }
        return NotificationsPage(visit: visit, content: content).html
    }
}

/// The notifications to the developer's server, sent and waiting.
struct NotificationsPage {
    struct Content: Sendable {
        var url: String?
        var pending: Int64
        var nextDue: Instant?
        var notifications: [PageQueries.Notification]
    }

    let visit: PageVisit
    let content: Content

    private var localize: Localizer { visit.localize }
    private var size: Int { EmulatorPage.pageSize }

    var html: HTML {
        let isLive = visit.before == nil
        return EmulatorFrame.page(title: localize("Notifications", "通知"), visit, in: .notifications, isLive: isLive) {
            EmulatorFrame.head(localize("Notifications", "通知"), isLive: isLive, localize) {}
            target
            element("div", Attribute("id", "results")) {
                element("p", .class("hint")) {
                    localize("Waiting: \(content.pending).", "等待发送：\(content.pending)。")
                    if let next = content.nextDue {
                        localize(" Next attempt: ", "下次尝试：")
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
                    "url", localize("Receiver URL (empty: none are sent)", "接收地址（留空则不发送）"), content.url ?? "",
                    Attribute("type", "url"), Attribute("maxlength", "2000"),
                    hint: "http://127.0.0.1:8787/v1/notifications/apple")
                element("button", Attribute("type", "submit"), .class("primary")) { localize("Save", "保存") }
            }
        }
    }

    @HTMLBuilder private var list: HTML {
        if content.notifications.isEmpty {
            HTML.emptyState(
                content.url == nil
                    ? localize("Without a receiver URL, no notifications are recorded.", "没有接收地址时不会记录通知。")
                    : localize("No notifications yet.", "还没有通知。"))
        } else {
            HTML.table(
                "told", label: localize("Notifications, newest first", "通知，最新的在前"),
                columns: [
                    localize("Notification", "通知"), localize("About", "关于"), localize("State", "状态"),
                    localize("Created (UTC)", "产生时间（UTC）"),
                    localize("Attempts", "尝试"),
                ]
            ) {
                for notification in content.notifications.prefix(size) { row(notification) }
            }
        }
        HTML.pager(
            newest: visit.before == nil ? nil : .storeNotifications,
            older: content.notifications.count > size
                ? content.notifications.prefix(size).last.map { .notifications(before: $0.number) } : nil, localize)
    }

    private func row(_ notification: PageQueries.Notification) -> HTML {
        element("tr", Attribute("role", "row"), .id("notification", notification.number)) {
            HTML.cell("product") {
                element("strong") { NotificationSentences.sentence(notification.type, notification.subtype, localize) }
                element("div", .class("under")) { NotificationSentences.code(notification.type, notification.subtype) }
                element("div", .class("under")) { HTML.code(notification.uuid) }
            }
            HTML.cell("about") {
                if let original = notification.original { HTML.code(String(original)) } else { "–" }
            }
            HTML.cell("status") { state(notification) }
            HTML.cell("time") { HTML.time(notification.created) }
            HTML.cell("attempts") {
                if notification.attempts.isEmpty { localize("none yet", "尚无") }
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
            element("span", .class("pill", "good")) { localize("Delivered", "已送达") }
        } else if let due = notification.due {
            element("span", .class("pill", "waiting")) { localize("Waiting", "等待发送") }
            element("div", .class("under")) {
                localize("next ", "下次 ")
                HTML.time(due)
            }
        } else if notification.attempts.isEmpty {
            element("span", .class("pill", "idle")) { localize("Not sent", "未发送") }
        } else {
            element("span", .class("pill", "bad")) { localize("Failed", "已停止重试") }
        }
    }
}
