import TillBilling
import TillHTTP
import TillLedger
import TillPages
import TillSQL

extension Dashboard {
    /// `GET /dashboard/transfers/{id}`: what a transfer moved, and what its reversal would move back now.
    func showTransfer(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let (id, terms, now) = (UniqueID(visit.parameters["id"]), ledger.settings.guests, visit.now)
        guard let id,
            let detail = try await ledger.database.read({ try TransferDetail(id, under: terms, at: now, $0) })
        else { throw RefusalError(.unknownTransfer) }
        let page = TransferPage(visit: visit, catalog: ledger.settings.catalog, detail: detail)
        return .page(200, page.html, in: visit.localize.language)
    }

    /// `POST /dashboard/transfers/{id}/reversal`: an operator reverses a transfer and gives a reason. The same form
    /// sent again leads to the same reversal.
    func reverseTransfer(_ visit: DashboardVisit) async throws -> HTTPResponse {
        guard let form = try visit.ownForm() else { return .redirect(to: .login) }
        guard let id = UniqueID(visit.parameters["id"]) else { throw RefusalError(.unknownTransfer) }
        let reversal = try await ledger.reverseTransfer(
            id, reason: try DecisionReason.read(form["reason"]), by: visit.session.operatorID, actor: visit.actor)
        return .redirect(to: .transfer(reversal.transfer.id))
    }
}

/// Everything the ledger knows about one transfer, read in one snapshot.
struct TransferDetail: Sendable {
    /// Purchases that are listed.
    static let itemLimit = 100

    enum Reversal: Sendable {
        case made(Transfer)
        case possible(grants: Int, points: [MovedPoints])
        case refused(RefusalError)
    }

    let transfer: Transfer
    let items: [TransferTable.Item]
    let itemCount: Int64
    let points: [MovedPoints]
    /// The transfer that this one reverses.
    let reverses: Transfer?
    let reversal: Reversal

    /// Nil if there is no such transfer.
    init?(_ id: UniqueID, under terms: GuestTerms, at now: Instant, _ connection: any Connection) throws {
        let transfers = TransferTable(connection)
        guard let stored = try transfers.find(id) else { return nil }
        transfer = stored.transfer
        items = try transfers.items(of: stored.rowID, limit: Self.itemLimit)
        itemCount = try transfers.itemCount(of: stored.rowID)
        points = try transfers.points(of: stored.rowID)
        reverses = try stored.reverses.flatMap { try transfers.find(rowID: $0)?.transfer }
        if let made = try transfers.reversal(of: stored.rowID) {
            reversal = .made(made.transfer)
            return
        }
        do {
            let possible = try TransferReversal(of: stored, under: terms, at: now, connection)
            reversal = .possible(grants: possible.grants.count, points: possible.points)
        } catch let refused as RefusalError {
            reversal = .refused(refused)
        }
    }
}

struct TransferPage {
    let visit: DashboardVisit
    let catalog: Catalog
    let detail: TransferDetail

    private var localize: Localizer { visit.localize }
    private var transfer: Transfer { detail.transfer }

    var html: HTML {
        PageFrame.page(title: transfer.kind.title(localize), visit, in: .transfers) {
            element("p", .class("up")) {
                element("a", .href(.transfers(of: nil))) { "← " + PageFrame.Section.transfers.title(localize) }
            }
            element("h1") { transfer.kind.title(localize) }
            element("section", .class("card")) {
                element("p") { localize(transfer.kind.sentence) }
                facts
            }
            if !detail.items.isEmpty { purchases }
            element("section", .class("card")) {
                element("h2") { localize("Reversal", "撤销") }
                reversal
            }
        }
    }

    private var facts: HTML {
        HTML.facts {
            HTML.fact(localize("Transfer id", "转移编号")) { HTML.code(transfer.id.description) }
            HTML.fact(localize("From", "转出")) { user(transfer.from) }
            HTML.fact(localize("To", "转入")) { user(transfer.to) }
            HTML.fact(localize("At (UTC)", "时间（UTC）")) { HTML.time(transfer.at) }
            HTML.fact(localize("Reason", "理由")) { HTML.untrusted(transfer.reason) }
            HTML.fact(localize("Requested by", "请求方")) { HTML.code(transfer.actor, limit: 160) }
            if let name = transfer.operatorName {
                HTML.fact(localize("Decided by", "决定人")) { HTML.untrusted(name, limit: 130) }
            }
            HTML.fact(localize("Purchases", "购买笔数")) { String(detail.itemCount) }
            HTML.fact(localize("Points", "点数")) { sums(detail.points) }
            if let reverses = detail.reverses {
                HTML.fact(localize("Reverses", "撤销的转移")) {
                    element("a", .href(.transfer(reverses.id))) { HTML.code(reverses.id.description) }
                }
            }
        }
    }

    private func user(_ user: UserID) -> HTML {
        var filter = OrderFilter()
        filter.user = user
        return element("a", .href(.orders(filter))) { HTML.untrusted(user.text, limit: 130) }
    }

    private func sums(_ points: [MovedPoints]) -> HTML {
        guard !points.isEmpty else { return HTML("–") }
        return element("ul", .class("plain")) {
            for points in Self.sums(of: points) {
                element("li") {
                    HTML("\(points.amount) ")
                    HTML.untrusted(points.currency, limit: 80)
                    " "
                    HTML.environment(points.environment, localize)
                }
            }
        }
    }

    /// One sum of each kind and environment.
    private static func sums(of points: [MovedPoints]) -> [MovedPoints] {
        StoreEnvironment.allCases.flatMap { environment in
            Dictionary(
                points.filter { $0.environment == environment }.map { ($0.currency, $0.amount) }, uniquingKeysWith: +
            ).sorted { $0.key < $1.key }.map {
                MovedPoints(environment: environment, currency: $0.key, amount: $0.value)
            }
        }
    }

    private var purchases: HTML {
        element("section", .class("card")) {
            element("h2") { localize("Purchases", "购买") }
            element("ul", .class("plain")) {
                for item in detail.items {
                    element("li") {
                        element("a", .href(.transaction(item.rowID))) { HTML.code(item.transactionID.text, limit: 40) }
                        " "
                        HTML.untrusted(catalog.name(of: item.productID, localize), limit: 80)
                        " "
                        HTML.environment(item.environment, localize)
                    }
                }
            }
            if detail.itemCount > Int64(detail.items.count) {
                element("p", .class("hint")) {
                    localize("The newest \(detail.items.count) of them.", "仅列出最近 \(detail.items.count) 笔。")
                }
            }
        }
    }

    @HTMLBuilder private var reversal: HTML {
        switch detail.reversal {
        case .made(let made):
            element("p") {
                localize("It was reversed: ", "已撤销：")
                element("a", .href(.transfer(made.id))) { HTML.code(made.id.description) }
            }
        case .refused(let refused): element("p") { localize(refused.refusal.sentence) }
        case .possible(let grants, let points):
            element("p") {
                localize(
                    "A reversal moves back what is still there, once. Now these are:",
                    "撤销会把仍在转入方的部分退回，且只执行一次。目前为：")
            }
            HTML.facts {
                HTML.fact(localize("Purchases", "购买笔数")) { String(grants) }
                HTML.fact(localize("Points", "点数")) { sums(points) }
            }
            element("p", .class("hint")) {
                localize(
                    "Spent points, purchases that moved on, and what the receiver bought stay where they are.",
                    "已花费的点数、已转往他处的购买，以及转入方自己购买的内容保持不变。")
            }
            form
        }
    }

    @HTMLBuilder private var form: HTML {
        if let token = visit.session.formToken {
            element("form", Attribute("method", "post"), .action(.reversal(transfer.id)), .class("decide")) {
                element("label", Attribute("for", "reason")) {
                    localize("Reason (kept with your name)", "理由（与您的名字一并保存）")
                }
                emptyElement(
                    "input", Attribute("id", "reason"), Attribute("name", "reason"), Attribute("maxlength", "500"),
                    Attribute("autocomplete", "off"), .flag("required"))
                HTML.hidden("form", token)
                element("div", .class("buttons")) {
                    element("button", Attribute("type", "submit"), .class("primary"), Attribute("id", "reverse")) {
                        localize("Reverse this transfer", "撤销此次转移")
                    }
                    element("a", .href(.transfers(of: nil))) { localize("Cancel", "取消") }
                }
            }
        }
    }
}
