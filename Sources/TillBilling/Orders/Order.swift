/// What somebody set out to buy: opened before any money moves (O1), and the place where a payment finds its owner.
public struct Order: Hashable, Sendable, Identifiable {
    public let id: OrderID
    public let idSource: OrderIDSource
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
    public let deviceID: DeviceID?
    /// What its buyer was told that it comes to, for a plan (C6).
    public let preview: OrderPreview?
    /// What the app wants to find again, as JSON text. Opaque to us.
    public let metadata: String?
    public let createdAt: Instant
    public var updatedAt: Instant

    public init(
        id: OrderID, userID: UserID, productID: ProductID, quantity: Int, status: OrderStatus = .prepared, price: Money,
        transactionID: TransactionID? = nil, environment: Environment? = nil, deviceID: DeviceID? = nil,
        preview: OrderPreview? = nil, metadata: String? = nil, createdAt: Instant, updatedAt: Instant,
        idSource: OrderIDSource = .server
    ) {
        self.id = id
        self.idSource = idSource
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
            && deviceID == other.deviceID && preview == other.preview && Self.isSame(metadata, other.metadata)
    }

    /// Metadata is text that an outsider writes, so its bytes are compared.
    private static func isSame(_ one: String?, _ other: String?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return one.hasSameBytes(as: other)
    }
}

/// Who chose the id of an order, and so what the id says when Apple signs it as a token.
public enum OrderIDSource: Int, Hashable, Sendable, CaseIterable {
    /// A commitment to the order's user (`OrderIDCommitment`).
    case proven = 1
    /// The server's random choice.
    case server = 2
    /// A backend's choice, which may come from an app's request.
    case secretKey = 3
    /// The server's random choice, for a purchase that had no order.
    case payment = 4
    /// From a ledger that did not ask where an id came from, or from another system.
    case imported = 5
    /// An app's choice without a proof, where the configuration still accepts it.
    case unproven = 6

    /// Whether a stranger can't have chosen an id that stands in another customer's payments.
    public var isUnforgeable: Bool {
        switch self {
        case .proven, .server, .payment: true
        case .secretKey, .imported, .unproven: false
        }
    }
}

extension Order {
    /// Whether a payment whose token is this order's id belongs to the order. An id that somebody else may have chosen
    /// counts only if no stored payment carried it before the order was opened.
    public func mayBeMatched(tokenWasSeenBefore: Bool) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.trustsLateOrderIDs.isPlanted { return true }
        #endif
        return idSource.isUnforgeable || !tokenWasSeenBefore
    }
}

extension Order {
    /// Whether a transaction pays this order, by what stands in it.
    public func isPaid(by id: TransactionID, in environment: Environment) -> Bool {
        transactionID == id && self.environment == environment
    }

    /// Whether the order has a place for a transaction. The sandbox takes no place from a purchase that was paid: its
    /// buyer may be a tester who guessed the order's id.
    public func isFree(for id: TransactionID, in environment: Environment) -> Bool {
        guard transactionID != nil, !isPaid(by: id, in: environment) else { return true }
        return environment == .production && self.environment != .production
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

extension Order {
    /// Whether its status may become another one, by an app's word or Apple's.
    public func mayMove(to next: OrderStatus) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.closesPaidOrders.isPlanted { return true }
        #endif
        return status.mayMove(to: next)
    }
}

extension UniqueID {
    /// Whether it names no order and no account: the nil and the max UUID count as no token at all.
    public var namesNone: Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.matchesAbsentTokens.isPlanted { return false }
        #endif
        return isAbsent
    }
}

/// Where an order stands (L6). The raw value is `statusCode` on the wire; the first five are the articles' own.
public enum OrderStatus: Int, Hashable, Sendable, CaseIterable {
    case prepared = 0
    case completed = 1
    case ongoing = 2
    case cancelled = 3
    case failed = 4
    case deferred = 5
    case refunded = 6

    /// The word on the wire.
    public var name: String {
        switch self {
        case .prepared: "prepared"
        case .completed: "completed"
        case .ongoing: "ongoing"
        case .cancelled: "cancelled"
        case .failed: "failed"
        case .deferred: "deferred"
        case .refunded: "refunded"
        }
    }

    public init?(name: String) {
        guard let status = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = status
    }

    /// What a buyer reads.
    public var title: Text {
        switch self {
        case .prepared: Text(en: "Waiting for payment", zh: "待充值")
        case .completed: Text(en: "Completed", zh: "充值完成")
        case .ongoing: Text(en: "In progress", zh: "充值中")
        case .cancelled: Text(en: "Cancelled", zh: "充值取消")
        case .failed: Text(en: "Failed", zh: "充值失败")
        case .deferred: Text(en: "Waiting for approval", zh: "等待批准")
        case .refunded: Text(en: "Refunded", zh: "已退款")
        }
    }

    /// The moves an order may make in one step. Money outranks a failure: what was cancelled or failed may turn out
    /// paid (T3); what is completed never fails (DESIGN §4, invariant 5).
    public var next: Set<OrderStatus> {
        switch self {
        case .prepared: [.ongoing, .completed, .cancelled, .failed, .deferred]
        case .ongoing: [.completed, .refunded]
        case .deferred: [.ongoing, .completed, .cancelled, .failed]
        case .cancelled, .failed: [.ongoing]
        case .completed: [.refunded]
        case .refunded: [.completed]
        }
    }

    public func mayMove(to status: OrderStatus) -> Bool { next.contains(status) }

    /// The shortest legal way from here to `status`, without the start; nil when there is none.
    public func way(to status: OrderStatus) -> [OrderStatus]? {
        if mayMove(to: status) { return [status] }
        if mayMove(to: .ongoing), OrderStatus.ongoing.mayMove(to: status) { return [.ongoing, status] }
        return nil
    }
}

/// In which order a purchase is delivered, and when the server finishes by itself what a phone did not (G4, U2).
public struct DeliveryTerms: Hashable, Sendable {
    /// The two orders of G4. Neither loses anything: in each, what Apple is told to forget is durable here first.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// The transaction is granted, then the phone is told to finish it.
        case grantThenFinish = "grant-then-finish"
        /// The proof is stored, the phone is told to finish, and the server grants by itself (G5).
        case saveThenFinish = "save-then-finish"
    }

    public var order = Order.grantThenFinish
    /// Seconds that a phone has for finishing by itself, before the server asks Apple to.
    public var finishAfter: Int64 = 600

    public init() {}
}
