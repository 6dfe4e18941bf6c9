import TillBilling
import TillPages

/// The pieces of the page's forms. Each form says what it does and which page it leads back to.
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
    static func button(
        _ action: PageAction, _ title: String, about subject: String, number: Int64, to page: PageLink
    ) -> HTML {
        form(action, "one", to: page) {
            HTML.hidden("id", String(number))
            element(
                "button", Attribute("type", "submit"), .class("quiet"), .label("\(title): \(subject)"),
                .data("data-action", action.rawValue), .data("id", "\(action.rawValue)-\(number)")
            ) { title }
        }
    }

    /// A field with its label. `name` is its id too.
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

/// What may be done with one transaction or one subscription now.
struct ActionButtons {
    let visit: PageVisit

    private var say: Reader { visit.say }

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
        case .purchased:
            (transaction.isFinished ? [] : [.finish])
                + (transaction.revocation == nil && transaction.sharedFrom == nil ? [.refund] : [])
        }
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
                HTML.button(action, title(action), about: subject, number: number, to: visit.here)
            }
        }
    }

    private func title(_ action: PageAction) -> String {
        switch action {
        case .finish: say("Finish", "完成")
        case .approve: say("Approve", "批准")
        case .decline: say("Decline", "拒绝")
        case .refund: say("Refund", "退款")
        case .cancel: say("Cancel renewal", "取消续期")
        case .resume: say("Resume renewal", "恢复续期")
        case .billingFailure: say("Let billing fail", "让扣款失败")
        case .recover: say("Let billing recover", "让扣款恢复")
        case .buy, .advance, .notify: action.rawValue
        }
    }
}

/// The store's time, and how it is made to pass.
struct ClockCard {
    let visit: PageVisit
    let now: Instant
    let nextByItself: Instant?

    private var say: Reader { visit.say }

    var html: HTML {
        element("section", .class("card", "clock"), Attribute("aria-labelledby", "clock-title")) {
            element("h2", Attribute("id", "clock-title")) { say("Clock", "时钟") }
            element("p", .class("now")) { HTML.time(now) }
            element("p", .class("hint")) {
                if let nextByItself {
                    say("Next by itself: ", "下一件自动发生的事：")
                    HTML.time(nextByItself)
                } else {
                    say("Nothing will happen by itself.", "没有将会自动发生的事。")
                }
            }
            if visit.serves(.advance) { forms }
        }
    }

    @HTMLBuilder private var forms: HTML {
        HTML.form(.advance, "steps", to: visit.here) {
            for (span, title) in spans {
                element(
                    "button", Attribute("type", "submit"), Attribute("name", "advance"), .value(span), .class("quiet")
                ) { title }
            }
        }
        HTML.form(.advance, "line", to: visit.here) {
            HTML.field(
                "advance", say("Or so far", "或前进"), "", Attribute("type", "text"), Attribute("maxlength", "40"),
                .flag("required"), hint: "36h")
            element("button", Attribute("type", "submit"), .class("primary")) { say("Advance", "前进") }
        }
    }

    /// A month is thirty days here; the days of a real one depend on which it is.
    private var spans: [(String, String)] {
        [
            ("1h", say("+1 hour", "+1 小时")), ("1d", say("+1 day", "+1 天")), ("7d", say("+1 week", "+1 周")),
            ("30d", say("+1 month", "+1 个月")),
        ]
    }
}

/// The payment sheet as a form.
struct BuyCard {
    let visit: PageVisit
    let bundleID: String
    let account: String
    /// The first products of the catalogue, and the one that was chosen.
    let products: [StoreProduct]
    let chosen: String?

    static let productLimit = 100

    private var say: Reader { visit.say }

    var html: HTML {
        element("section", .class("card"), Attribute("aria-labelledby", "buy-title")) {
            element("h2", Attribute("id", "buy-title")) { say("Buy", "购买") }
            HTML.form(.buy, "grid", to: visit.here) {
                element("div", .class("wide")) {
                    element("label", Attribute("for", "productId")) { say("Product", "商品") }
                    element("select", Attribute("id", "productId"), Attribute("name", "productId")) {
                        for product in products {
                            HTML.option(
                                product.id.text, "\(product.name) (\(product.id.text))",
                                isChosen: product.id.text == chosen)
                        }
                    }
                }
                HTML.field(
                    "account", say("Account", "账户"), account, Attribute("type", "text"),
                    Attribute("maxlength", "200"))
                HTML.field(
                    "quantity", say("Quantity", "数量"), "1", Attribute("type", "number"), Attribute("min", "1"),
                    Attribute("max", "10"), Attribute("inputmode", "numeric"))
                element("div") {
                    element("label", Attribute("for", "outcome")) { say("Outcome", "结局") }
                    element("select", Attribute("id", "outcome"), Attribute("name", "outcome")) {
                        for outcome in PurchaseRequest.Outcome.allCases {
                            HTML.option(outcome.rawValue, outcome.title(say), isChosen: outcome == .purchased)
                        }
                    }
                }
                HTML.field(
                    "bundleId", say("App", "App"), bundleID, Attribute("type", "text"), Attribute("maxlength", "200"))
                element("div", .class("wide")) {
                    HTML.field(
                        "appAccountToken", say("Order id (appAccountToken)", "订单号（appAccountToken）"), "",
                        Attribute("type", "text"), Attribute("maxlength", "36"), hint: "3f2c91ab-…")
                }
                element("div", .class("wide", "buttons")) {
                    element("button", Attribute("type", "submit"), Attribute("id", "buy"), .class("primary")) {
                        say("Buy", "购买")
                    }
                }
            }
        }
    }
}
