import TillBilling
import TillHTTP
import TillLedger
import TillPages

extension Dashboard {
    /// `GET /dashboard/orders/{id}`: every step of one order with its evidence.
    func showOrder(_ visit: DashboardVisit) async throws -> HTTPResponse {
        guard let id = OrderID(visit.parameters["id"]) else { throw RefusalError(.unknownOrder) }
        let (detail, refused) = try await ledger.database.read { connection in
            // Refused proofs can name an order that never existed.
            (try OrderDetail(id, connection), try RefusedProofTable(connection).list(claiming: id, limit: 50))
        }
        guard let detail else {
            return .page(
                404, UnknownOrderPage(visit: visit, id: id, refused: refused).html, in: visit.localize.language)
        }
        let page = OrderPage(visit: visit, catalog: ledger.settings.catalog, detail: detail)
        return .page(200, page.html, in: visit.localize.language)
    }

    /// `GET /dashboard/transactions/{sequence}`: one transaction, with or without an owner.
    func showTransaction(_ visit: DashboardVisit) async throws -> HTTPResponse {
        guard let rowID = Int64(visit.parameters["sequence"]),
            let detail = try await ledger.database.read({ try TransactionDetail(rowID: rowID, $0) })
        else { throw RefusalError(.notFound) }
        let page = TransactionPage(visit: visit, catalog: ledger.settings.catalog, detail: detail)
        return .page(200, page.html, in: visit.localize.language)
    }
}

struct OrderPage {
    let visit: DashboardVisit
    let catalog: Catalog
    let detail: OrderDetail

    private var localize: Localizer { visit.localize }
    private var order: Order { detail.order }
    private var kind: PurchaseKind? { catalog[order.productID]?.purchaseKind }

    var html: HTML {
        PageFrame.page(title: localize("Order", "订单") + " " + order.id.description.prefix(8), visit, in: nil) {
            element("p", .class("up")) { element("a", .href(.home)) { localize("← Orders", "← 订单") } }
            element("div", .class("head")) {
                element("h1") { HTML.untrusted(catalog.name(of: order.productID, localize), limit: 120) }
                HTML.status(order.status, of: kind, localize)
            }
            element("section", .class("card")) { facts }
            element("section", .class("card")) {
                element("h2") { localize("History", "历史记录") }
                OrderTimeline(detail).html(of: kind, localize)
            }
            for transaction in detail.transactions {
                TransactionCard(localize: localize, catalog: catalog, detail: transaction, isOnOrderPage: true).html
            }
            if !detail.furtherTransactions.isEmpty { further }
            if !detail.refused.isEmpty {
                element("section", .class("card")) {
                    element("h2") { localize("Refused proofs that named this order", "提交时指明本订单的被拒凭证") }
                    RefusalTable(localize: localize, entries: detail.refused, showsOrder: false).html
                }
            }
        }
    }

    private var facts: HTML {
        HTML.facts {
            HTML.fact(localize("Order id", "订单号")) { HTML.code(order.id.description) }
            HTML.fact(localize("User", "用户")) {
                element("a", .href(.orders(ofUser))) { HTML.untrusted(order.userID.text) }
            }
            HTML.fact(localize("Product", "商品")) { HTML.code(order.productID.text) }
            HTML.fact(localize("Quantity", "数量")) { String(order.quantity) }
            HTML.fact(localize("List price", "标价")) { order.price.description }
            if let paid = detail.paid { HTML.fact(localize("Paid", "实付")) { paid.description } }
            HTML.fact(localize("Environment", "环境")) { HTML.environment(order.environment, localize) }
            if let transaction = order.transactionID {
                HTML.fact(localize("Transaction", "交易号")) { HTML.code(transaction.text) }
            }
            HTML.fact(localize("Opened (UTC)", "创建时间（UTC）")) { HTML.time(order.createdAt) }
            HTML.fact(localize("Last change (UTC)", "最近变更（UTC）")) { HTML.time(order.updatedAt) }
            if let device = order.deviceID { HTML.fact(localize("Device", "设备")) { HTML.code(device.text) } }
            if let phone = order.phoneID { HTML.fact(localize("Phone", "手机")) { HTML.code(phone.text) } }
            if let metadata = order.metadata { HTML.fact(localize("Metadata", "附加数据")) { HTML.code(metadata) } }
        }
    }

    private var ofUser: OrderFilter {
        var filter = OrderFilter()
        filter.user = order.userID
        return filter
    }

    private var further: HTML {
        element("section", .class("card")) {
            element("h2") { localize("Further transactions", "其他交易") }
            element("ul", .class("plain")) {
                for transaction in detail.furtherTransactions {
                    element("li") {
                        element("a", .href(.transaction(transaction.rowID))) { HTML.code(transaction.id.text) }
                        " "
                        HTML.state(transaction.state, localize)
                        " "
                        HTML.time(transaction.purchasedAt)
                    }
                }
            }
        }
    }
}

/// The page for an unknown order. It lists the refused proofs that named its id.
struct UnknownOrderPage {
    let visit: DashboardVisit
    let id: OrderID
    let refused: [RefusedProofTable.Entry]

    var html: HTML {
        let localize = visit.localize
        return PageFrame.page(title: localize("No such order", "没有这个订单"), visit, in: nil) {
            element("p", .class("up")) { element("a", .href(.home)) { localize("← Orders", "← 订单") } }
            element("h1") { localize(Refusal.unknownOrder.sentence) }
            element("p") { HTML.code(id.description) }
            if !refused.isEmpty {
                element("section", .class("card")) {
                    element("h2") { localize("Refused proofs that named this order", "提交时指明本订单的被拒凭证") }
                    RefusalTable(localize: localize, entries: refused, showsOrder: false).html
                }
            }
        }
    }
}

struct TransactionPage {
    let visit: DashboardVisit
    let catalog: Catalog
    let detail: TransactionDetail

    var html: HTML {
        let localize = visit.localize
        return PageFrame.page(title: localize("Transaction", "交易"), visit, in: nil) {
            element("p", .class("up")) {
                element("a", .href(.home)) { localize("← Orders", "← 订单") }
                " · "
                element("a", .href(.quarantine)) { PageFrame.Section.quarantine.title(localize) }
            }
            element("h1") { localize("Transaction", "交易") }
            if detail.transaction.state == .quarantined, let token = visit.session.formToken {
                ClaimForm(localize: localize, rowID: detail.transaction.rowID, token: token).html
            }
            TransactionCard(localize: localize, catalog: catalog, detail: detail, isOnOrderPage: false).html
        }
    }
}
