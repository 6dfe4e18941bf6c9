/// What a paid transaction gave its owner. There is exactly one for each environment and transaction.
public struct Grant: Hashable, Sendable, Identifiable {
    public let id: UniqueID
    public let environment: StoreEnvironment
    public let transactionID: TransactionID
    public let orderID: OrderID
    public let userID: UserID
    public let productID: ProductID
    public let quantity: Int
    /// Points by kind, in alphabetical order.
    public let points: [GrantedPoints]
    public let entitlement: String?
    public let at: Instant

    public init(
        id: UniqueID, environment: StoreEnvironment, transactionID: TransactionID, orderID: OrderID, userID: UserID,
        productID: ProductID, quantity: Int, points: [GrantedPoints], entitlement: String?, at: Instant
    ) {
        self.id = id
        self.environment = environment
        self.transactionID = transactionID
        self.orderID = orderID
        self.userID = userID
        self.productID = productID
        self.quantity = quantity
        self.points = points
        self.entitlement = entitlement
        self.at = at
    }

    /// The postings of the grant. `ReclaimedPoints` makes the postings that reverse it.
    public func postings(at: Instant) -> [Posting] {
        points.map { points in
            Posting(
                environment: environment, userID: userID, contra: .sold, currency: points.currency,
                amount: points.amount, kind: .purchase, reference: id.description, at: at)
        }
    }
}

/// An amount of one kind of points.
public struct GrantedPoints: Hashable, Sendable, Codable {
    public let currency: String
    public let amount: Int64

    public init(currency: String, amount: Int64) {
        self.currency = currency
        self.amount = amount
    }
}
