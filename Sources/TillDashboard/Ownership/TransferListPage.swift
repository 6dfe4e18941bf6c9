import TillBilling
import TillHTTP
import TillLedger
import TillPages
import TillSQL

extension Dashboard {
    /// `GET /dashboard/transfers?user=&cursor=`: merges, moves and reversals, newest first.
    func listTransfers(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let user = try OrderFilter(visit.request).user
        let cursor = visit.cursor
        let found = try await ledger.database.read { try TransferListing(user, before: cursor, $0) }
        let page = TransferListPage(visit: visit, user: user, found: found)
        return .page(200, page.html, in: visit.localize.language)
    }
}

/// One page of the transfers.
struct TransferListing: Sendable {
    let transfers: [TransferTable.Stored]
    /// The row ids of those that were reversed.
    let reversed: Set<Int64>
    /// The position of older transfers; nil if there are none.
    let next: Int64?

    init(_ user: UserID?, before cursor: Int64?, _ connection: any Connection) throws {
        let (table, size) = (TransferTable(connection), Dashboard.pageSize)
        let found =
            try user.map { try table.list(user: $0, before: cursor ?? .max, limit: size + 1) }
            ?? table.list(before: cursor ?? .max, limit: size + 1)
        transfers = Array(found.prefix(size))
        reversed = Set(try transfers.map(\.rowID).filter { try table.reversal(of: $0) != nil })
        next = found.count > size ? transfers.last?.rowID : nil
    }
}

struct TransferListPage {
    let visit: DashboardVisit
    let user: UserID?
    let found: TransferListing

    private var localize: Localizer { visit.localize }

    var html: HTML {
        PageFrame.page(title: PageFrame.Section.transfers.title(localize), visit, in: .transfers) {
            element("h1") { PageFrame.Section.transfers.title(localize) }
            element("p", .class("hint")) {
                localize(
                    "Merges of guests into accounts, moves of purchases, and their reversals. Open one to reverse it.",
                    "游客并入账号、购买转移，以及它们的撤销。打开其中一条即可撤销。")
            }
            form
            if found.transfers.isEmpty {
                HTML.emptyState(
                    user == nil
                        ? localize("Nothing was moved.", "没有转移记录。") : localize("No transfer matches.", "没有符合条件的转移。"))
            } else {
                table
            }
            HTML.pager(
                newest: visit.cursor == nil ? nil : .transfers(of: user),
                older: found.next.map { .transfers(of: user, before: $0) }, localize)
        }
    }

    private var form: HTML {
        element(
            "form", Attribute("method", "get"), .action(.transfers(of: nil)), .class("filters", "one"),
            Attribute("role", "search")
        ) {
            element("div") {
                element("label", Attribute("for", "user")) { localize("User id", "用户 ID") }
                emptyElement(
                    "input", Attribute("id", "user"), Attribute("name", "user"), Attribute("type", "search"),
                    .value(user?.text ?? ""), Attribute("maxlength", "128"), Attribute("autocomplete", "off"),
                    Attribute("autocapitalize", "none"), Attribute("spellcheck", "false"))
            }
            element("div", .class("buttons")) {
                element("button", Attribute("type", "submit"), .class("primary")) { localize("Show", "查询") }
                if user != nil { element("a", .href(.transfers(of: nil))) { localize("Clear", "清除") } }
            }
        }
    }

    private var table: HTML {
        HTML.table(
            "transfers", label: PageFrame.Section.transfers.title(localize),
            columns: [
                localize("Time (UTC)", "时间（UTC）"), localize("What", "类型"), localize("From", "转出"),
                localize("To", "转入"), localize("Reason", "理由"), localize("By", "操作者"),
            ]
        ) {
            for stored in found.transfers { row(stored) }
        }
    }

    private func row(_ stored: TransferTable.Stored) -> HTML {
        let transfer = stored.transfer
        return HTML.row {
            HTML.cell("time") { HTML.time(transfer.at) }
            HTML.cell("kind") {
                element("a", .href(.transfer(transfer.id))) { transfer.kind.title(localize) }
                if found.reversed.contains(stored.rowID) {
                    " "
                    element("span", .class("pill", "back")) { localize("Reversed", "已撤销") }
                }
            }
            HTML.cell("from") { HTML.untrusted(transfer.from.text, limit: 48) }
            HTML.cell("to") { HTML.untrusted(transfer.to.text, limit: 48) }
            HTML.cell("ground") { HTML.untrusted(transfer.reason, limit: 120) }
            HTML.cell("origin") { HTML.untrusted(transfer.operatorName ?? transfer.actor, limit: 80) }
        }
    }
}

extension Transfer.Kind {
    func title(_ localize: Localizer) -> String {
        switch self {
        case .guestMerge: localize("Guest merged", "游客并入账号")
        case .restore: localize("Restored", "恢复购买")
        case .support: localize("Moved by support", "客服转移")
        case .reversal: localize("Reversal", "撤销")
        case .signedBuyer: localize("Moved to the signed buyer", "转给签名中的买家")
        }
    }
}
