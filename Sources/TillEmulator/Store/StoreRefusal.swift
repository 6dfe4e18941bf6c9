/// Why the store does not do what it was asked. Codes are stable; the sentences are for people.
public enum StoreRefusal: Error, Sendable, Hashable {
    case unknownProduct(String, nearest: String?)
    case notForSale(product: String, storefront: String)
    case quantityNotAllowed(product: String)
    case alreadySubscribed(product: String)
    case unknownTransaction(String)
    case notPurchased(String)
    case alreadyRefunded(String)
    case notWaiting(String)
    case approvalExpired(String)

    public var code: String {
        switch self {
        case .unknownProduct: "unknown_product"
        case .notForSale: "not_for_sale"
        case .quantityNotAllowed: "quantity_not_allowed"
        case .alreadySubscribed: "already_subscribed"
        case .unknownTransaction: "unknown_transaction"
        case .notPurchased: "not_purchased"
        case .alreadyRefunded: "already_refunded"
        case .notWaiting: "not_waiting"
        case .approvalExpired: "approval_expired"
        }
    }

    /// The HTTP status the control API answers with.
    var status: Int {
        switch self {
        case .unknownProduct, .notForSale, .quantityNotAllowed: 422
        case .unknownTransaction: 404
        case .alreadySubscribed, .notPurchased, .alreadyRefunded, .notWaiting, .approvalExpired: 409
        }
    }

    var english: String {
        switch self {
        case .unknownProduct(let id, let nearest):
            "The store does not sell \(id)." + (nearest.map { " Did you mean \($0)?" } ?? "")
                + " PUT /emulator/products replaces what it sells."
        case .notForSale(let product, let storefront):
            "\(product) has no price in storefront \(storefront): add one with PUT /emulator/products."
        case .quantityNotAllowed(let product):
            "\(product) is bought one at a time: only consumables and non-renewing subscriptions take a quantity."
        case .alreadySubscribed(let product):
            "The account already subscribes to \(product), and the period has not ended."
        case .unknownTransaction(let id): "There is no transaction \(id) here."
        case .notPurchased(let id): "Transaction \(id) has not been paid: approve it first."
        case .alreadyRefunded(let id): "Transaction \(id) has been refunded already."
        case .notWaiting(let id): "Transaction \(id) waits for nobody's approval."
        case .approvalExpired(let id):
            "The request to buy behind transaction \(id) is older than 24 hours: buy again."
        }
    }

    var chinese: String {
        switch self {
        case .unknownProduct(let id, let nearest):
            "商店没有商品 \(id)。" + (nearest.map { "是否想写 \($0)？" } ?? "") + "可用 PUT /emulator/products 更换商品。"
        case .notForSale(let product, let storefront):
            "\(product) 在 \(storefront) 没有价格，请用 PUT /emulator/products 补上。"
        case .quantityNotAllowed(let product): "\(product) 一次只能买一个：只有消耗型和非续期订阅可以有数量。"
        case .alreadySubscribed(let product): "该账户已订阅 \(product)，本期尚未结束。"
        case .unknownTransaction(let id): "这里没有交易 \(id)。"
        case .notPurchased(let id): "交易 \(id) 尚未付款，请先批准。"
        case .alreadyRefunded(let id): "交易 \(id) 已经退款。"
        case .notWaiting(let id): "交易 \(id) 不在等待批准。"
        case .approvalExpired(let id): "交易 \(id) 的购买请求已超过 24 小时，请重新购买。"
        }
    }
}
