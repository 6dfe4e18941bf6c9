import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An order in the customer's list of purchases.
public struct StoreOrder: Hashable, Sendable, Identifiable {
    /// The status of an order. A value from a later version keeps its name.
    public struct Status: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        init(_ status: OrderStatus) { rawValue = status.name }

        /// Begun, and not paid yet.
        public static let prepared = Status(.prepared)
        /// Paid, and not granted yet. The kit sends the proof again by itself.
        public static let ongoing = Status(.ongoing)
        /// Paid and granted.
        public static let completed = Status(.completed)
        /// The customer closed the payment sheet.
        public static let cancelled = Status(.cancelled)
        /// The App Store or the server refused.
        public static let failed = Status(.failed)
        /// Another person must approve the purchase (Ask to Buy).
        public static let deferred = Status(.deferred)
        /// Apple refunded or revoked the purchase.
        public static let refunded = Status(.refunded)
    }

    /// The order's UUID, in lower case: the number to give to support. It is the app's own; Apple's order number is
    /// another one.
    public var orderID: String { uuid.description }
    /// The same as `orderID`.
    public var id: String { orderID }
    /// The product id of App Store Connect.
    public var productID: String { product.text }
    /// The product's name when the purchase began; its id if the name is unknown.
    public let productName: String
    /// 1 to 10.
    public let quantity: Int
    /// The total price: what Apple charged, once the server has stated it; before, what the customer was shown. In
    /// units of the currency: 6 for ¥6.00. Nil for a purchase that this device did not begin and that was proved by a
    /// receipt, which states no price.
    public var price: Decimal? { total.map { Decimal(minorUnitsOf: $0) } }
    /// The ISO 4217 code of `price`.
    public var currency: String? { total?.currency.text }
    /// The status of the order.
    public var status: Status { Status(state) }
    /// Apple's transaction id, once the order is paid.
    public var transactionID: String? { transaction?.text }
    /// When the purchase began, by this device's clock.
    public var createdAt: Date { Date(begun) }
    /// When the order last changed, by this device's clock.
    public var updatedAt: Date { Date(changed) }
    /// When the kit sends the proof again by itself.
    public var retryAt: Date? { retry.map(Date.init) }
    /// A Boolean value that indicates whether the customer may send the proof again.
    public var canResubmit: Bool { state == .ongoing }

    /// The status in words: Completed, 充值完成 for points, 已开通 for a subscription.
    ///
    /// - Parameter language: as in `TillError.message(in:)`.
    public func title(in language: String? = nil) -> String { state.title(of: kind).text(in: language) }

    /// Why the order isn't completed, and what to do; nil if there is nothing to say.
    ///
    /// - Parameter language: as in `TillError.message(in:)`.
    public func note(in language: String? = nil) -> String? { sentence?.text(in: language) }

    package let uuid: OrderID
    package let product: ProductID
    package let total: Money?
    package private(set) var state: OrderStatus
    package private(set) var sentence: LocalizedText?
    package let transaction: TransactionID?
    package let retry: Instant?
    package let begun: Instant
    package let changed: Instant
    private let kind: PurchaseKind?
}

extension StoreOrder {
    init(_ entry: JournalEntry) {
        uuid = entry.id
        product = entry.productID
        productName = entry.label?.name ?? entry.productID.text
        kind = entry.label?.kind
        quantity = entry.quantity
        total = entry.paid ?? entry.price
        state = entry.status
        sentence =
            switch entry.status {
            case .ongoing: entry.pendingReason?.sentence
            // The reason is a code of the kit; an unknown code of an older version shows no note.
            case .cancelled, .failed: entry.history.last.flatMap { PendingReason.sentence(ofReason: $0.reason) }
            case .prepared, .completed, .deferred, .refunded: nil
            }
        transaction = entry.transactionID
        retry = entry.retryAt
        begun = entry.createdAt
        changed = entry.updatedAt
    }

    /// The order with the server's status, if the device could not record it.
    func showing(_ state: OrderStatus, note: LocalizedText? = nil) -> StoreOrder {
        guard self.state != state else { return self }
        var shown = self
        shown.state = state
        shown.sentence = note
        return shown
    }
}

extension OrderJournal {
    /// The list of orders, newest first, or those of one buyer.
    package func summaries(of user: UserID? = nil) -> [StoreOrder] { entries(of: user).map(StoreOrder.init) }

    func summary(of id: OrderID) -> StoreOrder? { self[id].map(StoreOrder.init) }
}
