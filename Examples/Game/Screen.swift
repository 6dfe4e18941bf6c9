import ExampleTerminal
import TillClient

/// The output of the game.
struct Screen: Sendable {
    let terminal: Terminal

    private var language: String { terminal.language }

    func welcome(_ user: String) {
        terminal.say("Hello \(user). Type help for what you can do.", "\(user)，你好。输入 help 查看可用的命令。")
    }

    /// A product that can't be bought now is in brackets, because a terminal has no grey.
    func show(_ products: [StoreProduct]) {
        for (index, item) in products.enumerated() {
            let price = item.displayPrice.isEmpty ? "–" : item.displayPrice
            let name = "\(index + 1)  \(item.name)  \(price)"
            if item.isPurchasing {
                terminal.say("  [\(name)]  being bought …", "  [\(name)]  正在购买……")
            } else {
                terminal.say(item.canBuy ? "   \(name)" : "  [\(name)]")
            }
        }
    }

    /// The cached page, while the App Store has not answered.
    func asking(_ products: [StoreProduct]) {
        terminal.say("  the App Store is asked …", "  正在连接 App Store……")
        show(products)
    }

    func show(_ result: PurchaseResult) {
        switch result {
        case .completed: terminal.say("  The coins are yours!", "  金币到手！")
        case .deliveryPending: terminal.say("  Paid; the coins will arrive by themselves.", "  已付款，金币稍后自动到账。")
        case .deferred:
            terminal.say(
                "  Your family is asked. The coins come when they agree.", "  已向家人发出请求，批准后金币就会到账。")
        case .cancelled: terminal.say("  Cancelled. Nothing was charged.", "  已取消，没有扣款。")
        case .inProgress: terminal.say("  Patience: that is being bought already.", "  别急，这一项正在购买中。")
        }
    }

    func show(_ wallet: [String: Int64]) {
        if wallet.isEmpty { terminal.say("  no coins yet", "  还没有金币") }
        for (kind, amount) in wallet.sorted(by: { $0.key < $1.key }) { terminal.say("  \(amount) \(kind)") }
    }

    func show(_ orders: [StoreOrder]) {
        if orders.isEmpty { terminal.say("  no orders yet", "  还没有订单") }
        for order in orders { terminal.say("  \(line(order))") }
    }

    func changed(_ order: StoreOrder) { terminal.say("  · \(line(order))") }

    func failed(_ error: TillError) { terminal.say("  " + error.message(in: language)) }

    func help() {
        terminal.say(
            """
              shop        what is for sale
              buy N|ID    buy it, and play on
              coins       what you have
              orders      your orders, newest first
              quit        or the end of the input
            """,
            """
              shop        商店
              buy 序号|ID  购买，游戏继续
              coins       我的金币
              orders      订单列表，最新的在前
              quit        退出（或输入结束）
            """)
    }

    private func line(_ order: StoreOrder) -> String {
        let price = terminal.price(order.price, order.currency)
        let note = order.note(in: language).map { "  " + $0 } ?? ""
        return "\(order.orderID.prefix(8))  \(terminal.time(order.createdAt))  \(order.productName)  \(price)  "
            + "\(order.title(in: language))\(note)"
    }
}
