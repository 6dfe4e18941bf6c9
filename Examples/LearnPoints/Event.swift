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
    var postings: [Posting]?
    var entitlements: [Right]?
    var purchases: [Claimed]?
    var isGiven: Bool?

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

extension Event {
    struct Posting: Encodable {
        let currency: String
        let amount: Int64
        let kind: String
        /// Seconds since 1970.
        let at: Int

        init(_ posting: WalletPosting) {
            currency = posting.currency
            amount = posting.amount
            kind = posting.kind
            at = Int(posting.date.timeIntervalSince1970)
        }
    }

    struct Right: Encodable {
        let name: String
        let productId: String
        /// Seconds since 1970.
        let expiresAt: Int?
        let sentence: String

        init(_ right: Entitlement, _ language: String) {
            name = right.name
            productId = right.productID
            expiresAt = right.expires.map { Int($0.timeIntervalSince1970) }
            sentence = right.sentence(in: language)
        }
    }

    struct Claimed: Encodable {
        let productId: String?
        let transactionId: String?
        let isYours: Bool
        let code: String?

        init(_ purchase: ClaimedPurchase) {
            productId = purchase.productID
            transactionId = purchase.transactionID
            isYours = purchase.isYours
            code = purchase.code
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
