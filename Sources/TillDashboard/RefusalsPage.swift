import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillPages

extension Dashboard {
    /// `GET /dashboard/refusals?cursor=`: the refused proofs, and why they were refused.
    func listRefusals(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let size = Self.pageSize
        let cursor = visit.cursor
        let (found, anonymous, foreign) = try await ledger.database.read { connection in
            let refused = RefusedProofTable(connection)
            return (
                try refused.list(before: cursor ?? .max, limit: size + 1),
                cursor == nil ? try refused.anonymous(limit: OtherAppNotifications.limit) : [],
                cursor == nil ? try ForeignNotificationTable(connection).list(limit: OtherAppNotifications.limit) : []
            )
        }
        let page = RefusalsPage(
            visit: visit, entries: found.prefix(size).map(\.entry),
            older: found.count > size ? found[size - 1].rowID : nil, anonymous: anonymous,
            foreign: foreign)
        return .page(200, page.html, in: visit.localize.language)
    }
}

struct RefusalsPage {
    let visit: DashboardVisit
    let entries: [RefusedProofTable.Entry]
    let older: Int64?
    /// Refused notifications, which any client can post. They have a list of their own, so that a flood of them does
    /// not displace the other refusals.
    let anonymous: [RefusedProofTable.Entry]
    let foreign: [ForeignNotificationTable.Entry]

    var html: HTML {
        let localize = visit.localize
        return PageFrame.page(title: PageFrame.Section.refusals.title(localize), visit, in: .refusals) {
            element("h1") { PageFrame.Section.refusals.title(localize) }
            element("p", .class("hint")) {
                localize(
                    "Nothing was granted for any of these. The newest \(RefusedProofTable.Quota.user.rows) of each "
                        + "user and \(RefusedProofTable.Quota.trusted.rows) of each backend key are kept.",
                    "以下凭证均未发放任何内容。每个用户最多保留最近 \(RefusedProofTable.Quota.user.rows) 条，"
                        + "每个后端密钥 \(RefusedProofTable.Quota.trusted.rows) 条。")
            }
            if entries.isEmpty, anonymous.isEmpty {
                HTML.emptyState(localize("No proof was refused.", "没有被拒的凭证。"))
            } else if !entries.isEmpty {
                RefusalTable(localize: localize, entries: entries, showsOrder: true).html
            }
            HTML.pager(
                newest: visit.cursor == nil ? nil : .refusals, older: older.map { .refusals(before: $0) }, localize)
            if !anonymous.isEmpty { inApplesName }
            OtherAppNotifications(localize: localize, entries: foreign).html
        }
    }
}

extension RefusalsPage {
    private var inApplesName: HTML {
        let localize = visit.localize
        return element("section") {
            element("h2") { localize("Posted in Apple's name", "以 Apple 名义提交") }
            element("p", .class("hint")) {
                localize(
                    "These came from unauthenticated senders and are not signed by Apple. The newest "
                        + "\(RefusedProofTable.Quota.anonymous.rows) are kept, separately from those above.",
                    "以下内容由未经认证的来源提交，并非由 Apple 签名。最近 \(RefusedProofTable.Quota.anonymous.rows) 条与上表分开保留。")
            }
            RefusalTable(localize: localize, entries: anonymous, showsOrder: false).html
        }
    }
}

/// Refused proofs: the reason, the details, the caller, and the hash that identifies the proof.
struct RefusalTable {
    let localize: Localizer
    let entries: [RefusedProofTable.Entry]
    let showsOrder: Bool

    var html: HTML {
        HTML.table(
            "refusals", label: PageFrame.Section.refusals.title(localize),
            columns: [
                localize("Time (UTC)", "时间（UTC）"), localize("Why", "原因"), localize("Source and caller", "来源与调用者"),
                showsOrder ? localize("Named order and SHA-256", "指明的订单与 SHA-256") : "SHA-256",
            ]
        ) {
            for entry in entries {
                HTML.row {
                    HTML.cell("time") {
                        HTML.exactTime(entry.at)
                        if let last = entry.lastAt {
                            element("p", .class("hint")) {
                                localize("\(entry.count) times, last", "共 \(entry.count) 次，最近") + " "
                                HTML.exactTime(last)
                            }
                        }
                    }
                    HTML.cell("ground") {
                        element("strong") { HTML.code(entry.code) }
                        " "
                        Evidence.refusal(entry.code, localize)
                        if !entry.detail.isEmpty {
                            element("p", .class("hint")) { HTML.untrusted(entry.detail, limit: 500) }
                        }
                        if let record = entry.record.flatMap({ try? JSONValue(decoding: Array($0.utf8)) }) {
                            RecordDetails(localize: localize, record: record).html
                        }
                    }
                    HTML.cell("origin") { origin(of: entry) }
                    HTML.cell("digest") {
                        if showsOrder, let order = entry.claimedOrder {
                            element("p") {
                                element("a", .href(.order(order))) { HTML.code(order.description) }
                            }
                        }
                        HTML.code(hexadecimal(entry.digest))
                    }
                }
            }
        }
    }
}

extension RefusalTable {
    /// A notification that was refused is not called Apple's: anyone can post one.
    private func origin(of entry: RefusedProofTable.Entry) -> HTML {
        guard entry.source == PurchaseSource.notification.rawValue else {
            return Evidence.origin(source: entry.source, caller: entry.caller, localize)
        }
        return HTML(localize("Posted as a notification by an unknown sender", "由未知来源以通知形式提交"))
    }
}

/// Notifications that Apple signed for another app, or for this app under another name. If any belong to this app, the
/// configuration is wrong.
struct OtherAppNotifications {
    let localize: Localizer
    let entries: [ForeignNotificationTable.Entry]

    /// The number of newest entries shown.
    static let limit = 20

    var html: HTML {
        guard !entries.isEmpty else { return .empty }
        return element("section") {
            element("h2") { title }
            element("p", .class("hint")) {
                localize(
                    "Apple signed these notifications for another app than the configured one. They were not used. "
                        + "At most \(ForeignNotificationTable.capacity) are kept; beyond that, the app with the most "
                        + "loses its oldest.",
                    "以下通知由 Apple 签名，但不属于当前配置的 App，未据此处理任何内容。"
                        + "最多保留 \(ForeignNotificationTable.capacity) 条，超出时删除条数最多的 App 的最早一条。")
            }
            HTML.table(
                "refusals", label: title,
                columns: [localize("Time (UTC)", "时间（UTC）"), localize("Why", "原因"), localize("App", "App"), "UUID"]
            ) {
                for entry in entries { row(entry) }
            }
        }
    }

    private var title: String { localize("Notifications for other apps", "其他 App 的通知") }

    private func row(_ entry: ForeignNotificationTable.Entry) -> HTML {
        HTML.row {
            HTML.cell("time") { HTML.exactTime(entry.receivedAt) }
            HTML.cell("ground") {
                element("strong") { HTML.code(entry.code) }
                " "
                Evidence.refusal(entry.code, localize)
                if !entry.detail.isEmpty {
                    element("p", .class("hint")) { HTML.untrusted(entry.detail, limit: 500) }
                }
            }
            HTML.cell("origin") {
                HTML.code(entry.bundleID ?? localize("none stated", "未注明"), limit: 160)
                " "
                HTML.code([entry.type, entry.subtype ?? ""].joined(separator: " "), limit: 160)
            }
            HTML.cell("digest") { HTML.code(entry.uuid) }
        }
    }
}
