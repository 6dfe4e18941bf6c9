import TillAppStore
import TillBilling
import TillHTTP
import TillPages
import TillStorage

extension Server {
    /// `GET /dashboard/refusals?cursor=`: the proofs that were refused, and why (P9, U9).
    func listRefusals(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let size = Self.dashboardPageSize
        let cursor = visit.cursor
        let (found, foreign) = try await database.read { session in
            (
                try RefusedProofTable(session).list(before: cursor ?? .max, limit: size + 1),
                cursor == nil ? try ForeignNotificationTable(session).list(limit: StrangersNotifications.limit) : []
            )
        }
        let page = RefusalsPage(
            visit: visit, entries: found.prefix(size).map(\.entry),
            older: found.count > size ? found[size - 1].sequence : nil, foreign: foreign)
        return .page(200, page.html, in: visit.say.language)
    }
}

struct RefusalsPage {
    let visit: DashboardVisit
    let entries: [RefusedProofTable.Entry]
    let older: Int64?
    let foreign: [ForeignNotificationTable.Entry]

    var html: HTML {
        let say = visit.say
        return PageFrame.page(title: PageFrame.Room.refusals.title(say), visit, in: .refusals) {
            element("h1") { PageFrame.Room.refusals.title(say) }
            element("p", .class("hint")) {
                say(
                    "Nothing was granted for any of these. The newest \(RefusedProofTable.capacity) are kept.",
                    "以下凭证均未发放任何内容。最多保留最近 \(RefusedProofTable.capacity) 条。")
            }
            if entries.isEmpty {
                HTML.nothing(say("No proof was refused.", "没有被拒的凭证。"))
            } else {
                RefusalTable(say: say, entries: entries, showsOrder: true).html
            }
            HTML.pager(newest: visit.cursor == nil ? nil : .refusals, older: older.map { .refusals(before: $0) }, say)
            StrangersNotifications(say: say, entries: foreign).html
        }
    }
}

/// Refused proofs: why, what exactly, who brought them, and the hash by which one can be recognised.
struct RefusalTable {
    let say: Reader
    let entries: [RefusedProofTable.Entry]
    let showsOrder: Bool

    var html: HTML {
        HTML.table(
            "refusals", label: PageFrame.Room.refusals.title(say),
            columns: [
                say("Time (UTC)", "时间（UTC）"), say("Why", "原因"), say("Door and caller", "来源"),
                showsOrder ? say("Named order and SHA-256", "指明的订单与 SHA-256") : "SHA-256",
            ]
        ) {
            for entry in entries {
                HTML.row {
                    HTML.cell("time") { HTML.exactTime(entry.at) }
                    HTML.cell("ground") {
                        element("strong") { HTML.code(entry.code) }
                        " "
                        Evidence.refusal(entry.code, say)
                        if !entry.detail.isEmpty {
                            element("p", .class("hint")) { HTML.outside(entry.detail, limit: 500) }
                        }
                        if let record = entry.record.flatMap({ try? JSONValue(decoding: Array($0.utf8)) }) {
                            RecordDetails(say: say, record: record).html
                        }
                    }
                    HTML.cell("origin") { Evidence.origin(door: entry.door, caller: entry.caller, say) }
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
