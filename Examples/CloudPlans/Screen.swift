import ExampleTerminal
import Foundation
import TillClient

/// The output of CloudPlans.
struct Screen: Sendable {
    let terminal: Terminal

    private var language: String { terminal.language }

    func welcome(_ user: String) {
        terminal.say("Hello \(user). Type help for what you can do.", "\(user)，你好。输入 help 查看可用的命令。")
    }

    func show(_ products: [StoreProduct]) {
        for (index, item) in products.enumerated() {
            let hint = item.canBuy ? "" : terminal.choose("  (not now)", "（暂不可购买）")
            terminal.say("  \(index + 1)  \(item.name)  \(item.displayPrice)\(hint)")
        }
    }

    /// The current entitlements, and their ends.
    func show(_ entitlements: [Entitlement]) {
        if entitlements.isEmpty { terminal.say("  no plan yet", "  还没有方案") }
        for right in entitlements {
            let name = right.plan ?? right.name
            guard let end = right.expires else {
                terminal.say("  \(name)")
                continue
            }
            let count = right.deviceIDs?.count ?? 0
            let (en, zh) = count > 1 ? (" on \(count) devices", "（\(count) 台设备）") : ("", "")
            terminal.say("  \(name)\(en), until \(terminal.time(end))", "  \(name)\(zh)，有效期至 \(terminal.time(end))")
        }
    }

    /// The calculation line by line, then Apple's price.
    func show(_ preview: PlanPreview, paying plan: StoreProduct) {
        for line in preview.explanation(in: language) { terminal.say("  " + line) }
        terminal.say(
            "  → to pay: \(plan.displayPrice); then until \(terminal.time(preview.expires))",
            "  → 需付款：\(plan.displayPrice)；有效期至 \(terminal.time(preview.expires))")
    }

    func show(_ result: PurchaseResult) {
        switch result {
        case .completed: terminal.say("  Bought. Thank you!", "  购买成功，谢谢！")
        case .deliveryPending: terminal.say("  Paid; it will arrive by itself.", "  已付款，稍后会自动到账。")
        case .deferred: terminal.say("  It waits for approval.", "  等待批准。")
        case .cancelled: terminal.say("  Cancelled. Nothing was charged.", "  已取消，没有扣款。")
        case .inProgress: terminal.say("  It is being bought already.", "  正在购买中。")
        }
    }

    func show(_ orders: [StoreOrder]) {
        if orders.isEmpty { terminal.say("  no orders yet", "  还没有订单") }
        for order in orders { terminal.say("  \(line(order))") }
    }

    func changed(_ order: StoreOrder) { terminal.say("  · \(line(order))") }

    func failed(_ error: TillError) { terminal.say("  " + error.message(in: language)) }

    func noSuchPlan(_ choice: String) {
        terminal.say("  There is no plan \(choice). Type plans.", "  没有方案 \(choice)，请输入 plans。")
    }

    func help() {
        terminal.say(
            """
              plans            the plans and their prices
              mine             what you have, and until when
              preview N|PLAN   what buying it would do, with the arithmetic
              buy N|PLAN       buy it
              orders           your orders, newest first
              quit             or the end of the input
            """,
            """
              plans            方案与价格
              mine             我的方案及有效期
              preview 序号|方案  购买前的折算预览，逐步列出算式
              buy 序号|方案    购买
              orders           订单列表，最新的在前
              quit             退出（或输入结束）
            """)
    }

    private func line(_ order: StoreOrder) -> String {
        let price = terminal.price(order.price, order.currency)
        let note = order.note(in: language).map { "  " + $0 } ?? ""
        return "\(order.orderID.prefix(8))  \(terminal.time(order.createdAt))  \(order.productName)  \(price)  "
            + "\(order.title(in: language))\(note)"
    }
}
