import TillBilling
import TillHTTP
import TillLedger
import TillPages
import TillSQL

extension Dashboard {
    /// `GET /dashboard?status=&user=&q=&cursor=`: the orders, newest first.
    func listOrders(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let page = try await orderList(visit)
        return .page(200, page.html, in: visit.localize.language)
    }

    /// `GET /dashboard/live`: only the table of orders, for the script.
    func refreshOrders(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let page = try await orderList(visit)
        return .fragment(page.results, in: visit.localize.language)
    }

    private func orderList(_ visit: DashboardVisit) async throws -> OrderListPage {
        let filter = try OrderFilter(visit.request)
        let cursor = visit.cursor
        let found = try await ledger.database.read { try OrderListing(filter, before: cursor, $0) }
        return OrderListPage(
            visit: visit, catalog: ledger.settings.catalog, filter: filter, cursor: cursor, found: found)
    }
}

/// The filter of the list of orders, as the page's address states it.
struct OrderFilter: Sendable, Hashable {
    var status: OrderStatus?
    var user: UserID?
    /// An order id, or a transaction id of either environment. With it, the other fields are ignored.
    var search: String?

    /// Ignores empty fields of the form, and an unknown status.
    init(_ request: HTTPRequest) throws {
        status = request.queryValue("status").flatMap { OrderStatus(name: $0) }
        user = try Self.field("user", of: request).map(InputLimits.user)
        search = try Self.field("q", of: request)
    }

    init() {}

    var isEmpty: Bool { status == nil && user == nil && search == nil }

    var query: [(name: StaticString, value: String)] {
        var items: [(name: StaticString, value: String)] = []
        if let status { items.append(("status", status.name)) }
        if let user { items.append(("user", user.text)) }
        if let search { items.append(("q", search)) }
        return items
    }

    private static func field(_ name: StaticString, of request: HTTPRequest) throws -> String? {
        let text = (request.queryValue("\(name)") ?? "").drop { $0 == " " }
        let trimmed = String(text.reversed().drop { $0 == " " }.reversed())
        return trimmed.isEmpty ? nil : try InputLimits.string(trimmed, "\(name)", 128)
    }
}

/// One page of the orders that match a filter.
struct OrderListing: Sendable {
    var orders: [OrderTable.Stored] = []
    /// What Apple charged, by order; without those that are not paid, or for which Apple stated no price.
    private(set) var paid: [OrderID: Money] = [:]
    /// The position of older orders; nil if there are none.
    var next: Int64?
    /// Transactions that match the search and belong to no order.
    var unmatched: [TransactionTable.Stored] = []

    init(_ filter: OrderFilter, before cursor: Int64?, _ connection: any Connection) throws {
        if let search = filter.search {
            try find(search, connection)
        } else {
            let size = Dashboard.pageSize
            let found = try OrderTable(connection).list(
                user: filter.user, status: filter.status, before: cursor ?? .max, limit: size + 1)
            orders = Array(found.prefix(size))
            next = found.count > size ? orders.last?.rowID : nil
        }
        for stored in orders { paid[stored.order.id] = try TransactionTable(connection).price(of: stored.order) }
    }

    private mutating func find(_ search: String, _ connection: any Connection) throws {
        if let id = OrderID(search) {
            orders = try OrderTable(connection).find(id).map { [$0] } ?? []
            return
        }
        for environment in StoreEnvironment.allCases {
            guard let transaction = try TransactionTable(connection).find(TransactionID(search), in: environment) else {
                continue
            }
            if let rowID = transaction.orderRowID, let order = try OrderTable(connection).find(rowID: rowID) {
                orders.append(order)
            } else {
                unmatched.append(transaction)
            }
        }
    }
}

struct OrderListPage {
    let visit: DashboardVisit
    let catalog: Catalog
    let filter: OrderFilter
    let cursor: Int64?
    let found: OrderListing

    private var localize: Localizer { visit.localize }

    var html: HTML {
        PageFrame.page(title: localize("Orders", "订单"), visit, in: .orders, script: cursor == nil) {
            element("div", .class("head")) {
                element("h1") { localize("Orders", "订单") }
                if cursor == nil { HTML.live(source: .live, localize) }
            }
            form
            if let user = filter.user {
                element("p") {
                    element("a", Attribute("id", "customer"), .href(.customer(user))) {
                        localize("This customer: export, erase", "该客户：导出、抹除")
                    }
                }
            }
            element("div", Attribute("id", "results")) { results }
        }
    }

    /// The part of the page that the script replaces every two seconds.
    var results: HTML {
        element("div") {
            if found.orders.isEmpty && found.unmatched.isEmpty { HTML.emptyState(nothing) }
            if !found.orders.isEmpty { table }
            if !found.unmatched.isEmpty { unmatched }
            HTML.pager(
                newest: cursor == nil ? nil : .orders(filter), older: found.next.map { .orders(filter, before: $0) },
                localize)
        }
    }

    private var form: HTML {
        element("form", Attribute("method", "get"), .action(.home), .class("filters"), Attribute("role", "search")) {
            element("div") {
                element("label", Attribute("for", "status")) { localize("Status", "状态") }
                element("select", Attribute("id", "status"), Attribute("name", "status")) {
                    HTML.option("", localize("All", "全部"), isChosen: filter.status == nil)
                    for status in OrderStatus.allCases {
                        HTML.option(status.name, localize(status.title(of: nil)), isChosen: filter.status == status)
                    }
                }
            }
            field("user", localize("User id", "用户 ID"), filter.user?.text, hint: "")
            field("q", localize("Order or transaction id", "订单号或交易号"), filter.search, hint: "3f2c… / 2000…")
            element("div", .class("buttons")) {
                element("button", Attribute("type", "submit"), .class("primary")) { localize("Show", "查询") }
                if !filter.isEmpty { element("a", .href(.home)) { localize("Clear", "清除") } }
            }
        }
    }

    private func field(_ name: StaticString, _ title: String, _ value: String?, hint: String) -> HTML {
        element("div") {
            element("label", Attribute("for", name)) { title }
            emptyElement(
                "input", Attribute("id", name), Attribute("name", name), Attribute("type", "search"),
                .value(value ?? ""), .placeholder(hint), Attribute("maxlength", "128"),
                Attribute("autocomplete", "off"),
                Attribute("autocapitalize", "none"), Attribute("spellcheck", "false"))
        }
    }

    private var nothing: String {
        filter.isEmpty && cursor == nil
            ? localize("No orders yet. The first one appears here automatically.", "还没有订单。第一笔订单会自动出现在这里。")
            : localize("No order matches.", "没有符合条件的订单。")
    }

    private var table: HTML {
        HTML.table(
            "orders", label: localize("Orders, newest first", "订单，最新的在前"),
            columns: [
                localize("Order", "订单"), localize("Status", "状态"), localize("User", "用户"),
                localize("Paid or list price", "实付或标价"),
                localize("Environment", "环境"), localize("Opened (UTC)", "创建时间（UTC）"),
            ]
        ) {
            for stored in found.orders { row(stored.order) }
        }
    }

    private func row(_ order: Order) -> HTML {
        element("tr", Attribute("role", "row"), .id("row", order.id)) {
            HTML.cell("product") {
                element("a", .id("order", order.id), .href(.order(order.id))) {
                    HTML.untrusted(catalog.name(of: order.productID, localize), limit: 80)
                }
                if order.quantity > 1 { "\u{A0}×\u{A0}\(order.quantity)" }
                element("code", .class("short")) { String(order.id.description.prefix(8)) }
            }
            HTML.cell("status") { HTML.status(order.status, of: catalog[order.productID]?.purchaseKind, localize) }
            HTML.cell("user") { HTML.untrusted(order.userID.text, limit: 48) }
            HTML.cell("amount") { (found.paid[order.id] ?? order.price).description }
            HTML.cell("environment") { HTML.environment(order.environment, localize) }
            HTML.cell("time") { HTML.time(order.createdAt) }
        }
    }

    private var unmatched: HTML {
        element("p") {
            localize("The transaction with this id belongs to no order: ", "该交易号的交易不属于任何订单：")
            for transaction in found.unmatched {
                element("a", .href(.transaction(transaction.rowID))) { HTML.code(transaction.id.text) }
                " "
                HTML.environment(transaction.environment, localize)
                " "
            }
        }
    }
}

extension Catalog {
    /// The name of a product; its id if the catalog no longer lists it.
    func name(of id: ProductID, _ localize: Localizer) -> String {
        self[id].map { $0.names[localize.language] } ?? id.text
    }
}
