import TillBilling
import TillPages

/// The parts of the page's forms. Each form names its action and the page it returns to.
extension HTML {
    static func form(
        _ action: PageAction, _ name: StaticString, to page: PageLink, @HTMLBuilder fields: () -> HTML
    ) -> HTML {
        element("form", Attribute("method", "post"), .action(.action(action)), .class(name)) {
            HTML.hidden("to", page.text)
            fields()
        }
    }

    /// A form that is one button.
    /// - Parameter fields: its fields in addition to the id.
    static func button(
        _ action: PageAction, _ title: String, _ subject: String, id: String, to page: PageLink,
        fields: [(name: StaticString, value: String)] = []
    ) -> HTML {
        let name = ([action.rawValue] + fields.map { "\($0.name)-\($0.value)" } + [id]).joined(separator: "-")
        return form(action, "one", to: page) {
            HTML.hidden("id", id)
            for field in fields { HTML.hidden(field.name, field.value) }
            element(
                "button", Attribute("type", "submit"), .class("quiet"), .label("\(title) \(subject)"),
                .data("data-action", action.rawValue), .data("id", name)
            ) { title }
        }
    }

    /// A labelled selection. `name` is its id too.
    static func choice(
        _ name: StaticString, _ title: String, _ options: [(value: String, title: String)], chosen: String?
    ) -> HTML {
        element("div") {
            element("label", Attribute("for", name)) { title }
            element("select", Attribute("id", name), Attribute("name", name)) {
                for option in options {
                    HTML.option(option.value, option.title, isChosen: option.value == chosen)
                }
            }
        }
    }

    /// A labelled field. `name` is its id too.
    static func field(
        _ name: StaticString, _ title: String, _ value: String, _ more: Attribute..., hint: String = ""
    ) -> HTML {
        element("div") {
            element("label", Attribute("for", name)) { title }
            emptyElement(
                "input",
                [
                    Attribute("id", name), Attribute("name", name), .value(value), .placeholder(hint),
                    Attribute("autocomplete", "off"), Attribute("autocapitalize", "none"),
                    Attribute("spellcheck", "false"),
                ] + more)
        }
    }
}

/// The actions available for one transaction or one subscription.
struct ActionButtons {
    let visit: PageVisit

    private var localize: Localizer { visit.localize }

    func html(_ transaction: StoreTransaction) -> HTML {
        buttons(actions(for: transaction), number: transaction.number, subject: transaction.id.text)
    }

    func html(_ subscription: StoreSubscription) -> HTML {
        buttons(
            actions(for: subscription), number: subscription.original, subject: subscription.productID.text)
    }

    private func actions(for transaction: StoreTransaction) -> [PageAction] {
        switch transaction.state {
        case .deferred: [.approve, .decline]
        case .interrupted: [.approve]
        case .declined: []
        case .purchased: (transaction.isFinished ? [] : [.finish]) + refunds(of: transaction)
        }
    }

    /// Copies of family members can't be refunded.
    private func refunds(of transaction: StoreTransaction) -> [PageAction] {
        guard transaction.sharedFrom == nil else { return [] }
        return transaction.revocation == nil ? [.refund, .consumptionRequest] : [.refundReversal]
    }

    private func actions(for subscription: StoreSubscription) -> [PageAction] {
        guard subscription.sharedFrom == nil else { return [] }
        switch subscription.state {
        case .active:
            return [subscription.renews ? .cancel : .resume, subscription.billingFails ? .recover : .billingFailure]
        case .gracePeriod, .billingRetry: return (subscription.renews ? [.cancel] : []) + [.recover]
        case .expired, .revoked: return []
        }
    }

    private func buttons(_ actions: [PageAction], number: Int64, subject: String) -> HTML {
        let served = actions.filter(visit.serves)
        guard !served.isEmpty else { return .empty }
        return element("div", .class("actions")) {
            for action in served {
                HTML.button(action, title(action), subject, id: String(number), to: visit.here)
            }
        }
    }

    private func title(_ action: PageAction) -> String {
        switch action {
        case .finish: localize("Finish", "完成（finish）")
        case .approve: localize("Approve", "批准")
        case .decline: localize("Decline", "拒绝")
        case .refund: localize("Refund", "退款")
        case .cancel: localize("Cancel renewal", "取消续订")
        case .resume: localize("Resume renewal", "恢复续订")
        case .billingFailure: localize("Make billing fail", "让扣款失败")
        case .recover: localize("Make billing recover", "让扣款恢复")
        case .refundReversal: localize("Reverse refund", "撤销退款")
        case .consumptionRequest: localize("Request refund", "申请退款")
        case .buy, .upgrade, .consent, .account, .advance, .clock, .grace, .notify, .createProduct, .editProduct,
            .submitProduct, .startReview, .approveProduct, .rejectProduct, .requestChanges, .removeFromSale,
            .returnToSale:
            action.rawValue
        }
    }
}

/// The payment sheet as a form.
struct BuyCard {
    let visit: PageVisit
    let bundleID: String
    let account: String
    /// The first products of the catalogue, and the chosen one.
    let products: [StoreProduct]
    let chosen: String?

    static let productLimit = 100

    private var localize: Localizer { visit.localize }

    var html: HTML {
        element("section", .class("card"), Attribute("aria-labelledby", "buy-title")) {
            element("h2", Attribute("id", "buy-title")) { localize("Buy", "购买") }
            HTML.form(.buy, "grid", to: visit.here) {
                element("div", .class("wide")) {
                    element("label", Attribute("for", "productId")) { localize("Product", "商品") }
                    element("select", Attribute("id", "productId"), Attribute("name", "productId")) {
                        for product in products {
                            HTML.option(
                                product.id.text, "\(product.name) (\(product.id.text))",
                                isChosen: product.id.text == chosen)
                        }
                    }
                }
                HTML.field(
                    "account", localize("Account", "账户"), account, Attribute("type", "text"),
                    Attribute("maxlength", "200"))
                HTML.field(
                    "quantity", localize("Quantity", "数量"), "1", Attribute("type", "number"), Attribute("min", "1"),
                    Attribute("max", "10"), Attribute("inputmode", "numeric"))
                HTML.choice(
                    "outcome", localize("Outcome", "结果"),
                    PurchaseRequest.Outcome.allCases.map { ($0.rawValue, $0.title(localize)) },
                    chosen: PurchaseRequest.Outcome.purchased.rawValue)
                HTML.field(
                    "bundleId", localize("App", "App"), bundleID, Attribute("type", "text"),
                    Attribute("maxlength", "200"))
                element("div", .class("wide")) {
                    HTML.field(
                        "appAccountToken", localize("Order id (appAccountToken)", "订单号（appAccountToken）"), "",
                        Attribute("type", "text"), Attribute("maxlength", "36"), hint: "3f2c91ab-…")
                }
                element("div", .class("wide", "buttons")) {
                    element("button", Attribute("type", "submit"), Attribute("id", "buy"), .class("primary")) {
                        localize("Buy", "购买")
                    }
                }
            }
        }
    }
}
