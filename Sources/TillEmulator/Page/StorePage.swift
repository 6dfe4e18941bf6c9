import TillBilling
import TillHTTP
import TillPages

extension EmulatorPage {
    /// Fewer than for other lists, because the newest transactions follow below the accounts.
    static let accountPageSize = 10

    /// `GET /emulator?after=&before=&product=`: clock, payment sheet, accounts, newest transactions.
    func showStore(_ visit: PageVisit) async throws -> HTML? {
        let (size, before) = (Self.pageSize, visit.before)
        let after = visit.request.queryValue("after") ?? ""
        let chosen = visit.request.queryValue("product").map { ProductID($0) }
        let (clock, configuration) = (store.clock, configuration)
        let found = try await store.ask { session in
            var products = try PageQueries.products(from: 0, limit: BuyCard.productLimit, session)
            if let chosen, !products.contains(where: { $0.id == chosen }),
                let product = try ProductTable.find(chosen, session)
            {
                products.append(product)
            }
            return StorePage.Found(
                accounts: try AccountTable.all(after: after, limit: Self.accountPageSize + 1, session),
                transactions: try PageQueries.transactions(of: nil, before: before, limit: size + 1, session),
                products: products, clock: try ClockCard.Found(clock, configuration, session))
        }
        return StorePage(
            visit: visit, configuration: configuration, after: after, chosen: chosen?.text, found: found
        ).html
    }
}

struct StorePage {
    struct Found: Sendable {
        var accounts: [StoreAccount]
        var transactions: [StoreTransaction]
        var products: [StoreProduct]
        var clock: ClockCard.Found
    }

    let visit: PageVisit
    let configuration: EmulatorConfiguration
    let after: String
    let chosen: String?
    let found: Found

    private var say: Reader { visit.say }
    private var size: Int { EmulatorPage.pageSize }
    private var accountSize: Int { EmulatorPage.accountPageSize }
    private var isNewest: Bool { visit.before == nil && after.isEmpty }

    var html: HTML {
        EmulatorFrame.page(title: say("Emulated App Store", "模拟 App Store"), visit, in: .store, isLive: isNewest) {
            EmulatorFrame.head(say("Emulated App Store", "模拟 App Store"), isLive: isNewest, say) {
                switch configuration.environment {
                case .production: element("span", .class("badge", "production")) { say("Production", "生产") }
                case .sandbox: element("span", .class("badge", "sandbox")) { say("Sandbox", "沙盒") }
                }
            }
            element("div", .class("desk")) {
                BuyCard(
                    visit: visit, bundleID: configuration.app.bundleID, account: Emulator.defaultAccount,
                    products: found.products, chosen: chosen
                ).html
                ClockCard(visit: visit, found: found.clock).html
            }
            element("div", Attribute("id", "results")) {
                element("h2") { say("Accounts", "账户") }
                accounts
                element("h2") { say("Newest transactions", "最新交易") }
                transactions
            }
        }
    }

    @HTMLBuilder private var accounts: HTML {
        if found.accounts.isEmpty {
            HTML.nothing(say("No accounts yet. A purchase creates one.", "还没有账户。购买时会自动创建。"))
        } else {
            HTML.table(
                "accounts", label: say("Accounts by name", "账户，按名称排列"),
                columns: [say("Account", "账户"), say("Storefront", "地区"), say("Family", "家庭"), say("State", "状态")]
            ) {
                for account in found.accounts.prefix(accountSize) {
                    HTML.row {
                        HTML.cell("name") {
                            element("a", .href(.account(account.name))) { HTML.outside(account.name, limit: 60) }
                        }
                        HTML.cell("storefront") { HTML.outside(account.storefront, limit: 10) }
                        HTML.cell("family") {
                            if let family = account.family { HTML.outside(family, limit: 60) } else { "–" }
                        }
                        HTML.cell("switches") { AccountSwitches.html(account, say) }
                    }
                }
            }
        }
        pager(
            newest: after.isEmpty ? nil : .store,
            more: found.accounts.count > accountSize
                ? found.accounts.prefix(accountSize).last.map { .accounts(after: $0.name) } : nil,
            say("First accounts", "回到开头"), say("More accounts", "更多账户"))
    }

    @HTMLBuilder private var transactions: HTML {
        if found.transactions.isEmpty {
            HTML.nothing(say("No transactions yet.", "还没有交易。"))
        } else {
            TransactionRows(visit: visit, transactions: Array(found.transactions.prefix(size)), showsAccount: true).html
        }
        HTML.pager(
            newest: visit.before == nil ? nil : .store,
            older: found.transactions.count > size
                ? found.transactions.prefix(size).last.map { .sales(before: $0.number) } : nil, say)
    }

    private func pager(newest: PageLink?, more: PageLink?, _ first: String, _ next: String) -> HTML {
        guard newest != nil || more != nil else { return .empty }
        return element("nav", .class("pager"), .label(say("More accounts", "更多账户"))) {
            if let newest { element("a", .href(newest)) { first } }
            if let more { element("a", Attribute("rel", "next"), .href(more)) { next } }
        }
    }
}

/// The restrictions on an account's purchases, each in a word.
enum AccountSwitches {
    static func html(_ account: StoreAccount, _ say: Reader) -> HTML {
        let isPlain = !account.asksToBuy && account.mayPay && account.paymentMethodWorks && !account.isDeleted
        return element("span", .class("badges")) {
            if account.isDeleted { element("span", .class("pill", "idle")) { say("Deleted", "已删除") } }
            if account.asksToBuy { element("span", .class("pill", "waiting")) { say("Ask to Buy", "购买前询问") } }
            if !account.mayPay { element("span", .class("pill", "bad")) { say("May not pay", "禁止付款") } }
            if !account.paymentMethodWorks { element("span", .class("pill", "bad")) { say("Charges fail", "扣款失败") } }
            if isPlain { element("span", .class("pill", "good")) { say("May buy", "可以购买") } }
        }
    }
}

/// A table of transactions with their available actions.
struct TransactionRows {
    let visit: PageVisit
    let transactions: [StoreTransaction]
    var showsAccount = false

    private var say: Reader { visit.say }

    var html: HTML {
        HTML.table(
            "sales", label: say("Transactions, newest first", "交易，最新的在前"),
            columns: [
                say("Transaction", "交易"), say("Product", "商品"), say("State", "状态"), say("Price", "价格"),
                say("Bought (UTC)", "购买时间（UTC）"), say("Actions", "操作"),
            ]
        ) {
            for transaction in transactions { row(transaction) }
        }
    }

    private func row(_ transaction: StoreTransaction) -> HTML {
        element("tr", Attribute("role", "row"), .id("transaction", transaction.number)) {
            HTML.cell("number") {
                HTML.code(transaction.id.text)
                if showsAccount {
                    element("div", .class("under")) {
                        element("a", .href(.account(transaction.account))) {
                            HTML.outside(transaction.account, limit: 48)
                        }
                    }
                } else if transaction.original != transaction.number {
                    element("div", .class("under")) {
                        say("of ", "首笔 ")
                        HTML.code(transaction.originalID.text)
                    }
                }
            }
            HTML.cell("product") {
                HTML.outside(transaction.productID.text, limit: 100)
                if transaction.quantity > 1 { "\u{A0}×\u{A0}\(transaction.quantity)" }
                element("div", .class("under")) { details(transaction) }
            }
            HTML.cell("status") {
                HTML.state(transaction, say)
                element("div", .class("under")) { condition(transaction) }
            }
            HTML.cell("amount") {
                transaction.price.description
                if let percentage = transaction.revocation?.percentage, percentage != 100_000 {
                    element("div", .class("under")) { "−\(Self.percent(percentage))" }
                }
            }
            HTML.cell("time") { HTML.time(transaction.purchased) }
            HTML.cell("does") { ActionButtons(visit: visit).html(transaction) }
        }
    }

    @HTMLBuilder private func details(_ transaction: StoreTransaction) -> HTML {
        if let offer = transaction.offer { element("div") { HTML.offer(offer, say) } }
        if let token = transaction.appAccountToken { element("div") { HTML.code(token.description) } }
        if let until = transaction.subscription?.expires {
            element("div") {
                say("until ", "有效至 ")
                HTML.time(until)
            }
        }
    }

    @HTMLBuilder private func condition(_ transaction: StoreTransaction) -> HTML {
        if transaction.sharedFrom != nil { element("div") { say("Family Sharing", "家人共享") } }
        if transaction.isUpgraded { element("div") { say("upgraded", "已升级") } }
        if transaction.state == .purchased {
            element("div") { transaction.isFinished ? say("finished", "已完成") : say("in the queue", "在队列中") }
        }
    }

    /// Thousandths of a percent in readable form: `33.5 %`.
    static func percent(_ thousandths: Int64) -> String {
        let (whole, rest) = thousandths.quotientAndRemainder(dividingBy: 1_000)
        guard rest != 0 else { return "\(whole)\u{A0}%" }
        let digits = String(rest + 1_000).dropFirst()
        let end = digits.lastIndex { $0 != "0" } ?? digits.startIndex
        return "\(whole).\(digits[...end])\u{A0}%"
    }
}
