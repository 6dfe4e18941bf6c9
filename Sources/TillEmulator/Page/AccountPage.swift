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
        let found = try await store.ask { session -> AccountPage.Found? in
            guard let account = try AccountTable.find(name, session) else { return nil }
            let subscriptions = try PageQueries.subscriptions(
                of: name, limit: Self.subscriptionLimit, session)
            return AccountPage.Found(
                account: account,
                histories: try subscriptions.map { subscription in
                    SubscriptionHistory(
                        subscription: subscription,
                        periods: try PageQueries.periods(of: subscription.original, limit: Self.periodLimit, session),
                        notices: try PageQueries.notifications(
                            about: subscription.original, limit: Self.periodLimit, session))
                },
                transactions: try PageQueries.transactions(of: name, before: before, limit: size + 1, session),
                products: try PageQueries.products(from: 0, limit: BuyCard.productLimit, session),
                clock: try ClockCard.Found(clock, configuration, session))
        }
        guard let found else { return nil }
        return AccountPage(visit: visit, configuration: configuration, found: found).html
    }
}

struct AccountPage {
    struct Found: Sendable {
        var account: StoreAccount
        var histories: [SubscriptionHistory]
        var transactions: [StoreTransaction]
        var products: [StoreProduct]
        var clock: ClockCard.Found
    }

    let visit: PageVisit
    let configuration: EmulatorConfiguration
    let found: Found

    private var say: Reader { visit.say }
    private var account: StoreAccount { found.account }
    private var size: Int { EmulatorPage.pageSize }

    var html: HTML {
        let isLive = visit.before == nil
        return EmulatorFrame.page(title: account.name, visit, in: nil, isLive: isLive) {
            element("p", .class("up")) { element("a", .href(.store)) { say("← All accounts", "← 所有账户") } }
            EmulatorFrame.head(account.name, isLive: isLive, say) { AccountSwitches.html(account, say) }
            HTML.facts {
                HTML.fact(say("Storefront", "地区")) { HTML.outside(account.storefront, limit: 10) }
                HTML.fact(say("Family", "家庭")) {
                    if let family = account.family {
                        element("a", .href(.account(family))) { HTML.outside(family, limit: 60) }
                    } else {
                        say("none", "无")
                    }
                }
                HTML.fact(say("Payment method", "付款方式")) {
                    account.paymentMethodWorks ? say("works", "正常") : say("charges fail", "扣款失败")
                    toggle(
                        "paymentMethodWorks", account.paymentMethodWorks, say("Payment method", "付款方式"),
                        off: say("Make charges fail", "让扣款失败"), on: say("Make it work", "恢复正常"))
                }
                HTML.fact(say("Ask to Buy", "购买前询问")) {
                    account.asksToBuy ? say("on", "开") : say("off", "关")
                    toggle(
                        "asksToBuy", account.asksToBuy, say("Ask to Buy", "购买前询问"),
                        off: say("Turn off", "关闭"), on: say("Turn on", "开启"))
                }
                HTML.fact(say("Purchases", "购买")) {
                    account.mayPay ? say("allowed", "允许") : say("forbidden by Screen Time", "被屏幕使用时间禁止")
                    toggle(
                        "mayPay", account.mayPay, say("Purchases", "购买"), off: say("Forbid", "禁止"),
                        on: say("Allow", "允许"))
                }
            }
            // Outside of the part that refreshes itself: the clock always changes, and refreshing would close opened
            // elements.
            element("div", .class("head", "over")) {
                element("h2") { say("Subscriptions", "订阅") }
                if !found.histories.isEmpty { ClockCard(visit: visit, found: found.clock).line }
            }
            element("div", Attribute("id", "results")) {
                if found.histories.isEmpty {
                    HTML.nothing(say("This account has no subscriptions.", "此账户没有订阅。"))
                }
                for history in found.histories {
                    SubscriptionCard(
                        visit: visit, history: history, products: found.products, now: found.clock.clock.now
                    ).html
                }
                element("h2") { say("Transactions", "交易") }
                transactions
            }
            element("div", .class("desk")) {
                BuyCard(
                    visit: visit, bundleID: configuration.app.bundleID, account: account.name,
                    products: found.products, chosen: nil
                ).html
                ClockCard(visit: visit, found: found.clock).html
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
        if found.transactions.isEmpty {
            HTML.nothing(say("This account has no transactions.", "此账户没有交易。"))
        } else {
            TransactionRows(visit: visit, transactions: Array(found.transactions.prefix(size))).html
        }
        HTML.pager(
            newest: visit.before == nil ? nil : .account(account.name),
            older: found.transactions.count > size
                ? found.transactions.prefix(size).last.map { .account(account.name, before: $0.number) } : nil, say)
    }
}
