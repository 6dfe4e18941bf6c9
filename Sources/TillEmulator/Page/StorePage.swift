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
        let content = try await store.ask { connection in
            var products = try PageQueries.products(from: 0, limit: BuyCard.productLimit, connection)
            if let chosen, !products.contains(where: { $0.id == chosen }),
                let product = try ProductTable.find(chosen, connection)
            {
                products.append(product)
            }
            return StorePage.Content(
                accounts: try AccountTable.all(after: after, limit: Self.accountPageSize + 1, connection),
                transactions: try PageQueries.transactions(of: nil, before: before, limit: size + 1, connection),
                products: products, clock: try ClockCard.Content(clock, configuration, connection))
        }
        return StorePage(
            visit: visit, configuration: configuration, after: after, chosen: chosen?.text, content: content
        ).html
    }
}

struct StorePage {
    struct Content: Sendable {
        var accounts: [StoreAccount]
        var transactions: [StoreTransaction]
        var products: [StoreProduct]
        var clock: ClockCard.Content
    }

    let visit: PageVisit
    let configuration: EmulatorConfiguration
    let after: String
    let chosen: String?
    let content: Content

    private var localize: Localizer { visit.localize }
    private var size: Int { EmulatorPage.pageSize }
    private var accountSize: Int { EmulatorPage.accountPageSize }
    private var isNewest: Bool { visit.before == nil && after.isEmpty }

    var html: HTML {
        EmulatorFrame.page(title: localize("Emulated App Store", "模拟 App Store"), visit, in: .store, isLive: isNewest) {
            EmulatorFrame.head(localize("Emulated App Store", "模拟 App Store"), isLive: isNewest, localize) {
                switch configuration.environment {
                case .production: element("span", .class("badge", "production")) { localize("Production", "生产") }
                case .sandbox, .xcode: element("span", .class("badge", "sandbox")) { localize("Sandbox", "沙盒") }
                }
            }
            element("div", .class("columns")) {
                BuyCard(
                    visit: visit, bundleID: configuration.app.bundleID, account: Emulator.defaultAccount,
                    products: content.products, chosen: chosen
                ).html
                ClockCard(visit: visit, content: content.clock).html
            }
            element("div", Attribute("id", "results")) {
                element("h2") { localize("Accounts", "账户") }
                accounts
                element("h2") { localize("Newest transactions", "最新交易") }
                transactions
            }
        }
    }

    @HTMLBuilder private var accounts: HTML {
        if content.accounts.isEmpty {
            HTML.emptyState(localize("No accounts yet. A purchase creates one.", "还没有账户。购买时会自动创建。"))
        } else {
            HTML.table(
                "accounts", label: localize("Accounts by name", "账户，按名称排列"),
                columns: [
                    localize("Account", "账户"), localize("Storefront", "地区"), localize("Family", "家庭"),
                    localize("State", "状态"),
                ]
            ) {
                for account in content.accounts.prefix(accountSize) {
                    HTML.row {
                        HTML.cell("name") {
                            element("a", .href(.account(account.name))) { HTML.untrusted(account.name, limit: 60) }
                        }
                        HTML.cell("storefront") { HTML.untrusted(account.storefront, limit: 10) }
                        HTML.cell("family") {
                            if let family = account.family { HTML.untrusted(family, limit: 60) } else { "–" }
                        }
                        HTML.cell("switches") { AccountSwitches.html(account, localize) }
                    }
                }
            }
        }
        pager(
            newest: after.isEmpty ? nil : .store,
            more: content.accounts.count > accountSize
                ? content.accounts.prefix(accountSize).last.map { .accounts(after: $0.name) } : nil,
            localize("First accounts", "回到开头"), localize("More accounts", "更多账户"))
    }

    @HTMLBuilder private var transactions: HTML {
        if content.transactions.isEmpty {
            HTML.emptyState(localize("No transactions yet.", "还没有交易。"))
        } else {
            TransactionRows(visit: visit, transactions: Array(content.transactions.prefix(size)), showsAccount: true)
                .html
        }
        HTML.pager(
            newest: visit.before == nil ? nil : .store,
            older: content.transactions.count > size
                ? content.transactions.prefix(size).last.map { .sales(before: $0.number) } : nil, localize)
    }

    private func pager(newest: PageLink?, more: PageLink?, _ first: String, _ next: String) -> HTML {
        guard newest != nil || more != nil else { return .empty }
        return element("nav", .class("pager"), .label(localize("More accounts", "更多账户"))) {
            if let newest { element("a", .href(newest)) { first } }
            if let more { element("a", Attribute("rel", "next"), .href(more)) { next } }
        }
    }
}

/// The restrictions on an account's purchases, each in a word.
enum AccountSwitches {
    static func html(_ account: StoreAccount, _ localize: Localizer) -> HTML {
        let isPlain = !account.asksToBuy && account.mayPay && account.paymentMethodWorks && !account.isDeleted
        return element("span", .class("badges")) {
            if account.isDeleted { element("span", .class("pill", "idle")) { localize("Deleted", "已删除") } }
            if account.asksToBuy { element("span", .class("pill", "waiting")) { localize("Ask to Buy", "购买前询问") } }
            if !account.mayPay { element("span", .class("pill", "bad")) { localize("May not pay", "禁止付款") } }
            if !account.paymentMethodWorks {
                element("span", .class("pill", "bad")) { localize("Charges fail", "扣款失败") }
            }
            if isPlain { element("span", .class("pill", "good")) { localize("May buy", "可以购买") } }
        }
    }
}

/// A table of transactions with their available actions.
struct TransactionRows {
    let visit: PageVisit
    let transactions: [StoreTransaction]
    var showsAccount = false

    private var localize: Localizer { visit.localize }

    var html: HTML {
        HTML.table(
            "sales", label: localize("Transactions, newest first", "交易，最新的在前"),
            columns: [
                localize("Transaction", "交易"), localize("Product", "商品"), localize("State", "状态"),
                localize("Price", "价格"),
                localize("Bought (UTC)", "购买时间（UTC）"), localize("Actions", "操作"),
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
                            HTML.untrusted(transaction.account, limit: 48)
                        }
                    }
                } else if transaction.original != transaction.number {
                    element("div", .class("under")) {
                        localize("of ", "首笔 ")
                        HTML.code(transaction.originalID.text)
                    }
                }
            }
            HTML.cell("product") {
                HTML.untrusted(transaction.productID.text, limit: 100)
                if transaction.quantity > 1 { "\u{A0}×\u{A0}\(transaction.quantity)" }
                element("div", .class("under")) { details(transaction) }
            }
            HTML.cell("status") {
                HTML.state(transaction, localize)
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
        if let offer = transaction.offer { element("div") { HTML.offer(offer, localize) } }
        if let token = transaction.appAccountToken { element("div") { HTML.code(token.description) } }
        if let until = transaction.subscription?.expires {
            element("div") {
                localize("until ", "有效至 ")
                HTML.time(until)
            }
        }
    }

    @HTMLBuilder private func condition(_ transaction: StoreTransaction) -> HTML {
        if transaction.sharedFrom != nil { element("div") { localize("Family Sharing", "家人共享") } }
        if transaction.isUpgraded { element("div") { localize("upgraded", "已升级") } }
        if transaction.state == .purchased {
            element("div") { transaction.isFinished ? localize("finished", "已完成") : localize("in the queue", "在队列中") }
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
