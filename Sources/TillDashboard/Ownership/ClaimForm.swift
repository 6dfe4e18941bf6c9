import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillPages
import TillSQL

extension Dashboard {
    /// `POST /dashboard/quarantine/{sequence}/claims`: an operator decides the owner of a purchase in quarantine and
    /// gives a reason. The first form is answered with a page that shows what it would do; the form of that page does
    /// it.
    func claim(_ visit: DashboardVisit) async throws -> HTTPResponse {
        guard let form = try visit.ownForm() else { return .redirect(to: .login) }
        guard let rowID = Int64(visit.parameters["sequence"]) else { throw RefusalError(.unknownTransaction) }
        if let text = form["decision"] {
            guard let decision = ClaimDecision(text) else { throw RefusalError(.invalidField, verbatim: "decision") }
            let claim = OperatorClaim(
                user: try InputLimits.user(decision.user), reason: try DecisionReason.read(decision.reason),
                operatorName: visit.session.operatorID, actor: visit.actor)
            _ = try await ledger.decide(rowID, claim, onlyInQuarantine: true)
            return .redirect(to: .transaction(rowID))
        }
        let (user, reason) = (try InputLimits.user(form["user"] ?? ""), try DecisionReason.read(form["reason"]))
        try await ledger.requireKnownForm(of: user, "userId")
        let terms = ledger.settings.guests
        let (transaction, customer) = try await ledger.database.read { connection in
            (
                try TransactionTable(connection).find(rowID: rowID),
                try ClaimingCustomer(user, under: terms, connection)
            )
        }
        guard let transaction else { throw RefusalError(.unknownTransaction) }
        guard transaction.state == .quarantined else { throw RefusalError(.notInQuarantine) }
        let page = ClaimPage(
            visit: visit, catalog: ledger.settings.catalog, transaction: transaction, customer: customer,
            reason: reason)
        return .page(200, page.html, in: visit.localize.language)
    }
}

/// The user and the reason in one hidden field. The page shows some characters by their code points, so the field has
/// them in base64: the form sends exactly what the operator entered.
struct ClaimDecision {
    let user: String
    let reason: String

    init(user: UserID, reason: String) {
        self.user = user.text
        self.reason = reason
    }

    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            .map { Base64.decode($0, .url).flatMap { String(validating: $0, as: UTF8.self) } }
        guard parts.count == 2, let user = parts[0], let reason = parts[1] else { return nil }
        (self.user, self.reason) = (user, reason)
    }

    var text: String { "\(Base64.encode(user.utf8, .url)).\(Base64.encode(reason.utf8, .url))" }
}

/// What the ledger knows of the user whom an operator names.
struct ClaimingCustomer: Sendable {
    let user: UserID
    let isKnown: Bool
    /// The account that the user, a guest, was merged into.
    let account: UserID?
    let orders: Int

    static let orderLimit = 50

    init(_ user: UserID, under terms: GuestTerms, _ connection: any Connection) throws {
        let customers = CustomerTable(connection)
        self.user = user
        isKnown = try customers.kind(of: user, under: terms) != nil
        account = try customers.account(of: user)
        orders = try OrderTable(connection).list(
            user: user, status: nil, before: .max, limit: Self.orderLimit + 1
        ).count
    }
}

/// What a claim would do, and the form that does it.
struct ClaimPage {
    let visit: DashboardVisit
    let catalog: Catalog
    let transaction: TransactionTable.Stored
    let customer: ClaimingCustomer
    let reason: String

    private var localize: Localizer { visit.localize }

    var html: HTML {
        PageFrame.page(title: localize("Grant this purchase?", "确认发放？"), visit, in: .quarantine) {
            element("p", .class("up")) {
                element("a", .href(.quarantine)) { "← " + PageFrame.Section.quarantine.title(localize) }
            }
            element("h1") { localize("Grant this purchase?", "确认发放？") }
            element("section", .class("card")) {
                HTML.facts {
                    HTML.fact(localize("Transaction", "交易号")) {
                        element("a", .href(.transaction(transaction.rowID))) { HTML.code(transaction.id.text) }
                    }
                    HTML.fact(localize("Product", "商品")) {
                        HTML.untrusted(catalog.name(of: transaction.productID, localize), limit: 120)
                        if transaction.quantity > 1 { "\u{A0}×\u{A0}\(transaction.quantity)" }
                    }
                    HTML.fact(localize("Paid", "实付")) { transaction.price?.description ?? "–" }
                    HTML.fact(localize("Environment", "环境")) { HTML.environment(transaction.environment, localize) }
                    HTML.fact(localize("Why it waits", "待认领的原因")) {
                        Evidence.ground(transaction.quarantine?.rawValue ?? "–", localize)
                    }
                    HTML.fact(localize("Grant to", "发放给")) { HTML.code(customer.user.text, limit: 130) }
                    HTML.fact(localize("Reason", "理由")) { HTML.untrusted(reason) }
                }
                known
                confirmation
            }
        }
    }

    @HTMLBuilder private var known: HTML {
        if let account = customer.account {
            element("p", .class("hint")) {
                localize("This guest was merged into an account, which gets the purchase: ", "该游客已并入账号，购买将归该账号：")
                HTML.code(account.text, limit: 130)
            }
        } else if customer.isKnown {
            element("p", .class("hint")) {
                if customer.orders > ClaimingCustomer.orderLimit {
                    localize("The user has more than \(ClaimingCustomer.orderLimit) orders.", "该用户有 50 笔以上订单。")
                } else {
                    localize("Orders of this user: \(customer.orders).", "该用户的订单数：\(customer.orders)。")
                }
            }
        } else {
            element("p", .class("error"), Attribute("role", "alert")) {
                localize(
                    "The ledger has no user with this id. Check the spelling before you grant the purchase.",
                    "账本中没有此 ID 的用户。发放之前请核对拼写。")
            }
        }
    }

    @HTMLBuilder private var confirmation: HTML {
        if let token = visit.session.formToken {
            element("form", Attribute("method", "post"), .action(.claims(transaction.rowID)), .class("decide")) {
                HTML.hidden("form", token)
                HTML.hidden("decision", ClaimDecision(user: customer.user, reason: reason).text)
                element("div", .class("buttons")) {
                    element("button", Attribute("type", "submit"), .class("primary"), Attribute("id", "confirm")) {
                        localize("Grant", "发放")
                    }
                    element("a", .href(.quarantine)) { localize("Cancel", "取消") }
                }
            }
        }
    }
}

/// The form that names the owner of a purchase in quarantine. It stands folded in the purchase's row, and on the
/// transaction's page.
struct ClaimForm {
    let localize: Localizer
    let rowID: Int64
    let token: String

    var html: HTML {
        element("details") {
            element("summary") { localize("Grant to…", "发放给…") }
            element("form", Attribute("method", "post"), .action(.claims(rowID)), .class("claim")) {
                element("label", .reference("for", "user", rowID)) { localize("User id", "用户 ID") }
                emptyElement(
                    "input", .id("user", rowID), Attribute("name", "user"), Attribute("maxlength", "128"),
                    Attribute("autocomplete", "off"), .flag("required"))
                element("label", .reference("for", "reason", rowID)) { localize("Reason", "理由") }
                emptyElement(
                    "input", .id("reason", rowID), Attribute("name", "reason"), Attribute("maxlength", "500"),
                    Attribute("autocomplete", "off"), .flag("required"))
                HTML.hidden("form", token)
                element("button", Attribute("type", "submit"), .class("primary")) { localize("Continue", "下一步") }
            }
        }
    }
}
