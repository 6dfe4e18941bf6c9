import Foundation
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
        let transactionId: String?
        let name: String
        /// In units of the currency, as text: 6 for ¥6.00.
        let price: String?
        let currency: String?
        /// Seconds since 1970.
        let createdAt: Int
        let title: String
        let note: String?

        init(_ order: StoreOrder, _ language: String) {
            orderId = order.orderID
            productId = order.productID
            quantity = order.quantity
            status = order.status.rawValue
            transactionId = order.transactionID
            name = order.productName
            price = order.price.map { "\($0)" }
            currency = order.currency
            createdAt = Int(order.createdAt.timeIntervalSince1970)
            title = order.title(in: language)
            note = order.note(in: language)
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

extension PurchaseResult {
    /// The result's name for programs.
    var name: String {
        switch self {
        case .completed: "completed"
        case .deliveryPending: "deliveryPending"
        case .deferred: "deferred"
        case .cancelled: "cancelled"
        case .inProgress: "inProgress"
        }
    }
}
