/// A customer's intent to buy a product. It is opened before the payment, and a payment finds its owner through it.
public struct Order: Hashable, Sendable, Identifiable {
    public let id: OrderID
    public let idSource: OrderIDSource
    public let userID: UserID
    public let productID: ProductID
    /// 1 to 10, the range of StoreKit.
    public let quantity: Int
    public var status: OrderStatus
    /// The list price for the whole quantity when the order was opened.
    public let price: Money
    /// The paid transaction of this order, once there is one.
    public var transactionID: TransactionID?
    /// The environment of that transaction; nil before.
    public var environment: StoreEnvironment?
    /// The device that a plan is for, or the caller's only name for the buyer's device.
    public let deviceID: DeviceID?
    /// The buyer's phone, if it was named beside that device.
    public let phoneID: DeviceID?
    /// For a plan: the preview that the customer was shown.
    public let preview: OrderPreview?
    /// JSON text that the app attaches to the order. Till does not interpret it.
    public let metadata: String?
    public let createdAt: Instant
    public var updatedAt: Instant

    public init(
        id: OrderID, userID: UserID, productID: ProductID, quantity: Int, status: OrderStatus = .prepared, price: Money,
        transactionID: TransactionID? = nil, environment: StoreEnvironment? = nil, deviceID: DeviceID? = nil,
        preview: OrderPreview? = nil, metadata: String? = nil, createdAt: Instant, updatedAt: Instant,
        idSource: OrderIDSource = .server, phoneID: DeviceID? = nil
    ) {
        self.phoneID = phoneID
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

    /// Whether a repeated request means this order: the same buyer, product, quantity, device, preview and metadata.
    /// Status, creation date and phone are not compared.
    public func isSame(as other: Order) -> Bool {
        userID == other.userID && productID == other.productID && quantity == other.quantity
            && deviceID == other.deviceID && preview == other.preview && Self.isSame(metadata, other.metadata)
    }

    /// Metadata is text from outside, so its bytes are compared.
    private static func isSame(_ one: String?, _ other: String?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return one.hasSameBytes(as: other)
    }
}

/// The party that chose the id of an order, which determines how far the id can be trusted as a signed token.
public enum OrderIDSource: Int, Hashable, Sendable, CaseIterable {
    /// A commitment to the order's user (`OrderIDCommitment`).
    case proven = 1
    /// The server chose it at random.
    case server = 2
    /// A backend chose it, possibly from an app's request.
    case secretKey = 3
    /// The server chose it at random, for a purchase without an order.
    case payment = 4
    /// From a ledger that did not record the source of ids, or from another system.
    case imported = 5
    /// An app chose it without a proof, which the configuration may still allow.
    case unproven = 6

    /// Whether an attacker cannot have chosen an id that another customer's payments carry.
    public var isUnforgeable: Bool {
        switch self {
        case .proven, .server, .payment: true
        case .secretKey, .imported, .unproven: false
        }
    }
}

extension Order {
    /// Whether a payment whose token is this order's id belongs to the order. An id that an attacker may have chosen
    /// counts only if no stored payment carried it before the order was opened.
    public func mayBeMatched(tokenWasSeenBefore: Bool) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.trustsLateOrderIDs.isPlanted { return true }
        #endif
        return idSource.isUnforgeable || !tokenWasSeenBefore
    }
}

extension Order {
    /// Whether the order records this transaction as its payment.
    public func isPaid(by id: TransactionID, in environment: StoreEnvironment) -> Bool {
        transactionID == id && self.environment == environment
    }

    /// Whether the order can accept a transaction. A sandbox purchase does not block the order for a paid one: its
    /// buyer may be a tester who guessed the order's id.
    public func isFree(for id: TransactionID, in environment: StoreEnvironment) -> Bool {
        guard transactionID != nil, !isPaid(by: id, in: environment) else { return true }
        return environment == .production && self.environment != .production
    }
}

/// The result of a preview: its moment, and the end of the service.
public struct OrderPreview: Hashable, Sendable {
    public let at: Instant
    public let expiresAt: Instant

    public init(at: Instant, expiresAt: Instant) {
        self.at = at
        self.expiresAt = expiresAt
    }
}

/// One entry of an order's history.
public struct OrderMove: Hashable, Sendable {
    public let status: OrderStatus
    public let at: Instant
    /// A stable code or a sentence with the reason; empty if there is none.
    public let reason: String

    public init(status: OrderStatus, at: Instant, reason: String) {
        self.status = status
        self.at = at
        self.reason = reason
    }
}

extension Order {
    /// Whether an app's report or Apple's statement may change the status to another one.
    public func mayMove(to next: OrderStatus) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.closesPaidOrders.isPlanted { return true }
        #endif
        return status.mayMove(to: next)
    }
}

extension UniqueID {
    /// Whether the token names no order and no account: the nil and the max UUID count as no token.
    public var isNilOrMaximum: Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.matchesAbsentTokens.isPlanted { return false }
        #endif
        return isAbsent
    }
}

/// The status of an order. The raw value is `statusCode` in the API: 0 to 4 are the basic statuses; deferred and
/// refunded complete them.
public enum OrderStatus: Int, Hashable, Sendable, CaseIterable {
    case prepared = 0
    case completed = 1
    case ongoing = 2
    case cancelled = 3
    case failed = 4
    case deferred = 5
    case refunded = 6

    /// The name in the API.
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

    /// The title that customers see. Chinese names what is bought: points are topped up (充值), a subscription becomes
    /// active (开通).
    ///
    /// - Parameter kind: nil if the product is unknown.
    public func title(of kind: PurchaseKind?) -> LocalizedText {
        func title(_ english: String, topUp: String, access: String, unknown: String) -> LocalizedText {
            switch kind {
            case .topUp: LocalizedText(en: english, zh: topUp)
            case .access: LocalizedText(en: english, zh: access)
            case nil: LocalizedText(en: english, zh: unknown)
            }
        }
        return switch self {
        case .prepared: title("Waiting for payment", topUp: "待充值", access: "待付款", unknown: "待付款")
        case .completed: title("Completed", topUp: "充值完成", access: "已开通", unknown: "已完成")
        case .ongoing: title("In progress", topUp: "充值中", access: "开通中", unknown: "处理中")
        case .cancelled: title("Cancelled", topUp: "充值取消", access: "已取消", unknown: "已取消")
        case .failed: title("Failed", topUp: "充值失败", access: "开通失败", unknown: "失败")
        case .deferred: LocalizedText(en: "Waiting for approval", zh: "等待批准")
        case .refunded: LocalizedText(en: "Refunded", zh: "已退款")
        }
    }

    /// Whether a status may follow in one step. Money outranks a failure: a cancelled or failed order may turn out to
    /// be paid, and a completed order never fails.
    public func mayMove(to next: OrderStatus) -> Bool {
        switch (self, next) {
        case (.prepared, .ongoing), (.prepared, .completed), (.prepared, .cancelled), (.prepared, .failed),
            (.prepared, .deferred):
            true
        case (.ongoing, .completed), (.ongoing, .refunded): true
        case (.deferred, .ongoing), (.deferred, .completed), (.deferred, .cancelled), (.deferred, .failed): true
        case (.cancelled, .ongoing), (.failed, .ongoing): true
        case (.completed, .refunded), (.refunded, .completed): true
        case (.prepared, _), (.ongoing, _), (.deferred, _), (.cancelled, _), (.failed, _), (.completed, _),
            (.refunded, _):
            false
        }
    }

    /// The shortest legal path from here to `status`, without the start; nil if there is none.
    public func way(to status: OrderStatus) -> [OrderStatus]? {
        if mayMove(to: status) { return [status] }
        if mayMove(to: .ongoing), OrderStatus.ongoing.mayMove(to: status) { return [.ongoing, status] }
        return nil
    }
}

/// The order of granting and finishing a purchase, and when the server finishes a transaction that the phone did not.
public struct DeliveryTerms: Hashable, Sendable {
    /// The two delivery modes. Neither loses a purchase: the grant or the proof is durable on the server before the
    /// transaction is finished.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// The server grants the transaction, then the phone finishes it.
        case grantThenFinish = "grant-then-finish"
        /// The server stores the proof, the phone finishes the transaction, and the server grants it afterwards.
        case saveThenFinish = "save-then-finish"
    }

    public var order = Order.grantThenFinish
    /// Seconds in which the phone may finish a transaction, before the server finishes it at Apple.
    public var finishAfter: Int64 = 600
    /// Days from the purchase date after which a purchase that arrives is marked as late in its evidence. It is granted
    /// like any other.
    public var lateAfterDays: Int64 = 30

    public init() {}

    /// How late a purchase arrives, in seconds; nil within the window.
    public func lateness(ofPurchaseAt purchased: Instant, recordedAt now: Instant) -> Int64? {
        let seconds = (now.milliseconds - purchased.milliseconds) / 1_000
        return seconds > lateAfterDays * 86_400 ? seconds : nil
    }
}
