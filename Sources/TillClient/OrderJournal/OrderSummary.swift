import TillBilling

/// One line of the buyer's list of orders (L6).
public struct OrderSummary: Hashable, Sendable, Identifiable {
    public let id: OrderID
    public let productID: ProductID
    public let quantity: Int
    public let price: Money?
    public private(set) var status: OrderStatus
    /// Why it is not completed, and what to do; nil if there is nothing to say.
    public private(set) var note: Text?
    public let transactionID: TransactionID?
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
        note =
            switch entry.status {
            case .ongoing: entry.trouble?.sentence
            // A reason is a code of the kit's; one of an older version says nothing here.
            case .cancelled, .failed: entry.history.last.flatMap { Trouble.sentence(ofReason: $0.reason) }
            case .prepared, .completed, .deferred, .refunded: nil
            }
        transactionID = entry.transactionID
        retryAt = entry.retryAt
        createdAt = entry.createdAt
        updatedAt = entry.updatedAt
    }

    /// What support asks for: the order's UUID.
    public var orderNumber: String { id.description }
    /// The status in words: 待充值 / Waiting for payment.
    public var title: Text { status.title }
    /// Whether the buyer may send the proof again (补充值).
    public var mayResubmit: Bool { status == .ongoing }

    /// As the server says, where the device could not write it down.
    func showing(_ status: OrderStatus, note: Text? = nil) -> OrderSummary {
        guard self.status != status else { return self }
        var changed = self
        changed.status = status
        changed.note = note
        return changed
    }
}

extension OrderJournal {
    /// The list of orders, newest first; of one buyer if asked for.
    public func summaries(of user: UserID? = nil) -> [OrderSummary] { entries(of: user).map(OrderSummary.init) }

    func summary(of id: OrderID) -> OrderSummary? { self[id].map(OrderSummary.init) }
}
