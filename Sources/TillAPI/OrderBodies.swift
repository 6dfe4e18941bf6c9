import TillBilling

/// `POST /v1/orders`.
public struct OpenOrderBody: Codable, Sendable {
    /// Chosen by the device, so that a repeated request makes no second order (O1); by the server if absent. Under a
    /// user token it is an `OrderIDCommitment` to the user.
    public var id: UniqueID?
    /// What proves that `id` is a commitment to its user. Needed beside an `id` under a user token.
    public var idNonce: OrderIDNonce?
    /// The user that `id` commits to, where that is a guest who has become part of the caller's account since.
    public var idUserId: String?
    /// An app's own order number, in place of `id`: the order's id is then derived from it and the user, so the same
    /// number of the same user is the same order. 1 to 255 bytes.
    public var orderNumber: String?
    /// Who buys. Believed from a backend; an app's own token decides otherwise.
    public var userId: String?
    public var productId: String
    /// 1 to 10; 1 if absent.
    public var quantity: Int?
    public var deviceId: String?
    /// What the buyer was told, for a plan: the purchase then does exactly that, or the order is not opened (C6).
    public var preview: Preview?
    public var metadata: Metadata?

    /// Of a `PlanPreviewReply`.
    public struct Preview: Codable, Sendable, Hashable {
        public let at: Instant
        public let expiresAt: Instant
        /// For all of the quantity. Not compared if absent.
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
        orderNumber: String? = nil
    ) {
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
    /// For the order's history: the device's error in words, at most 500 bytes.
    public var reason: String?

    public init(reason: String?) { self.reason = reason }
}

/// An order as it is sent.
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

    /// What the buyer was told before.
    public struct Preview: Codable, Sendable, Hashable {
        public let at: Instant
        public let expiresAt: Instant
    }

    public let id: UniqueID
    public let userId: String
    public let productId: String
    public let quantity: Int
    public let status: String
    public let statusCode: Int
    /// True if it was paid in the sandbox, where nobody pays: give no real goods. Absent otherwise.
    public let sandbox: Bool?
    public let price: Money
    /// Null until the order is paid.
    public let transactionId: String?
    /// Null until the order is paid.
    public let environment: String?
    public let deviceId: String?
    /// Null unless the order was opened on one.
    public let preview: Preview?
    public let metadata: Metadata?
    public let createdAt: Instant
    public let updatedAt: Instant
    /// Oldest first.
    public let history: [Move]

    public init(_ order: Order, metadata: Metadata?, history: [OrderMove]) {
        id = order.id
        userId = order.userID.text
        productId = order.productID.text
        quantity = order.quantity
        status = order.status.name
        statusCode = order.status.rawValue
        sandbox = order.environment?.sandboxMark
        price = order.price
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
        case id, userId, productId, quantity, status, statusCode, sandbox, price, transactionId, environment, deviceId
        case preview, metadata, createdAt, updatedAt, history
    }

    /// Members that are not known yet are sent as null, so that the shape is always whole.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(userId, forKey: .userId)
        try container.encode(productId, forKey: .productId)
        try container.encode(quantity, forKey: .quantity)
        try container.encode(status, forKey: .status)
        try container.encode(statusCode, forKey: .statusCode)
        try container.encodeIfPresent(sandbox, forKey: .sandbox)
        try container.encode(price, forKey: .price)
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

/// One page of a list. `nextCursor` goes into the next request as `cursor`.
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
