import TillAppStore
import TillBilling
import TillSQL

/// The emulated store: products, accounts, purchases and the clock. Every change is one commit together with the
/// notifications about it. Each topic adds its operations in an extension.
public struct Store: Sendable {
    let database: any Database
    let configuration: EmulatorConfiguration
    let clock: StoreClock
    let entropy: @Sendable (Int) -> [UInt8]
    let notifications: NotificationSender
    let faultInjector: FaultInjector

    /// The store's time; see `StoreClock`.
    public var now: Instant { clock.now }

    // MARK: Writing and reading

    /// Changes the store. Everything already due happens first, so a caller never acts on an outdated state.
    func change<Value: Sendable>(_ body: @escaping @Sendable (StoreChange) throws -> Value) async throws -> Value {
        let (clock, configuration, entropy) = (clock, configuration, entropy)
        while true {
            let value: Value? = try await database.write { connection in
                let now = clock.now
                guard try Self.performDue(by: now, connection, configuration, entropy) else { return nil }
                return try body(
                    StoreChange(connection: connection, now: now, configuration: configuration, entropy: entropy))
            }
            notifications.wake()
            if let value { return value }
        }
    }

    /// Reads the store as it is now.
    func ask<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        let clock = clock
        while true {
            let value: Value? = try await database.read { connection in
                guard try Schedule.next(by: clock.now, connection) == nil else { return nil }
                return try body(connection)
            }
            if let value { return value }
            try await catchUp()
        }
    }

    /// Performs everything that is due, each entry at its own moment, in order.
    func catchUp() async throws {
        let clock = clock
        while try await database.read({ try Schedule.next(by: clock.now, $0) }) != nil {
            let (configuration, entropy) = (configuration, entropy)
            try await database.write { connection in
                _ = try Self.performDue(by: clock.now, connection, configuration, entropy)
            }
            notifications.wake()
        }
    }

    /// Performs what is due, within a bound for one commit: a store that was off for long may catch up on a year of a
    /// thousand customers.
    ///
    /// - Returns: whether nothing more is due.
    private static func performDue(
        by now: Instant, _ connection: any Connection, _ configuration: EmulatorConfiguration,
        _ entropy: @escaping @Sendable (Int) -> [UInt8]
    ) throws -> Bool {
        for _ in 0..<256 {
            guard let entry = try Schedule.next(by: now, connection) else { return true }
            try perform(entry, connection, configuration, entropy)
        }
        return false
    }

    /// Removes an entry from the schedule and performs it at its own moment. Performing it may schedule the next one.
    static func perform(
        _ entry: Schedule.Entry, _ connection: any Connection, _ configuration: EmulatorConfiguration,
        _ entropy: @escaping @Sendable (Int) -> [UInt8]
    ) throws {
        try Schedule.set(entry.kind, entry.subject, at: nil, connection)
        let change = StoreChange(connection: connection, now: entry.due, configuration: configuration, entropy: entropy)
        switch entry.kind {
        case .subscription: try SubscriptionLifecycle.reachDate(of: entry.subject, change)
        case .refund: try Refunds.decide(entry.subject, change)
        case .approval: try PurchaseApprovals.expire(entry.subject, change)
        case .massExtension: try MassExtension.proceed(entry.subject, change)
        case .priceIncrease: try ProductPriceIncrease.proceed(entry.subject, change)
        }
    }
}

/// One store change: its connection, its moment and its notifications, all in one commit.
struct StoreChange {
    let connection: any Connection
    /// The moment of everything in this change: now, or the scheduled time.
    let now: Instant
    let configuration: EmulatorConfiguration
    /// Returns the requested number of random bytes.
    let entropy: @Sendable (Int) -> [UInt8]

    func uniqueID() -> UniqueID { UniqueID(random: entropy(16)) }

    /// Records a notification to the developer's server, if a URL is configured.
    /// - Returns: its id; nil if no URL is configured.
    @discardableResult
    func note(_ notice: NotificationDraft) throws -> UniqueID? {
        guard try SettingTable.value(.notificationURL, connection) != nil else { return nil }
        let notification = StoredNotification(
            number: 0, uuid: uniqueID(), type: notice.type.rawValue, subtype: notice.subtype?.rawValue,
            bundleID: notice.bundleID, original: notice.transaction?.original, created: now,
            content: notice.content(at: now).encoded(), signedPayload: nil, attempts: 0)
        let hasSpace = try Counter.pendingNotifications.value(connection) < configuration.notificationLimit
        try NotificationTable.insert(notification, due: hasSpace ? now : nil, connection)
        return notification.uuid
    }

    /// Records a notification about a transaction, with its subscription if it has one.
    func note(
        _ type: NotificationType, _ subtype: NotificationSubtype? = nil, about transaction: StoreTransaction,
        _ subscription: StoreSubscription? = nil
    ) throws {
        try note(NotificationDraft(type, subtype, transaction, subscription))
    }
}

/// Why the store refuses a request. Codes are stable; the sentences are for people. Each topic adds its own refusals in
/// an extension.
public struct StoreRefusal: Error, Sendable, Hashable {
    public let code: String
    /// The HTTP status the control API answers with.
    let status: Int
    let english: String
    let chinese: String

    init(_ code: String, status: Int, _ english: String, _ chinese: String) {
        self.code = code
        self.status = status
        self.english = english
        self.chinese = chinese
    }
}

extension StoreRefusal {
    static func unknownProduct(_ id: String, nearest: String?) -> StoreRefusal {
        StoreRefusal(
            "unknown_product", status: 422,
            "The store does not sell \(id)." + (nearest.map { " Did you mean \($0)?" } ?? "")
                + " Use PUT /emulator/products to replace the products.",
            "商店没有商品 \(id)。" + (nearest.map { "是否想写 \($0)？" } ?? "") + "可用 PUT /emulator/products 更换商品。")
    }

    static func notForSale(product: String, storefront: String) -> StoreRefusal {
        StoreRefusal(
            "not_for_sale", status: 422,
            "\(product) has no price in storefront \(storefront): add one with PUT /emulator/products.",
            "\(product) 在 \(storefront) 没有价格，请用 PUT /emulator/products 补上。")
    }

    static func quantityNotAllowed(product: String) -> StoreRefusal {
        StoreRefusal(
            "quantity_not_allowed", status: 422,
            "\(product) allows no quantity above 1. Only consumables and non-renewing subscriptions do.",
            "\(product) 一次只能购买一个；只有消耗型商品和非续期订阅可以指定数量。")
    }

    static func alreadySubscribed(product: String) -> StoreRefusal {
        StoreRefusal(
            "already_subscribed", status: 409,
            "The account already subscribes to \(product), and the period has not ended.",
            "该账户已订阅 \(product)，本期尚未结束。")
    }

    static func unknownTransaction(_ id: String) -> StoreRefusal {
        StoreRefusal("unknown_transaction", status: 404, "There is no transaction \(id).", "没有交易 \(id)。")
    }

    static func notPurchased(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "not_purchased", status: 409, "Transaction \(id) has not been paid. Approve it first.",
            "交易 \(id) 尚未付款，请先批准。")
    }

    static func alreadyRefunded(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "already_refunded", status: 409, "Transaction \(id) has already been refunded.", "交易 \(id) 已经退款。")
    }

    static func notWaiting(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "not_waiting", status: 409, "Transaction \(id) is not waiting for approval.", "交易 \(id) 不在等待批准。")
    }

    static func approvalExpired(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "approval_expired", status: 409,
            "The purchase request of transaction \(id) is older than 24 hours. Buy the product again.",
            "交易 \(id) 的购买请求已超过 24 小时，请重新购买。")
    }

    static func unknownSubscription(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "unknown_subscription", status: 404,
            "There is no subscription with the original transaction \(id).", "没有首笔交易为 \(id) 的订阅。")
    }

    static func unknownAccount(_ name: String) -> StoreRefusal {
        StoreRefusal("unknown_account", status: 404, "There is no account \(name).", "没有账户 \(name)。")
    }
}
