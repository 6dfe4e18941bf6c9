import TillBilling
import TillPages

/// One subscription on its account's page: its state, its drawing, and every step in words.
struct SubscriptionCard {
    let visit: PageVisit
    let history: SubscriptionHistory
    /// The store's products, including the plans that it may change to.
    let products: [StoreProduct]
    let now: Instant

    private var say: Reader { visit.say }
    private var subscription: StoreSubscription { history.subscription }

    var html: HTML {
        element("section", .class("card"), .id("subscription", subscription.original)) {
            element("div", .class("head")) {
                element("h3", .class("name")) { HTML.outside(subscription.productID.text, limit: 100) }
                element("span", .class("pill", subscription.state.styleClass)) { subscription.state.title(say) }
                if subscription.sharedFrom != nil { HTML.badge(say("Family Sharing", "家人共享")) }
                ActionButtons(visit: visit).html(subscription)
            }
            SubscriptionDrawing(history: history, now: now, say: say).html
            HTML.facts {
                HTML.fact(say("Original transaction", "首笔交易")) { HTML.code(String(subscription.original)) }
                HTML.fact(say("Group", "订阅组")) { HTML.code(subscription.groupID, limit: 64) }
                HTML.fact(dateName) { HTML.time(subscription.expires) }
                if subscription.renewsNext { HTML.fact(say("Next renewal", "下次续订")) { renewal } }
                if let offer = subscription.runningOffer {
                    HTML.fact(say("Offer", "优惠")) {
                        HTML.offer(offer.offer, say)
                        say(", \(offer.charges) charges left", "，还剩 \(offer.charges) 次扣款")
                    }
                }
                if let increase = subscription.priceIncrease {
                    HTML.fact(say("Price increase", "涨价")) { price(increase) }
                }
                if let end = subscription.graceExpires { HTML.fact(say("Grace until", "宽限至")) { HTML.time(end) } }
                if let end = subscription.retryUntil, subscription.state != .active {
                    HTML.fact(say("Billing retry until", "扣款重试至")) { HTML.time(end) }
                }
                if subscription.billingFails {
                    HTML.fact(say("Charges", "扣款")) { say("set to fail", "已设为失败") }
                }
            }
            change
            timeline
        }
    }

    private var dateName: String {
        switch subscription.state {
        case .active: subscription.renewsNext ? say("Renews", "续订时间") : say("Ends", "结束时间")
        case .gracePeriod, .billingRetry, .expired, .revoked: say("Period ended", "周期结束于")
        }
    }

    @HTMLBuilder private var renewal: HTML {
        HTML.outside(subscription.renewalProductID.text, limit: 100)
        if let price = subscription.renewalPrice { " · \(price)" }
    }

    @HTMLBuilder private func price(_ increase: StoreSubscription.PriceIncrease) -> HTML {
        "\(increase.price) "
        say("from ", "自 ")
        HTML.time(increase.effective)
        HTML(increase.isAccepted ? say(", accepted", "，已接受") : say(", not answered", "，尚未答复"))
        if increase.needsConsent, !increase.isAccepted, visit.serves(.consent) {
            element("div", .class("actions")) {
                answer(say("Accept", "接受"), "true")
                answer(say("Decline", "拒绝"), "false")
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
                element("label", .reference("for", "plan", subscription.original)) { say("Other plan", "其他套餐") }
                element("select", .id("plan", subscription.original), Attribute("name", "productId")) {
                    for plan in plans { HTML.option(plan.id.text, plan.name, isChosen: false) }
                }
                element("button", Attribute("type", "submit"), .class("quiet")) { say("Change plan", "更换套餐") }
            }
        }
    }

    /// The newest steps are visible; the others can be opened.
    private var timeline: HTML {
        let steps = history.steps
        let shown = 6
        return element("div", .class("steps")) {
            element("h4") { say("History", "经过") }
            list(steps.prefix(shown))
            if steps.count > shown {
                element("details") {
                    element("summary") { say("Earlier (\(steps.count - shown))", "更早（\(steps.count - shown)）") }
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
                    element("div") { words(step) }
                }
            }
        }
    }

    private func mark(_ step: SubscriptionHistory.Step) -> StaticString {
        switch step {
        case .period(let transaction, _): transaction.offer == nil ? "good" : "busy"
        case .refunded: "back"
        case .told(let notice): NoticeWords.styleClass(notice.type, notice.subtype)
        }
    }

    @HTMLBuilder
    private func words(_ step: SubscriptionHistory.Step) -> HTML {
        switch step {
        case .period(let transaction, let before):
            element("strong") { beginning(transaction, after: before) }
            " "
            HTML.outside(transaction.productID.text, limit: 100)
            " · \(transaction.price)"
            element("p", .class("hint")) {
                if let expires = transaction.subscription?.expires {
                    say("until ", "有效至 ")
                    HTML.time(expires)
                    " · "
                }
                if let offer = transaction.offer {
                    HTML.offer(offer, say)
                    " · "
                }
                HTML.code(transaction.id.text)
            }
        case .refunded(let transaction):
            element("strong") {
                transaction.revocation?.type == "FAMILY_REVOKE"
                    ? say("Family sharing ended", "家人共享已结束") : say("Refunded", "已退款")
            }
            " "
            HTML.outside(transaction.productID.text, limit: 100)
            element("p", .class("hint")) {
                if let percentage = transaction.revocation?.percentage { TransactionRows.percent(percentage) + " · " }
                HTML.code(transaction.id.text)
            }
        case .told(let notice):
            element("strong") { NoticeWords.sentence(notice.type, notice.subtype, say) }
            element("p", .class("hint")) { NoticeWords.code(notice.type, notice.subtype) }
        }
    }

    private func beginning(_ transaction: StoreTransaction, after before: StoreTransaction?) -> String {
        if transaction.reason == "RENEWAL" { return say("Renewed", "已续订") }
        if let before, before.isUpgraded { return say("Upgraded to", "升级为") }
        if transaction.number == transaction.original { return say("Subscribed", "已订阅") }
        return say("Subscribed again", "重新订阅")
    }
}
