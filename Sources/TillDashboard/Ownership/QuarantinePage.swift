import TillBilling
import TillHTTP
import TillLedger
import TillPages

extension Dashboard {
    /// `GET /dashboard/quarantine?cursor=`: paid transactions without an owner.
    func listQuarantine(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let size = Self.pageSize
        let cursor = visit.cursor
        let found = try await ledger.database.read {
            try TransactionTable($0).quarantined(before: cursor ?? .max, limit: size + 1)
        }
        let page = QuarantinePage(
            visit: visit, catalog: ledger.settings.catalog, transactions: Array(found.prefix(size)),
            older: found.count > size ? found[size - 1].rowID : nil)
        return .page(200, page.html, in: visit.localize.language)
    }
}

struct QuarantinePage {
    let visit: DashboardVisit
    let catalog: Catalog
    let transactions: [TransactionTable.Stored]
    let older: Int64?

    private var localize: Localizer { visit.localize }

    var html: HTML {
        PageFrame.page(title: PageFrame.Section.quarantine.title(localize), visit, in: .quarantine) {
            element("h1") { PageFrame.Section.quarantine.title(localize) }
            element("p", .class("hint")) {
                localize(
                    "Paid and genuine purchases without an owner. Each is kept with its proof.",
                    "已付款、凭证真实，但尚无归属客户的购买。每一笔都连同凭证一并保存。")
            }
            if transactions.isEmpty {
                HTML.emptyState(localize("Nothing is in quarantine.", "没有待认领的交易。"))
            } else {
                table
            }
            HTML.pager(
                newest: visit.cursor == nil ? nil : .quarantine, older: older.map { .quarantine(before: $0) }, localize)
        }
    }

    private var table: HTML {
        HTML.table(
            "quarantine", label: PageFrame.Section.quarantine.title(localize),
            columns: [
                localize("Transaction", "交易号"), localize("Product", "商品"), localize("Paid", "实付"),
                localize("Reason", "原因"),
                localize("Environment", "环境"), localize("Arrived (UTC)", "到达时间（UTC）"),
            ] + (visit.session.formToken == nil ? [] : [localize("Owner", "归属客户")])
        ) {
            for transaction in transactions {
                HTML.row {
                    HTML.cell("transaction") {
                        element("a", .href(.transaction(transaction.rowID))) {
                            HTML.code(transaction.id.text, limit: 40)
                        }
                    }
                    HTML.cell("product") {
                        HTML.untrusted(catalog.name(of: transaction.productID, localize), limit: 80)
                        if transaction.quantity > 1 { "\u{A0}×\u{A0}\(transaction.quantity)" }
                    }
                    HTML.cell("amount") { transaction.price?.description ?? "–" }
                    HTML.cell("ground") { Evidence.ground(transaction.quarantine?.rawValue ?? "–", localize) }
                    HTML.cell("environment") { HTML.environment(transaction.environment, localize) }
                    HTML.cell("time") { HTML.time(transaction.receivedAt) }
                    if let token = visit.session.formToken {
                        HTML.cell("claim") {
                            ClaimForm(localize: localize, rowID: transaction.rowID, token: token).html
                        }
                    }
                }
            }
        }
    }
}
