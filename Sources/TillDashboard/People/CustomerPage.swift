import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillPages

extension Dashboard {
    /// `GET /dashboard/customer?user=`: what is known about a customer, the export, and the form that erases them.
    func showCustomer(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let detail = try await customer(visit, try InputLimits.user(visit.request.queryValue("user") ?? ""))
        let page = CustomerPage(
            visit: visit, catalog: ledger.settings.catalog, detail: detail,
            canErase: ledger.settings.erasure != nil)
        return .page(200, page.html, in: visit.localize.language)
    }

    private func customer(_ visit: DashboardVisit, _ user: UserID) async throws -> CustomerDetail {
        let (environment, catalogs, now) = (ledger.settings.usualEnvironment, ledger.catalogs, ledger.clock())
        let found = try await ledger.database.read {
            try CustomerDetail(user, in: environment, at: now, catalogs: catalogs, $0)
        }
        guard let found else { throw RefusalError(.unknownUser) }
        return found
    }

    /// The largest export that a page gives: it is held in memory.
    static let exportLimit = 8 << 20

    /// `POST /dashboard/customer/export`: the export as a file. A form, so that another site can't start it.
    func exportCustomer(_ visit: DashboardVisit) async throws -> HTTPResponse {
        guard let form = try visit.ownForm() else { return .redirect(to: .login) }
        let user = try InputLimits.user(form["user"] ?? "")
        let export = CustomerExport(of: user, in: ledger.database)
        var lists: [String: [JSONValue]] = [:]
        var (next, size): (Int64?, Int) = (nil, 0)
        repeat {
            let page = try await export.page(after: next, limit: 200)
            for entry in page.items {
                lists[entry.list, default: []].append(entry.item)
                size += entry.item.encoded().utf8.count
            }
            guard size <= Self.exportLimit else {
                throw RefusalError(
                    .payloadTooLarge,
                    "this customer has too much data for a page; run `till export --user` on the server",
                    zh: "该客户的数据过多，页面无法导出；请在服务器上运行 `till export --user`")
            }
            next = page.next
        } while next != nil
        ledger.log.write(.customerExported, ["userId": .text(user.text), "caller": .text(visit.actor)])
        return .download(document(of: user, lists, visit), named: "till-export.json")
    }

    private func document(
        of user: UserID, _ lists: [String: [JSONValue]], _ visit: DashboardVisit
    ) -> JSONValue {
        var members = lists.mapValues { JSONValue.array($0) }
        for list in CustomerExport.lists where members[list] == nil { members[list] = [] }
        members["format"] = .int(CustomerExport.format)
        members["exportedAt"] = .string(visit.now.rfc3339)
        members["userId"] = .string(user.text)
        members["notIncluded"] = .array(
            CustomerExport.omissions.map {
                ["what": .string($0.what), "why": .string(visit.localize($0.why))]
            })
        return .object(members)
    }

    /// `POST /dashboard/customer/erasure`: erases a customer whose user id the operator typed again.
    func eraseCustomer(_ visit: DashboardVisit) async throws -> HTTPResponse {
        guard let form = try visit.ownForm() else { return .redirect(to: .login) }
        let user = try InputLimits.user(form["user"] ?? "")
        guard let typed = form["typed"], typed.hasSameBytes(as: user.text) else {
            throw RefusalError(
                .erasureUnconfirmed, "type the user id exactly as the page shows it", zh: "请原样输入页面所示的用户 ID")
        }
        guard let forfeit = ErasureLoss.points(form["forfeit"] ?? "") else {
            throw RefusalError(.invalidField, verbatim: "forfeit")
        }
        let done = try await ledger.erase(
            ErasureRequest(
                user: user, forfeit: forfeit, endsAccess: form["endsAccess"] == "yes", actor: visit.actor))
        return .redirect(to: .customer(done.erasure.pseudonym))
    }
}

extension HTTPResponse {
    fileprivate static func download(_ document: JSONValue, named name: StaticString) -> HTTPResponse {
        var headers = HTTPHeaders(PageProtection.headers)
        headers.add("Content-Type", "application/json")
        headers.add("Content-Disposition", "attachment; filename=\"\(name)\"")
        headers.add("Cache-Control", "no-store")
        return HTTPResponse(status: 200, headers: headers, body: Array(document.encoded(pretty: true).utf8))
    }
}

struct CustomerPage {
    let visit: DashboardVisit
    let catalog: Catalog
    let detail: CustomerDetail
    /// Whether the server has a key for erasures.
    let canErase: Bool

    private var localize: Localizer { visit.localize }
    private var title: String { localize("Customer", "客户") }

    var html: HTML {
        PageFrame.page(title: title, visit, in: .orders) {
            element("p", .class("up")) {
                element("a", .href(.home)) { "← " + PageFrame.Section.orders.title(localize) }
            }
            element("h1") { title }
            element("section", .class("card")) {
                facts
                element("p") {
                    element("a", .href(.orders(filter))) { localize("Orders", "订单") }
                    " · "
                    element("a", .href(.transfers(of: detail.user))) { localize("Transfers", "转移") }
                }
            }
            if detail.erasure == nil, detail.account == nil {
                element("section", .class("card")) {
                    element("h2") { localize("Export", "导出") }
                    export
                }
                element("section", .class("card")) {
                    element("h2") { localize("Erase", "抹除") }
                    erasure
                }
            }
        }
    }

    private var filter: OrderFilter {
        var filter = OrderFilter()
        filter.user = detail.user
        return filter
    }

    private var facts: HTML {
        HTML.facts {
            HTML.fact(localize("User id", "用户 ID")) { HTML.code(detail.user.text, limit: 130) }
            if let erasure = detail.erasure {
                HTML.fact(localize("Erased (UTC)", "抹除时间（UTC）")) { HTML.time(erasure.at) }
                HTML.fact(localize("Erased by", "抹除方")) { HTML.code(erasure.caller, limit: 160) }
            }
            if let account = detail.account {
                HTML.fact(localize("Merged into", "已并入")) {
                    element("a", .href(.customer(account))) { HTML.untrusted(account.text, limit: 130) }
                }
            }
            if !detail.guests.isEmpty {
                HTML.fact(localize("Guests merged into it", "并入的游客")) { String(detail.guests.count) }
            }
            HTML.fact(localize("Points", "点数")) {
                if detail.loss.points.isEmpty { "–" }
                for (currency, amount) in detail.loss.points.sorted(by: { $0.key < $1.key }) {
                    HTML("\(amount) ")
                    HTML.untrusted(currency, limit: 80)
                    " "
                }
            }
            HTML.fact(localize("Running subscriptions", "仍在继续的订阅")) {
                if detail.loss.subscriptions.isEmpty { "–" }
                for product in detail.loss.subscriptions.prefix(20) {
                    HTML.untrusted(catalog.name(of: product, localize), limit: 80)
                    " "
                }
            }
        }
    }

    @HTMLBuilder private var export: HTML {
        element("p") {
            localize(
                "Everything that the ledger holds about this person, as a JSON file. The export is a line of the log.",
                "账本中关于此人的全部数据，保存为 JSON 文件。导出会记入日志。")
        }
        if let token = visit.session.formToken {
            element("form", Attribute("method", "post"), .action(.customerExport), .class("decide")) {
                HTML.hidden("form", token)
                HTML.hidden("user", detail.user.text)
                element("div", .class("buttons")) {
                    element("button", Attribute("type", "submit"), Attribute("id", "export")) {
                        localize("Export as a file", "导出为文件")
                    }
                }
            }
        }
    }

    @HTMLBuilder private var erasure: HTML {
        element("p") {
            localize(
                "Takes the person out of the ledger for good. Money, grants and evidence stay under a pseudonym. First "
                    + "delete the user in your backend.",
                "把此人从账本中永久抹除。款项、发放与依据以化名保留。请先在后端删除该用户。")
        }
        if !canErase {
            element("p", .class("error"), Attribute("role", "alert")) { localize(Refusal.noErasureKey.sentence) }
        } else if let token = visit.session.formToken {
            form(token)
        }
    }

    private func form(_ token: String) -> HTML {
        element("form", Attribute("method", "post"), .action(.customerErasure), .class("decide")) {
            HTML.hidden("form", token)
            HTML.hidden("user", detail.user.text)
            HTML.hidden("forfeit", detail.loss.text)
            if !detail.loss.points.isEmpty {
                element("p", .class("error"), Attribute("role", "alert")) {
                    localize("The person loses these points: ", "此人将失去这些点数：")
                    HTML.untrusted(detail.loss.text, limit: 200)
                }
            }
            if !detail.loss.subscriptions.isEmpty {
                element("label", Attribute("for", "endsAccess")) {
                    emptyElement(
                        "input", Attribute("type", "checkbox"), Attribute("id", "endsAccess"),
                        Attribute("name", "endsAccess"), .value("yes"), .flag("required"))
                    localize(
                        " The person knows that only they can cancel the subscription, "
                            + "and that Apple charges until then.",
                        " 本人已知晓：订阅只能由本人取消，取消之前 Apple 会继续扣款。")
                }
            }
            element("label", Attribute("for", "typed")) {
                localize("Type the user id to confirm", "请输入用户 ID 以确认")
            }
            emptyElement(
                "input", Attribute("id", "typed"), Attribute("name", "typed"), Attribute("maxlength", "128"),
                Attribute("autocomplete", "off"), .flag("required"))
            element("div", .class("buttons")) {
                element("button", Attribute("type", "submit"), .class("primary"), Attribute("id", "erase")) {
                    localize("Erase this customer", "抹除此客户")
                }
                element("a", .href(.home)) { localize("Cancel", "取消") }
            }
        }
    }
}
