import TillBilling

/// `POST /v1/orders`.
public struct OpenOrderBody: Codable, Sendable {
    /// The order's id, chosen by the device so that a repeated request does not open a second order; if absent, the
    /// server chooses it. With a user token it is an `OrderIDCommitment` to the user.
    public var id: UniqueID?
    /// Proves that `id` is a commitment to its user. Required with an `id` from a user token.
    public var idNonce: OrderIDNonce?
    /// The user that `id` commits to, if that is a guest who has since been merged into the caller's account.
    public var idUserId: String?
    /// An app's own order number, instead of `id`. The order's id is derived from it and the user, so the same number
    /// of the same user is always the same order. 1 to 255 bytes.
    public var orderNumber: String?
    /// The buyer, as stated by a backend. For an app, its user token determines the buyer.
    public var userId: String?
    public var productId: String
    /// 1 to 10; 1 if absent.
    public var quantity: Int?
    /// The device that a plan is for.
    public var deviceId: String?
    /// The app's name for the buyer's phone, which finds a payment whose order id Apple lost. If absent, `deviceId`
    /// finds it. A plan for one device is for this phone if `deviceId` is absent.
    public var phoneId: String?
    /// The preview that the buyer was shown, for a plan. The purchase has exactly that result, or the order is not
    /// opened.
    public var preview: Preview?
    public var metadata: Metadata?

    /// Values of a `PlanPreviewReply`.
    public struct Preview: Codable, Sendable, Hashable {
        public let at: Instant
        public let expiresAt: Instant
        /// For the whole quantity. Not compared if absent.
        public let price: Money?

        public init(at: Instant, expiresAt: Instant, price: Money? = nil) {
            self.at = at
            self.expiresAt = expiresAt
            self.price = price
        }
    }

    public init(
        id: UniqueID? = nil, userId: String? = nil, productId: String, quantity: Int? = nil, deviceId: String? = nil,
        preview: Preview? = nil, metadata: Metadata? = nil, idNonce: OrderIDNonce? = nil, idUserId: String? = nil,
        orderNumber: String? = nil, phoneId: String? = nil
    ) {
        self.phoneId = phoneId
        self.orderNumber = orderNumber
        self.id = id
        self.idNonce = idNonce
        self.idUserId = idUserId
        self.userId = userId
        self.productId = productId
        self.quantity = quantity
        self.deviceId = deviceId
        self.preview = preview
        self.metadata = metadata
    }
}

/// `POST /v1/orders/{id}/cancel` and `/fail`.
public struct OrderReasonBody: Codable, Sendable {
    /// For the order's history: the device's error text, at most 500 bytes.
    public var reason: String?

    public init(reason: String?) { self.reason = reason }
}

/// An order in a response.
public struct OrderReply: Codable, Sendable, Hashable {
    public struct Move: Codable, Sendable, Hashable {
        public let status: String
        public let at: Instant
        public let reason: String

        public init(_ move: OrderMove) {
            status = move.status.name
            at = move.at
            reason = move.reason
        }
    }

    /// The preview that the buyer was shown.
    public struct Preview: Codable, Sendable, Hashable {
        public let at: Instant
        public let expiresAt: Instant
    }

    public let id: UniqueID
    public let userId: String
    public let productId: String
    /// Absent if the catalogue no longer lists the product.
    public let productNames: ProductNames?
    /// What the purchase does: `topUp` adds points, `access` opens a subscription, a plan or a permanent entitlement.
    /// Absent if the catalogue no longer lists the product.
    public let purchaseKind: PurchaseKind?
    public let quantity: Int
    public let status: String
    public let statusCode: Int
    /// True if it was paid in the sandbox, where purchases are not paid: do not deliver real goods. Absent otherwise.
    public let sandbox: Bool?
    /// The list price for the whole quantity when the order was opened.
    public let price: Money
    /// What Apple charged for the whole quantity. Absent until the order is paid, and if Apple stated no price, as in a
    /// receipt.
    public let paid: Money?
    /// Null until the order is paid.
    public let transactionId: String?
    /// Null until the order is paid.
    public let environment: String?
    public let deviceId: String?
    /// Null unless the order was opened with a preview.
    public let preview: Preview?
    public let metadata: Metadata?
    public let createdAt: Instant
    public let updatedAt: Instant
    /// Oldest first.
    public let history: [Move]

    public init(
        _ order: Order, of product: CatalogProduct? = nil, paid: Money? = nil, metadata: Metadata?, history: [OrderMove]
    ) {
        id = order.id
        productNames = product?.names
        purchaseKind = product?.purchaseKind
        userId = order.userID.text
        productId = order.productID.text
        quantity = order.quantity
        status = order.status.name
        statusCode = order.status.rawValue
        sandbox = order.environment?.sandboxMark
        price = order.price
        self.paid = paid
        transactionId = order.transactionID?.text
        environment = order.environment?.rawValue
        deviceId = order.deviceID?.text
        preview = order.preview.map { Preview(at: $0.at, expiresAt: $0.expiresAt) }
        self.metadata = metadata
        createdAt = order.createdAt
        updatedAt = order.updatedAt
        self.history = history.map(Move.init)
    }

    private enum CodingKeys: String, CodingKey {
        case id, userId, productId, productNames, purchaseKind, quantity, status, statusCode, sandbox, price, paid
        case transactionId, environment, deviceId, preview, metadata, createdAt, updatedAt, history
    }

    /// Most members without a value are sent as null.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(userId, forKey: .userId)
        try container.encode(productId, forKey: .productId)
        try container.encodeIfPresent(productNames, forKey: .productNames)
        try container.encodeIfPresent(purchaseKind, forKey: .purchaseKind)
        try container.encode(quantity, forKey: .quantity)
        try container.encode(status, forKey: .status)
        try container.encode(statusCode, forKey: .statusCode)
        try container.encodeIfPresent(sandbox, forKey: .sandbox)
        try container.encode(price, forKey: .price)
        try container.encodeIfPresent(paid, forKey: .paid)
        try container.encode(transactionId, forKey: .transactionId)
        try container.encode(environment, forKey: .environment)
        try container.encode(deviceId, forKey: .deviceId)
        try container.encode(preview, forKey: .preview)
        try container.encode(metadata, forKey: .metadata)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encode(updatedAt, forKey: .updatedAt)
        try container.encode(history, forKey: .history)
    }
}

/// One page of a list. Send `nextCursor` as `cursor` to request the next page.
public struct Page<Element: Codable & Sendable>: Codable, Sendable {
    public let data: [Element]
    public let hasMore: Bool
    public let nextCursor: String?

    public init(data: [Element], hasMore: Bool, nextCursor: String?) {
        self.data = data
        self.hasMore = hasMore
        self.nextCursor = nextCursor
    }

    private enum CodingKeys: String, CodingKey { case data, hasMore, nextCursor }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(data, forKey: .data)
        try container.encode(hasMore, forKey: .hasMore)
        try container.encode(nextCursor, forKey: .nextCursor)
    }
}

/// One page of a user's orders.
public struct OrderPage: Codable, Sendable {
    public let data: [OrderReply]
    public let hasMore: Bool
    public let nextCursor: String?
    /// For 180 days after the ledger was restored from a backup: a device opens orders again that the backup lacked.
    public let restored: RestoredLedger?

    public init(_ page: Page<OrderReply>, restored: RestoredLedger?) {
        (data, hasMore, nextCursor) = (page.data, page.hasMore, page.nextCursor)
        self.restored = restored
    }

    private enum CodingKeys: String, CodingKey { case data, hasMore, nextCursor, restored }

    public func encode(to encoder: any Encoder) throws {
        try Page(data: data, hasMore: hasMore, nextCursor: nextCursor).encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(restored, forKey: .restored)
    }
}

/// A restore of the ledger from a backup.
public struct RestoredLedger: Codable, Sendable, Hashable {
    /// What happened later was not in the backup.
    public let backupAt: Instant
    public let restoredAt: Instant

    public init(backupAt: Instant, restoredAt: Instant) {
        self.backupAt = backupAt
        self.restoredAt = restoredAt
    }
}
