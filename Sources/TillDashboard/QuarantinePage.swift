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
            older: found.count > size ? found[size - 1].sequence : nil)
        return .page(200, page.html, in: visit.say.language)
    }

    /// `POST /dashboard/quarantine/{sequence}/claims`: an operator decides the owner of a purchase and gives a reason.
    func claim(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let session = visit.session
        guard session.formToken != nil else { return .redirect(to: .login) }
        guard visit.request.isFromOwnPage else { throw Refused(.forbidden) }
        let form = try visit.request.form()
        guard session.isFormToken(form["form"]) else { throw Refused(.forbidden) }
        guard let sequence = Int64(visit.parameters["sequence"]) else { throw Refused(.unknownTransaction) }
        let claim = OperatorClaim(
            user: try Bounds.user(form["user"] ?? ""), reason: try Bounds.prose(form["reason"] ?? "", "reason", 500),
            operatorName: session.operatorID, actor: "operator:\(session.operatorID)")
        _ = try await ledger.decide(sequence, claim)
        return .redirect(to: .transaction(sequence))
    }
}

struct QuarantinePage {
    let visit: DashboardVisit
    let catalog: Catalog
    let transactions: [TransactionTable.Stored]
    let older: Int64?

    private var say: Reader { visit.say }

    var html: HTML {
        PageFrame.page(title: PageFrame.Room.quarantine.title(say), visit, in: .quarantine) {
            element("h1") { PageFrame.Room.quarantine.title(say) }
            element("p", .class("hint")) {
                say(
                    "Paid and genuine purchases without an owner. Each is kept with its proof.",
                    "已付款、凭证真实，但尚无归属客户的购买。每一笔都连同凭证一并保存。")
            }
            if transactions.isEmpty {
                HTML.nothing(say("Nothing is in quarantine.", "没有待认领的交易。"))
            } else {
                table
            }
            HTML.pager(
                newest: visit.cursor == nil ? nil : .quarantine, older: older.map { .quarantine(before: $0) }, say)
        }
    }

    private var table: HTML {
        HTML.table(
            "quarantine", label: PageFrame.Room.quarantine.title(say),
            columns: [
                say("Transaction", "交易号"), say("Product", "商品"), say("Paid", "实付"), say("Reason", "原因"),
                say("Environment", "环境"), say("Arrived (UTC)", "到达时间（UTC）"),
            ] + (visit.session.formToken == nil ? [] : [say("Owner", "归属客户")])
        ) {
            for transaction in transactions {
                HTML.row {
                    HTML.cell("transaction") {
                        element("a", .href(.transaction(transaction.sequence))) {
                            HTML.code(transaction.id.text, limit: 40)
                        }
                    }
                    HTML.cell("product") {
                        HTML.outside(catalog.name(of: transaction.productID, say), limit: 80)
                        if transaction.quantity > 1 { "\u{A0}×\u{A0}\(transaction.quantity)" }
                    }
                    HTML.cell("amount") { transaction.price?.description ?? "–" }
                    HTML.cell("ground") { Evidence.ground(transaction.quarantine?.rawValue ?? "–", say) }
                    HTML.cell("environment") { HTML.environment(transaction.environment, say) }
                    HTML.cell("time") { HTML.time(transaction.receivedAt) }
                    if let token = visit.session.formToken {
                        HTML.cell("claim") { ClaimForm(say: say, sequence: transaction.sequence, token: token).html }
                    }
                }
            }
        }
    }
}

/// The form that names the owner of a purchase in quarantine. It stands folded in the purchase's row.
struct ClaimForm {
    let say: Reader
    let sequence: Int64
    let token: String

    var html: HTML {
        element("details") {
            element("summary") { say("Grant to…", "发放给…") }
            element("form", Attribute("method", "post"), .action(.claims(sequence)), .class("claim")) {
                element("label", .reference("for", "user", sequence)) { say("User id", "用户 ID") }
                emptyElement(
                    "input", .id("user", sequence), Attribute("name", "user"), Attribute("maxlength", "128"),
                    Attribute("autocomplete", "off"), .flag("required"))
                element("label", .reference("for", "reason", sequence)) { say("Reason", "理由") }
                emptyElement(
                    "input", .id("reason", sequence), Attribute("name", "reason"), Attribute("maxlength", "500"),
                    Attribute("autocomplete", "off"), .flag("required"))
                HTML.hidden("form", token)
                element("button", Attribute("type", "submit"), .class("primary")) { say("Grant", "发放") }
            }
        }
    }
}
