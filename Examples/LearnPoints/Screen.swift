import ExampleTerminal
import TillClient

/// The output of LearnPoints: lines for people, events for programs.
struct Screen: Sendable {
    let terminal: Terminal

    private var language: String { terminal.language }

    // MARK: The shop

    /// - Parameter error: why the App Store's list is missing, and the products are those of an earlier launch.
    func show(_ products: [StoreProduct], because error: TillError? = nil) {
        var event = Event(event: "shop")
        event.items = products.map(Event.Item.init)
        event.isFromCache = error != nil
        event.code = error?.code.rawValue
        event.message = error.map(sentence)
        terminal.tell(event)
        for (index, item) in products.enumerated() {
            let price = item.displayPrice.isEmpty ? "–" : item.displayPrice
            let hint = item.canBuy ? "" : terminal.choose("  (not now)", "（暂不可购买）")
            terminal.say("  \(index + 1)  \(item.name)  \(price)\(hint)")
        }
        if let error { terminal.say("  " + sentence(error)) }
    }

    /// The result of a purchase.
    func show(_ result: PurchaseResult, of product: String) {
        var event = Event(event: "purchase", productId: product, outcome: result.name)
        if case .deliveryPending(_, let reason) = result {
            event.code = reason.code.rawValue
            event.message = sentence(reason)
        }
        event.order = result.order.map { Event.Order($0, language) }
        terminal.tell(event)
        switch result {
        case .completed: terminal.say("It has arrived. Thank you!", "已到账，谢谢！")
        case .deliveryPending(_, let error):
            let reason = sentence(error)
            terminal.say("Paid; it will arrive by itself. \(reason)", "已付款，稍后会自动到账。\(reason)")
        case .deferred: terminal.say("It waits for approval.", "等待批准。")
        case .cancelled: terminal.say("Cancelled. Nothing was charged.", "已取消，没有扣款。")
        case .inProgress: terminal.say("It is being bought already.", "正在购买中。")
        }
    }

    /// A purchase that failed, with its order if there is one.
    func failed(_ error: TillError, buying product: String, _ order: StoreOrder?) {
        var event = Event(event: "purchase", productId: product, outcome: "failed")
        event.code = error.code.rawValue
        event.message = sentence(error)
        event.order = order.map { Event.Order($0, language) }
        terminal.tell(event)
        terminal.say(sentence(error))
    }

    // MARK: Orders

    /// The list of orders, newest first.
    func show(_ orders: [StoreOrder]) {
        var event = Event(event: "orders")
        event.orders = orders.map { Event.Order($0, language) }
        terminal.tell(event)
        if orders.isEmpty { terminal.say("  no orders yet", "  还没有订单") }
        for (index, order) in orders.enumerated() {
            let hint =
                order.canResubmit ? terminal.choose("  → resubmit \(index + 1)", "  → 补充值：resubmit \(index + 1)") : ""
            terminal.say("  \(index + 1)  \(line(order))\(hint)")
        }
    }

    /// An order that has changed.
    func changed(_ order: StoreOrder) {
        var event = Event(event: "order")
        event.order = Event.Order(order, language)
        terminal.tell(event)
        terminal.say("  · \(line(order))")
    }

    func revoked(_ products: [String]) {
        terminal.tell(Event(event: "revoked", productIds: products))
        terminal.say(
            "  · taken back: \(products.joined(separator: ", "))", "  · 已收回：\(products.joined(separator: "、"))")
    }

    /// The short order id, the start, the product with its quantity, the price, the status in words and its reason.
    private func line(_ order: StoreOrder) -> String {
        let product = order.productName + (order.quantity == 1 ? "" : " × \(order.quantity)")
        let price = terminal.price(order.price, order.currency)
        let note = order.note(in: language).map { "  " + $0 } ?? ""
        return "\(order.orderID.prefix(8))  \(terminal.time(order.createdAt))  \(product)  \(price)  "
            + "\(order.title(in: language))\(note)"
    }

    // MARK: The buyer

    func show(_ wallet: [String: Int64]) {
        terminal.tell(Event(event: "wallet", balances: wallet))
        let points = wallet["points"] ?? 0
        terminal.say("  \(points) points", "  \(points) 学点")
    }

    func show(_ postings: [WalletPosting]) {
        var event = Event(event: "history")
        event.postings = postings.map(Event.Posting.init)
        terminal.tell(event)
        if postings.isEmpty { terminal.say("  no points yet", "  还没有学点") }
        for posting in postings {
            let amount = posting.amount > 0 ? "+\(posting.amount)" : "\(posting.amount)"
            terminal.say("  \(terminal.time(posting.date))  \(amount)  \(words(for: posting.kind))")
        }
    }

    /// A kind of a later server is shown by its name.
    private func words(for kind: String) -> String {
        switch kind {
        case "purchase": terminal.choose("bought", "购买")
        case "debit": terminal.choose("used", "使用")
        case "refund": terminal.choose("refunded: taken back", "退款收回")
        case "refund_reversal": terminal.choose("refund reversed", "退款撤销")
        default: kind
        }
    }

    func show(_ entitlements: [Entitlement]) {
        var event = Event(event: "mine")
        event.entitlements = entitlements.map { Event.Right($0, language) }
        terminal.tell(event)
        if entitlements.isEmpty { terminal.say("  nothing that lasts yet", "  还没有权益") }
        for right in entitlements { terminal.say("  \(right.name): \(right.sentence(in: language))") }
    }

    func show(_ claimed: [ClaimedPurchase]) {
        var event = Event(event: "claimed")
        event.purchases = claimed.map(Event.Claimed.init)
        terminal.tell(event)
        let yours = claimed.filter(\.isYours).count
        terminal.say("  \(yours) of \(claimed.count) purchases are yours", "  共 \(claimed.count) 笔购买，\(yours) 笔属于你")
    }

    func consented(_ isGiven: Bool) {
        terminal.tell(Event(event: "consent", isGiven: isGiven))
        terminal.say(
            isGiven ? "  Apple may be told how much you used." : "  Apple is told nothing about your use.",
            isGiven ? "  已同意：可向 Apple 提供使用情况。" : "  已撤回：不向 Apple 提供使用情况。")
    }

    func offerCodes() {
        terminal.tell(Event(event: "redeem"))
        terminal.explainOfferCodes()
    }

    func subscriptions() {
        terminal.tell(Event(event: "manage"))
        terminal.explainSubscriptions()
    }

    func show(_ restored: RestoreResult) {
        var event = Event(event: "restored", productIds: restored.restored)
        event.code = restored.error?.code.rawValue
        event.message = restored.error.map(sentence)
        terminal.tell(event)
        terminal.say("  restored: \(restored.restored.count)", "  已恢复：\(restored.restored.count) 项")
        if let error = restored.error { terminal.say("  " + sentence(error)) }
    }

    func signedIn(_ user: String) {
        terminal.tell(Event(event: "signedIn", userId: user))
        terminal.say("Hello \(user). Type help for what you can do.", "\(user)，你好。输入 help 查看可用的命令。")
    }

    func signedOut() {
        terminal.tell(Event(event: "signedOut"))
        terminal.say("Signed out.", "已退出登录。")
    }

    // MARK: The rest

    func waited(_ underWay: Int) {
        terminal.tell(Event(event: "waited", underWay: underWay))
        terminal.say("  \(underWay) under way", "  还有 \(underWay) 笔进行中")
    }

    func failed(_ error: TillError) {
        terminal.tell(Event(event: "problem", code: error.code.rawValue, message: sentence(error)))
        terminal.say("  " + sentence(error))
    }

    func noSuchNumber(_ number: Int) {
        terminal.tell(Event(event: "problem", code: "no_such_number"))
        terminal.say("  There is no number \(number).", "  没有第 \(number) 项。")
    }

    func unknown(_ line: String) {
        terminal.tell(Event(event: "problem", code: "unknown_command"))
        terminal.say("  Unknown. Type help.", "  不认识这条命令，请输入 help。")
    }

    func help() {
        terminal.tell(Event(event: "help"))
        terminal.say(
            """
              shop                    what is for sale, and prices
              buy N|ID [QUANTITY]     buy the product with that number, or that id
              orders                  your orders, newest first
              resubmit [N]            send the proofs of all paid orders again, or of one
              wallet, history         your points; what was bought, used and taken back
              mine                    library, course and membership
              restore                 bring back what lasts
              claim NUMBER            a lost purchase, by the order number in Apple's mail
              consent yes|no          whether Apple may be told how much you used, when you ask for a refund
              redeem, manage          an offer code; subscriptions
              sign-in USER TOKEN      be somebody else
              sign-out                sign out
              wait [SECONDS]          until nothing is under way
              quit                    or the end of the input
            """,
            """
              shop                    商品与价格
              buy 序号|ID [数量]      购买该序号或该 ID 的商品
              orders                  订单列表，最新的在前
              resubmit [序号]         补单：再次提交全部已付款订单的凭证，或其中一笔
              wallet、history         我的学点；购买、使用与收回的明细
              mine                    书库、课程与会员
              restore                 恢复购买
              claim 订单号            凭 Apple 邮件中的订单号认领丢失的购买
              consent yes|no          申请退款时，是否同意向 Apple 提供使用情况
              redeem、manage          兑换优惠代码；管理订阅
              sign-in 用户 令牌       换一个用户
              sign-out                退出登录
              wait [秒数]             等到没有进行中的订单
              quit                    退出（或输入结束）
            """)
    }

    private func sentence(_ error: TillError) -> String { error.message(in: language) }
}
