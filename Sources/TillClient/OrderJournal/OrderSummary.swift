import TillBilling

/// One line of the buyer's list of orders (L6).
public struct OrderSummary: Hashable, Sendable, Identifiable {
    public let id: OrderID
    public let productID: ProductID
    public let quantity: Int
    public let price: Money?
    public let status: OrderStatus
    /// The status in words: 待充值 / Waiting for payment.
    public let title: Text
    /// Why it is not completed yet, and what to do; nil if there is nothing to say.
    public let note: Text?
    public let transactionID: TransactionID?
    /// Whether the buyer may send the proof again (补充值).
    public let mayResubmit: Bool
    /// When it is sent again by itself.
    public let retryAt: Instant?
    public let createdAt: Instant
    public let updatedAt: Instant

    init(_ entry: JournalEntry) {
        id = entry.id
        productID = entry.productID
        quantity = entry.quantity
        price = entry.price
        status = entry.status
        title = entry.status.title
        note = entry.status == .ongoing ? entry.trouble?.sentence : nil
        transactionID = entry.transactionID
        mayResubmit = entry.status == .ongoing
        retryAt = entry.retryAt
        createdAt = entry.createdAt
        updatedAt = entry.updatedAt
    }
}

extension OrderJournal {
    /// The list of orders, newest first; of one buyer if asked for.
    public func summaries(of user: UserID? = nil) -> [OrderSummary] { entries(of: user).map(OrderSummary.init) }
}
