/// What somebody set out to buy: opened before any money moves (O1), and the place where a payment finds its owner.
public struct Order: Hashable, Sendable, Identifiable {
    public let id: OrderID
    public let userID: UserID
    public let productID: ProductID
    /// 1 to 10, as StoreKit allows.
    public let quantity: Int
    public var status: OrderStatus
    /// The list price when the order was opened, for all of the quantity.
    public let price: Money
    /// The paid transaction this order holds, once there is one.
    public var transactionID: TransactionID?
    /// Where that transaction was made; unknown before.
    public var environment: Environment?
    public let deviceID: String?
    /// What its buyer was told that it comes to, for a plan (C6).
    public let preview: OrderPreview?
    /// What the app wants to find again, as JSON text. Opaque to us.
    public let metadata: String?
    public let createdAt: Instant
    public var updatedAt: Instant

    public init(
        id: OrderID, userID: UserID, productID: ProductID, quantity: Int, status: OrderStatus = .prepared, price: Money,
        transactionID: TransactionID? = nil, environment: Environment? = nil, deviceID: String? = nil,
        preview: OrderPreview? = nil, metadata: String? = nil, createdAt: Instant, updatedAt: Instant
    ) {
        self.id = id
        self.userID = userID
        self.productID = productID
        self.quantity = quantity
        self.status = status
        self.price = price
        self.transactionID = transactionID
        self.environment = environment
        self.deviceID = deviceID
        self.preview = preview
        self.metadata = metadata
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    /// Whether a repeated request means this same order (O1): the same buyer, product, quantity, device, preview and
    /// metadata. Where it stands and when it was opened is not asked.
    public func isSame(as other: Order) -> Bool {
        userID == other.userID && productID == other.productID && quantity == other.quantity
            && deviceID == other.deviceID && preview == other.preview && metadata == other.metadata
    }
}

/// What a preview said of a purchase: computed for one moment, and the end of the service.
public struct OrderPreview: Hashable, Sendable {
    public let at: Instant
    public let expiresAt: Instant

    public init(at: Instant, expiresAt: Instant) {
        self.at = at
        self.expiresAt = expiresAt
    }
}

/// One line of an order's history.
public struct OrderMove: Hashable, Sendable {
    public let status: OrderStatus
    public let at: Instant
    /// A stable word or a sentence saying why; empty when there is nothing to say.
    public let reason: String

    public init(status: OrderStatus, at: Instant, reason: String) {
        self.status = status
        self.at = at
        self.reason = reason
    }
}
