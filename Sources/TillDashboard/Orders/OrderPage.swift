import TillBilling
import TillHTTP
import TillLedger
import TillPages

extension Dashboard {
    /// `GET /dashboard/orders/{id}`: every step of one order with its evidence.
    func showOrder(_ visit: DashboardVisit) async throws -> HTTPResponse {
        guard let id = OrderID(visit.parameters["id"]) else { throw Refused(.unknownOrder) }
        let (detail, refused) = try await ledger.database.read { session in
            // Refused proofs can name an order that never existed.
            (try OrderDetail(id, session), try RefusedProofTable(session).list(claiming: id, limit: 50))
        }
        guard let detail else {
            return .page(404, UnknownOrderPage(visit: visit, id: id, refused: refused).html, in: visit.say.language)
        }
        let page = OrderPage(visit: visit, catalog: ledger.settings.catalog, detail: detail)
        return .page(200, page.html, in: visit.say.language)
    }

    /// `GET /dashboard/transactions/{sequence}`: one transaction, with or without an owner.
    func showTransaction(_ visit: DashboardVisit) async throws -> HTTPResponse {
        guard let sequence = Int64(visit.parameters["sequence"]),
            let detail = try await ledger.database.read({ try TransactionDetail(sequence: sequence, $0) })
        else { throw Refused(.notFound) }
        let page = TransactionPage(visit: visit, catalog: ledger.settings.catalog, detail: detail)
        return .page(200, page.html, in: visit.say.language)
    }
}

struct OrderPage {
    let visit: DashboardVisit
    let catalog: Catalog
    let detail: OrderDetail

    private var say: Reader { visit.say }
    private var order: Order { detail.order }

    var html: HTML {
        PageFrame.page(title: say("Order", "订单") + " " + order.id.description.prefix(8), visit, in: nil) {
            element("p", .class("up")) { element("a", .href(.home)) { say("← Orders", "← 订单") } }
            element("div", .class("head")) {
                element("h1") { HTML.outside(catalog.name(of: order.productID, say), limit: 120) }
                HTML.status(order.status, say)
            }
            element("section", .class("card")) { facts }
            element("section", .class("card")) {
                element("h2") { say("History", "历史记录") }
                OrderTimeline(detail).html(say)
            }
            for transaction in detail.transactions {
                TransactionCard(say: say, catalog: catalog, detail: transaction, isOnOrderPage: true).html
            }
            if !detail.furtherTransactions.isEmpty { further }
            if !detail.refused.isEmpty {
                element("section", .class("card")) {
                    element("h2") { say("Refused proofs that named this order", "提交时指明本订单的被拒凭证") }
                    RefusalTable(say: say, entries: detail.refused, showsOrder: false).html
                }
            }
        }
    }

    private var facts: HTML {
        HTML.facts {
            HTML.fact(say("Order id", "订单号")) { HTML.code(order.id.description) }
            HTML.fact(say("User", "用户")) {
                element("a", .href(.orders(ofUser))) { HTML.outside(order.userID.text) }
            }
            HTML.fact(say("Product", "商品")) { HTML.code(order.productID.text) }
            HTML.fact(say("Quantity", "数量")) { String(order.quantity) }
            HTML.fact(say("List price", "标价")) { order.price.description }
            HTML.fact(say("Environment", "环境")) { HTML.environment(order.environment, say) }
            if let transaction = order.transactionID {
                HTML.fact(say("Transaction", "交易号")) { HTML.code(transaction.text) }
            }
            HTML.fact(say("Opened (UTC)", "创建时间（UTC）")) { HTML.time(order.createdAt) }
            HTML.fact(say("Last change (UTC)", "最近变更（UTC）")) { HTML.time(order.updatedAt) }
            if let device = order.deviceID { HTML.fact(say("Device", "设备")) { HTML.code(device.text) } }
            if let metadata = order.metadata { HTML.fact(say("Metadata", "附加数据")) { HTML.code(metadata) } }
        }
    }

    private var ofUser: OrderFilter {
        var filter = OrderFilter()
        filter.user = order.userID
        return filter
    }

    private var further: HTML {
        element("section", .class("card")) {
            element("h2") { say("Further transactions", "其他交易") }
            element("ul", .class("plain")) {
                for transaction in detail.furtherTransactions {
                    element("li") {
                        element("a", .href(.transaction(transaction.sequence))) { HTML.code(transaction.id.text) }
                        " "
                        HTML.state(transaction.state, say)
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
        let say = visit.say
        return PageFrame.page(title: say("No such order", "没有这个订单"), visit, in: nil) {
            element("p", .class("up")) { element("a", .href(.home)) { say("← Orders", "← 订单") } }
            element("h1") { say(Refusal.unknownOrder.sentence) }
            element("p") { HTML.code(id.description) }
            if !refused.isEmpty {
                element("section", .class("card")) {
                    element("h2") { say("Refused proofs that named this order", "提交时指明本订单的被拒凭证") }
                    RefusalTable(say: say, entries: refused, showsOrder: false).html
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
        let say = visit.say
        return PageFrame.page(title: say("Transaction", "交易"), visit, in: nil) {
            element("p", .class("up")) {
                element("a", .href(.home)) { say("← Orders", "← 订单") }
                " · "
                element("a", .href(.quarantine)) { PageFrame.Room.quarantine.title(say) }
            }
            element("h1") { say("Transaction", "交易") }
            TransactionCard(say: say, catalog: catalog, detail: detail, isOnOrderPage: false).html
        }
    }
}
