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

    func failed(_ error: TillError) { terminal.say("  " + error.message(in: language)) }

    func help() {
        terminal.say(
            """
              shop                     what is for sale
              buy N|ID                 buy it, and play on
              coins                    what you have
            \(CustomerService.english)
            """,
            """
              shop                     商店
              buy 序号|ID              购买，游戏继续
              coins                    我的金币
            \(CustomerService.chinese)
            """)
    }
}
