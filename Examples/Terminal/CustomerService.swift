import TillClient

/// What customers of any shop may ask for: their orders, lost purchases, and their consent. CloudPlans and Game share
/// it; LearnPoints writes the same calls out in its own `App`.
public struct CustomerService: Sendable {
    private let store: TillStore
    private let terminal: Terminal

    public init(store: TillStore, terminal: Terminal) {
        self.store = store
        self.terminal = terminal
    }

    /// Handles a command.
    ///
    /// - Returns: false if it is not one of these.
    public func handle(_ words: [String]) async -> Bool {
        switch (words.first, words.count) {
        case ("orders", 1): show(await store.orders())
        case ("resubmit", 1): await resubmitAll()
        case ("resubmit", 2): await resubmit(words[1])
        case ("restore", 1): await restore()
        case ("claim", 2): await claim(words[1])
        case ("consent", 2) where ["yes", "no"].contains(words[1]): await setConsent(words[1] == "yes")
        case ("redeem", 1): terminal.explainOfferCodes()
        case ("manage", 1): terminal.explainSubscriptions()
        default: return false
        }
        return true
    }

    /// An order that has changed, on one line.
    public func changed(_ order: StoreOrder) { terminal.say("  · \(line(order))") }

    /// What the App Store took back, after a refund or the end of Family Sharing.
    public func revoked(_ products: [String]) {
        terminal.say(
            "  · taken back: \(products.joined(separator: ", "))", "  · 已收回：\(products.joined(separator: "、"))")
    }

    private func show(_ orders: [StoreOrder]) {
        if orders.isEmpty { terminal.say("  no orders yet", "  还没有订单") }
        for (index, order) in orders.enumerated() {
            let command = "resubmit \(index + 1)"
            let hint = order.canResubmit ? terminal.choose("  → \(command)", "  → 补单：\(command)") : ""
            terminal.say("  \(index + 1)  \(line(order))\(hint)")
        }
    }

    /// The order's short id, its start, the product, the price, the status in words and its reason.
    private func line(_ order: StoreOrder) -> String {
        let note = order.note(in: terminal.language).map { "  " + $0 } ?? ""
        return "\(order.orderID.prefix(8))  \(terminal.time(order.createdAt))  \(order.productName)  "
            + "\(terminal.price(order.price, order.currency))  \(order.title(in: terminal.language))\(note)"
    }

    /// The kit does this by itself, too: at launch, when the network returns, and later and later in between.
    private func resubmitAll() async {
        await store.checkOrderStatus()
        let left = await store.orders().filter(\.canResubmit).count
        terminal.say("  \(left) under way", "  还有 \(left) 笔进行中")
    }

    private func resubmit(_ choice: String) async {
        let orders = await store.orders()
        guard let number = Int(choice), orders.indices.contains(number - 1) else {
            return terminal.say("  There is no order \(choice).", "  没有第 \(choice) 笔订单。")
        }
        await report {
            let result = try await store.resubmit(orderID: orders[number - 1].orderID)
            if let order = result.order { terminal.say("  \(line(order))") }
        }
    }

    /// App Review requires a button for this.
    private func restore() async {
        await report {
            let result = try await store.restore()
            terminal.say("  restored: \(result.restored.count)", "  已恢复：\(result.restored.count) 项")
            for purchase in result.purchases { terminal.say("    " + purchase.message(in: terminal.language)) }
        }
    }

    private func claim(_ number: String) async {
        await report {
            let found = try await store.claim(appleOrderNumber: number)
            let yours = found.filter(\.isYours).count
            terminal.say("  \(yours) of \(found.count) purchases are yours", "  共 \(found.count) 笔购买，\(yours) 笔属于你")
        }
    }

    private func setConsent(_ isGiven: Bool) async {
        await report {
            try await store.setConsumptionConsent(isGiven)
            terminal.say(
                isGiven ? "  Apple may be told how much you used." : "  Apple is told nothing about your use.",
                isGiven ? "  已同意：可向 Apple 提供使用情况。" : "  已撤回：不向 Apple 提供使用情况。")
        }
    }

    private func report(_ work: () async throws -> Void) async {
        do {
            try await work()
        } catch {
            guard let error = error as? TillError else { return }
            terminal.say("  " + error.message(in: terminal.language))
        }
    }

    /// The lines of `help`.
    public static let english = """
          orders                   your orders, newest first
          resubmit [N]             send the proofs of all paid orders again, or of one
          restore                  bring back what lasts
          claim NUMBER             a lost purchase, by the order number in Apple's mail
          consent yes|no           whether Apple may be told how much you used, when you ask for a refund
          redeem, manage           an offer code; subscriptions
          quit                     or the end of the input
        """
    public static let chinese = """
          orders                   订单列表，最新的在前
          resubmit [序号]          补单：再次提交全部已付款订单的凭证，或其中一笔
          restore                  恢复购买
          claim 订单号             凭 Apple 邮件中的订单号认领丢失的购买
          consent yes|no           申请退款时，是否同意向 Apple 提供使用情况
          redeem、manage           兑换优惠代码；管理订阅
          quit                     退出（或输入结束）
        """
}
