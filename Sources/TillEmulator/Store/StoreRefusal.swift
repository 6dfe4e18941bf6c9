/// Why the store does not do what it was asked. Codes are stable; the sentences are for people. Each room adds its own
/// as an extension.
public struct StoreRefusal: Error, Sendable, Hashable {
    public let code: String
    /// The HTTP status the control API answers with.
    let status: Int
    let english: String
    let chinese: String

    init(_ code: String, status: Int, _ english: String, _ chinese: String) {
        self.code = code
        self.status = status
        self.english = english
        self.chinese = chinese
    }
}

extension StoreRefusal {
    static func unknownProduct(_ id: String, nearest: String?) -> StoreRefusal {
        StoreRefusal(
            "unknown_product", status: 422,
            "The store does not sell \(id)." + (nearest.map { " Did you mean \($0)?" } ?? "")
                + " PUT /emulator/products replaces what it sells.",
            "商店没有商品 \(id)。" + (nearest.map { "是否想写 \($0)？" } ?? "") + "可用 PUT /emulator/products 更换商品。")
    }

    static func notForSale(product: String, storefront: String) -> StoreRefusal {
        StoreRefusal(
            "not_for_sale", status: 422,
            "\(product) has no price in storefront \(storefront): add one with PUT /emulator/products.",
            "\(product) 在 \(storefront) 没有价格，请用 PUT /emulator/products 补上。")
    }

    static func quantityNotAllowed(product: String) -> StoreRefusal {
        StoreRefusal(
            "quantity_not_allowed", status: 422,
            "\(product) is bought one at a time: only consumables and non-renewing subscriptions take a quantity.",
            "\(product) 一次只能买一个：只有消耗型和非续期订阅可以有数量。")
    }

    static func alreadySubscribed(product: String) -> StoreRefusal {
        StoreRefusal(
            "already_subscribed", status: 409,
            "The account already subscribes to \(product), and the period has not ended.",
            "该账户已订阅 \(product)，本期尚未结束。")
    }

    static func unknownTransaction(_ id: String) -> StoreRefusal {
        StoreRefusal("unknown_transaction", status: 404, "There is no transaction \(id) here.", "这里没有交易 \(id)。")
    }

    static func notPurchased(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "not_purchased", status: 409, "Transaction \(id) has not been paid: approve it first.",
            "交易 \(id) 尚未付款，请先批准。")
    }

    static func alreadyRefunded(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "already_refunded", status: 409, "Transaction \(id) has been refunded already.", "交易 \(id) 已经退款。")
    }

    static func notWaiting(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "not_waiting", status: 409, "Transaction \(id) waits for nobody's approval.", "交易 \(id) 不在等待批准。")
    }

    static func approvalExpired(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "approval_expired", status: 409,
            "The request to buy behind transaction \(id) is older than 24 hours: buy again.",
            "交易 \(id) 的购买请求已超过 24 小时，请重新购买。")
    }

    static func unknownSubscription(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "unknown_subscription", status: 404,
            "There is no subscription with the original transaction \(id) here.", "这里没有首笔交易为 \(id) 的订阅。")
    }

    static func unknownAccount(_ name: String) -> StoreRefusal {
        StoreRefusal("unknown_account", status: 404, "There is no account \(name) here.", "这里没有账户 \(name)。")
    }
}
