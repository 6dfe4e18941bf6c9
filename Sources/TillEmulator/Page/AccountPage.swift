import TillBilling
import TillHTTP
import TillPages

extension EmulatorPage {
    /// The most subscriptions on an account's page, and the most periods and notifications in a timeline.
    static let subscriptionLimit = 12
    static let periodLimit = 40

    /// `GET /emulator/page/account?name=&before=`.
    func showAccount(_ visit: PageVisit) async throws -> HTML? {
        let name = visit.request.queryValue("name") ?? ""
        let (size, before) = (Self.pageSize, visit.before)
        let (clock, configuration) = (store.clock, configuration)
        let content = try await store.ask { connection -> AccountPage.Content? in
            guard let account = try AccountTable.find(name, connection) else { return nil }
            let subscriptions = try PageQueries.subscriptions(
                of: name, limit: Self.subscriptionLimit, connection)
            return AccountPage.Content(
                account: account,
                histories: try subscriptions.map { subscription in
                    SubscriptionHistory(
                        subscription: subscription,
                        periods: try PageQueries.periods(
                            of: subscription.original, limit: Self.periodLimit, connection),
                        notices: try PageQueries.notifications(
                            about: subscription.original, limit: Self.periodLimit, connection))
                },
                transactions: try PageQueries.transactions(of: name, before: before, limit: size + 1, connection),
                products: try PageQueries.products(from: 0, limit: BuyCard.productLimit, connection),
                clock: try ClockCard.Content(clock, configuration, connection))
        }
        guard let content else { return nil }
        return AccountPage(visit: visit, configuration: configuration, content: content).html
    }
}

struct AccountPage {
    struct Content: Sendable {
        var account: StoreAccount
        var histories: [SubscriptionHistory]
        var transactions: [StoreTransaction]
        var products: [StoreProduct]
        var clock: ClockCard.Content
    }

    let visit: PageVisit
    let configuration: EmulatorConfiguration
    let content: Content

    private var localize: Localizer { visit.localize }
    private var account: StoreAccount { content.account }
    private var size: Int { EmulatorPage.pageSize }

    var html: HTML {
        let isLive = visit.before == nil
        return EmulatorFrame.page(title: account.name, visit, in: nil, isLive: isLive) {
            element("p", .class("up")) { element("a", .href(.store)) { localize("← All accounts", "← 所有账户") } }
            EmulatorFrame.head(account.name, isLive: isLive, localize) { AccountSwitches.html(account, localize) }
            HTML.facts {
                HTML.fact(localize("Storefront", "地区")) { HTML.untrusted(account.storefront, limit: 10) }
                HTML.fact(localize("Family", "家庭")) {
                    if let family = account.family {
                        element("a", .href(.account(family))) { HTML.untrusted(family, limit: 60) }
                    } else {
                        localize("none", "无")
                    }
                }
                HTML.fact(localize("Payment method", "付款方式")) {
                    account.paymentMethodWorks ? localize("works", "正常") : localize("charges fail", "扣款失败")
                    toggle(
                        "paymentMethodWorks", account.paymentMethodWorks, localize("Payment method", "付款方式"),
                        off: localize("Make charges fail", "让扣款失败"), on: localize("Make it work", "恢复正常"))
                }
                HTML.fact(localize("Ask to Buy", "购买前询问")) {
                    account.asksToBuy ? localize("on", "开") : localize("off", "关")
                    toggle(
                        "asksToBuy", account.asksToBuy, localize("Ask to Buy", "购买前询问"),
                        off: localize("Turn off", "关闭"), on: localize("Turn on", "开启"))
                }
                HTML.fact(localize("Purchases", "购买")) {
                    account.mayPay ? localize("allowed", "允许") : localize("forbidden by Screen Time", "被屏幕使用时间禁止")
                    toggle(
                        "mayPay", account.mayPay, localize("Purchases", "购买"), off: localize("Forbid", "禁止"),
                        on: localize("Allow", "允许"))
                }
            }
            // Outside of the part that refreshes itself: the clock always changes, and refreshing would close opened
            // elements.
            element("div", .class("head", "over")) {
                element("h2") { localize("Subscriptions", "订阅") }
                if !content.histories.isEmpty { ClockCard(visit: visit, content: content.clock).line }
            }
            element("div", Attribute("id", "results")) {
                if content.histories.isEmpty {
                    HTML.emptyState(localize("This account has no subscriptions.", "此账户没有订阅。"))
                }
                for history in content.histories {
                    SubscriptionCard(
                        visit: visit, history: history, products: content.products, now: content.clock.clock.now
                    ).html
                }
                element("h2") { localize("Transactions", "交易") }
                transactions
            }
            element("div", .class("columns")) {
                BuyCard(
                    visit: visit, bundleID: configuration.app.bundleID, account: account.name,
                    products: content.products, chosen: nil
                ).html
                ClockCard(visit: visit, content: content.clock).html
            }
        }
    }

    /// Nothing for a name with a slash, which has no path in the control API.
    private func toggle(
        _ name: StaticString, _ isOn: Bool, _ subject: String, off: String, on: String
    ) -> HTML {
        guard visit.serves(.account), !account.isDeleted, !account.name.contains("/") else { return .empty }
        return HTML.button(
            .account, isOn ? off : on, subject, id: account.name, to: visit.here,
            fields: [(name, isOn ? "false" : "true")])
    }

    @HTMLBuilder private var transactions: HTML {
        if content.transactions.isEmpty {
            HTML.emptyState(localize("This account has no transactions.", "此账户没有交易。"))
        } else {
            TransactionRows(visit: visit, transactions: Array(content.transactions.prefix(size))).html
        }
        HTML.pager(
            newest: visit.before == nil ? nil : .account(account.name),
            older: content.transactions.count > size
                ? content.transactions.prefix(size).last.map { .account(account.name, before: $0.number) } : nil,
            localize)
    }
}
