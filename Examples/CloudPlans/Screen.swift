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
            let cover =
                item.isForOneCamera
                ? terminal.choose("one camera", "一台摄像头") : terminal.choose("all cameras", "全部摄像头")
            terminal.say("  \(index + 1)  \(item.name)  \(item.displayPrice)  \(cover)\(hint)")
        }
    }

    // MARK: What runs

    /// The plans that run, their cameras and ends; a plan that ends within a week without a renewal has a reminder.
    func show(_ entitlements: [Entitlement], names: [String: String]) {
        if entitlements.isEmpty { terminal.say("  no plan yet", "  还没有套餐") }
        for right in entitlements {
            let name = names[right.productID] ?? right.productID
            let cameras = right.deviceIDs?.joined(separator: ", ") ?? terminal.choose("all cameras", "全部摄像头")
            guard let end = right.expires else {
                terminal.say("  \(name) · \(cameras)")
                continue
            }
            let time = terminal.time(end)
            if right.willRenew == true {
                terminal.say("  \(name) · \(cameras), renews \(time)", "  \(name) · \(cameras)，将于 \(time) 续订")
                continue
            }
            terminal.say("  \(name) · \(cameras), until \(time)", "  \(name) · \(cameras)，有效期至 \(time)")
            let days = Int((end.timeIntervalSinceNow / 86_400).rounded(.up))
            if (1...7).contains(days), let plan = right.plan {
                let command = (["buy", plan] + (right.deviceIDs ?? [])).joined(separator: " ")
                terminal.say("  ! ends within \(days) days. To extend: \(command)", "  ！\(days) 天内到期，续费：\(command)")
            }
        }
    }

    func showAccess(of camera: String, _ rank: String?) {
        switch rank {
        case nil: terminal.say("  \(camera) has no plan.", "  \(camera) 没有套餐。")
        case let rank?: terminal.say("  \(camera) records: \(rank)", "  \(camera) 可以录制：\(rank)")
        }
    }

    func show(_ subscriptions: [SubscriptionRecord], names: [String: String]) {
        if subscriptions.isEmpty { terminal.say("  no subscription yet", "  还没有订阅") }
        for one in subscriptions {
            let name = names[one.productID] ?? one.title(in: language)
            let state = one.stateName(in: language)
            guard let renews = one.renews else {
                let end = terminal.time(one.expires)
                terminal.say("  \(name) · \(state), until \(end)", "  \(name) · \(state)，有效期至 \(end)")
                continue
            }
            let price = terminal.price(one.renewalPrice, one.renewalCurrency)
            let next = terminal.time(renews)
            terminal.say(
                "  \(name) · \(state), renews \(next)  \(price)", "  \(name) · \(state)，将于 \(next) 续订  \(price)")
            if let later = one.renewalProductID, later != one.productID {
                let laterName = names[later] ?? later
                terminal.say("    then: \(laterName)", "    届时改为：\(laterName)")
            }
        }
    }

    // MARK: Buying

    /// The calculation line by line, then Apple's price.
    func show(_ preview: PlanPreview, paying plan: StoreProduct) {
        for line in preview.explanation(in: language) { terminal.say("  " + line) }
        terminal.say(
            "  → to pay: \(plan.displayPrice); then until \(terminal.time(preview.expires))",
            "  → 需付款：\(plan.displayPrice)；有效期至 \(terminal.time(preview.expires))")
    }

    func showRenewed(_ plan: StoreProduct) {
        terminal.say(
            """
              \(plan.name): \(plan.displayPrice), until you cancel. Apple starts a higher plan at once and refunds the
              rest of the lower one; a lower plan starts at the next renewal. Plans bought once go on beside it.
            """,
            """
              \(plan.name)：\(plan.displayPrice)，取消前自动续订。升级立即生效，Apple 退还原套餐的剩余金额；
              降级在下次续订时生效。已购买的套餐不受影响。
            """)
    }

    func show(_ result: PurchaseResult, beginsLater: Bool) {
        switch result {
        case .completed where beginsLater:
            terminal.say("  Agreed: it begins at the next renewal.", "  已登记，下次续订时生效。")
        case .completed: terminal.say("  Bought. Thank you!", "  购买成功，谢谢！")
        case .deliveryPending(_, let error):
            let reason = error.message(in: language)
            terminal.say("  Paid; it will arrive by itself. \(reason)", "  已付款，稍后会自动到账。\(reason)")
        case .deferred: terminal.say("  It waits for approval.", "  等待批准。")
        case .cancelled: terminal.say("  Cancelled. Nothing was charged.", "  已取消，没有扣款。")
        case .inProgress: terminal.say("  It is being bought already.", "  正在购买中。")
        }
    }

    func failed(_ error: TillError) { terminal.say("  " + error.message(in: language)) }

    func noSuchPlan(_ choice: String) {
        terminal.say("  There is no plan \(choice). Type plans.", "  没有套餐 \(choice)，请输入 plans。")
    }

    func wrongCamera(_ plan: StoreProduct) {
        plan.isForOneCamera
            ? terminal.say("  \(plan.name) is for one camera: name it.", "  \(plan.name)只用于一台摄像头，请写明摄像头。")
            : terminal.say("  \(plan.name) is for all cameras: name none.", "  \(plan.name)用于全部摄像头，不需要写摄像头。")
    }

    func help() {
        terminal.say(
            """
              plans                    the eight products and their prices
              mine                     what you have, until when, and what ends soon
              camera NAME              whether a camera may record
              preview N|PLAN [CAMERA]  what buying it would do, with the arithmetic
              buy N|PLAN [CAMERA]      buy it: as previewed, if a preview was the last command about it
              subscriptions            state and next renewal
            \(CustomerService.english)
            """,
            """
              plans                    八种商品与价格
              mine                     我的套餐、有效期和即将到期的提醒
              camera 名称              该摄像头能否录制
              preview 序号|套餐 [摄像头]  购买前的折算预览，逐步列出算式
              buy 序号|套餐 [摄像头]   购买；若刚看过预览，结果与预览一致
              subscriptions            订阅状态与下次续订时间
            \(CustomerService.chinese)
            """)
    }
}
