import TillBilling
import TillPages

/// One subscription on its account's page: its state, its drawing, and every step in words.
struct SubscriptionCard {
    let visit: PageVisit
    let history: SubscriptionHistory
    /// The store's products, including the plans that it may change to.
    let products: [StoreProduct]
    let now: Instant

    private var localize: Localizer { visit.localize }
    private var subscription: StoreSubscription { history.subscription }

    var html: HTML {
        element("section", .class("card"), .id("subscription", subscription.original)) {
            element("div", .class("head")) {
                element("h3", .class("name")) { HTML.untrusted(subscription.productID.text, limit: 100) }
                element("span", .class("pill", subscription.state.styleClass)) { subscription.state.title(localize) }
                if subscription.sharedFrom != nil { HTML.badge(localize("Family Sharing", "家人共享")) }
                ActionButtons(visit: visit).html(subscription)
            }
            SubscriptionDrawing(history: history, now: now, localize: localize).html
            HTML.facts {
                HTML.fact(localize("Original transaction", "首笔交易")) { HTML.code(String(subscription.original)) }
                HTML.fact(localize("Group", "订阅组")) { HTML.code(subscription.groupID, limit: 64) }
                HTML.fact(dateName) { HTML.time(subscription.expires) }
                if subscription.renewsNext { HTML.fact(localize("Next renewal", "下次续订")) { renewal } }
                if let offer = subscription.runningOffer {
                    HTML.fact(localize("Offer", "优惠")) {
                        HTML.offer(offer.offer, localize)
                        localize(", \(offer.charges) charges left", "，还剩 \(offer.charges) 次扣款")
                    }
                }
                if let increase = subscription.priceIncrease {
                    HTML.fact(localize("Price increase", "涨价")) { price(increase) }
                }
                if let end = subscription.graceExpires { HTML.fact(localize("Grace until", "宽限至")) { HTML.time(end) } }
                if let end = subscription.retryUntil, subscription.state != .active {
                    HTML.fact(localize("Billing retry until", "扣款重试至")) { HTML.time(end) }
                }
                if subscription.billingFails {
                    HTML.fact(localize("Charges", "扣款")) { localize("set to fail", "已设为失败") }
                }
            }
            change
            timeline
        }
    }

    private var dateName: String {
        switch subscription.state {
        case .active: subscription.renewsNext ? localize("Renews", "续订时间") : localize("Ends", "结束时间")
        case .gracePeriod, .billingRetry, .expired, .revoked: localize("Period ended", "周期结束于")
        }
    }

    @HTMLBuilder private var renewal: HTML {
        HTML.untrusted(subscription.renewalProductID.text, limit: 100)
        if let price = subscription.renewalPrice { " · \(price)" }
    }

    @HTMLBuilder private func price(_ increase: StoreSubscription.PriceIncrease) -> HTML {
        "\(increase.price) "
        localize("from ", "自 ")
        HTML.time(increase.effective)
        HTML(increase.isAccepted ? localize(", accepted", "，已接受") : localize(", not answered", "，尚未答复"))
        if increase.needsConsent, !increase.isAccepted, visit.serves(.consent) {
            element("div", .class("actions")) {
                answer(localize("Accept", "接受"), "true")
                answer(localize("Decline", "拒绝"), "false")
            }
        }
    }

    private func answer(_ title: String, _ accepts: String) -> HTML {
        HTML.button(
            .consent, title, subscription.productID.text, id: String(subscription.original), to: visit.here,
            fields: [("accept", accepts)])
    }

    /// The other plans of the group.
    private var plans: [StoreProduct] {
        guard subscription.sharedFrom == nil, subscription.isGoingOn else { return [] }
        return products.filter { product in
            product.subscription?.groupID == subscription.groupID && product.state == .approved
                && product.id != subscription.renewalProductID
        }
    }

    @HTMLBuilder private var change: HTML {
        if !plans.isEmpty, visit.serves(.upgrade) {
            HTML.form(.upgrade, "plan", to: visit.here) {
                HTML.hidden("id", String(subscription.original))
                element("label", .reference("for", "plan", subscription.original)) { localize("Other plan", "其他套餐") }
                element("select", .id("plan", subscription.original), Attribute("name", "productId")) {
                    for plan in plans { HTML.option(plan.id.text, plan.name, isChosen: false) }
                }
                element("button", Attribute("type", "submit"), .class("quiet")) { localize("Change plan", "更换套餐") }
            }
        }
    }

    /// The newest steps are visible; the others can be opened.
    private var timeline: HTML {
        let steps = history.steps
        let shown = 6
        return element("div", .class("steps")) {
            element("h4") { localize("History", "经过") }
            list(steps.prefix(shown))
            if steps.count > shown {
                element("details") {
                    element("summary") { localize("Earlier (\(steps.count - shown))", "更早（\(steps.count - shown)）") }
                    list(steps.dropFirst(shown))
                }
            }
        }
    }

    private func list(_ steps: ArraySlice<SubscriptionHistory.Step>) -> HTML {
        element("ol", .class("timeline")) {
            for step in steps {
                element("li", .class(mark(step))) {
                    HTML.time(step.at)
                    element("div") { sentence(step) }
                }
            }
        }
    }

    private func mark(_ step: SubscriptionHistory.Step) -> StaticString {
        switch step {
        case .period(let transaction, _): transaction.offer == nil ? "good" : "busy"
        case .refunded: "back"
        case .notified(let notice): NotificationSentences.styleClass(notice.type, notice.subtype)
        }
    }

    @HTMLBuilder
    private func sentence(_ step: SubscriptionHistory.Step) -> HTML {
        switch step {
        case .period(let transaction, let before):
            element("strong") { beginning(transaction, after: before) }
            " "
            HTML.untrusted(transaction.productID.text, limit: 100)
            " · \(transaction.price)"
            element("p", .class("hint")) {
                if let expires = transaction.subscription?.expires {
                    localize("until ", "有效至 ")
                    HTML.time(expires)
                    " · "
                }
                if let offer = transaction.offer {
                    HTML.offer(offer, localize)
                    " · "
                }
                HTML.code(transaction.id.text)
            }
        case .refunded(let transaction):
            element("strong") {
                transaction.revocation?.type == "FAMILY_REVOKE"
                    ? localize("Family sharing ended", "家人共享已结束") : localize("Refunded", "已退款")
            }
            " "
            HTML.untrusted(transaction.productID.text, limit: 100)
            element("p", .class("hint")) {
                if let percentage = transaction.revocation?.percentage { TransactionRows.percent(percentage) + " · " }
                HTML.code(transaction.id.text)
            }
        case .notified(let notice):
            element("strong") { NotificationSentences.sentence(notice.type, notice.subtype, localize) }
            element("p", .class("hint")) { NotificationSentences.code(notice.type, notice.subtype) }
        }
    }

    private func beginning(_ transaction: StoreTransaction, after before: StoreTransaction?) -> String {
        if transaction.reason == "RENEWAL" { return localize("Renewed", "已续订") }
        if let before, before.isUpgraded { return localize("Upgraded to", "升级为") }
        if transaction.number == transaction.original { return localize("Subscribed", "已订阅") }
        return localize("Subscribed again", "重新订阅")
    }
}
