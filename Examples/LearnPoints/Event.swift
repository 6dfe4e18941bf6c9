import TillClient

/// One line of `--json`. README.md lists the members of each event.
struct Event: Encodable {
    let event: String
    var userId: String?
    var productId: String?
    var outcome: String?
    /// The stable code of an error.
    var code: String?
    var message: String?
    var order: Order?
    var orders: [Order]?
    var items: [Item]?
    var isFromCache: Bool?
    var balances: [String: Int64]?
    var productIds: [String]?
    var underWay: Int?

    struct Order: Encodable {
        let orderId: String
        let productId: String
        let quantity: Int
        let status: String
        let statusCode: Int
        let transactionId: String?
        let title: String
        let note: String?

        init(_ order: StoreOrder, _ language: StoreLanguage) {
            orderId = order.orderNumber
            productId = order.productID.text
            quantity = order.quantity
            status = order.status.name
            statusCode = order.status.rawValue
            transactionId = order.transactionID?.text
            title = order.title[language]
            note = order.note?[language]
        }
    }

    struct Item: Encodable {
        let productId: String
        let name: String
        let displayPrice: String
        let canBuy: Bool
        let isPurchasing: Bool

        init(_ item: StoreProduct) {
            productId = item.id
            name = item.name
            displayPrice = item.displayPrice
            canBuy = item.canBuy
            isPurchasing = item.isPurchasing
        }
    }
}

extension PurchaseOutcome {
    /// The outcome's name for programs.
    var name: String {
        switch self {
        case .completed: "completed"
        case .deliveryPending: "deliveryPending"
        case .deferred: "deferred"
        case .cancelled: "cancelled"
        case .failed: "failed"
        case .inProgress: "inProgress"
        }
    }
}
