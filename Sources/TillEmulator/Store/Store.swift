import TillAppStore
import TillBilling
import TillStorage

/// The emulated store's shelves, accounts and till: everything that changes its state goes through here, one commit
/// for each change together with the notification that tells of it.
public struct Store: Sendable {
    let database: any Database
    let configuration: EmulatorConfiguration
    let clock: @Sendable () -> Instant
    let notifications: NotificationSender

    private var sheet: PaymentSheet {
        PaymentSheet(environment: configuration.environment, storefront: configuration.storefront)
    }

    public var now: Instant { clock() }

    // MARK: What changes

    public func purchase(_ request: PurchaseRequest) async throws -> Result<PurchaseResult, StoreRefusal> {
        let now = clock()
        let (sheet, notifications) = (sheet, notifications)
        let result = try await database.write { session in
            let result = try sheet.pay(request, at: now, session)
            if case .success(.purchased(let transaction)) = result {
                try Self.noteCharge(transaction, notifications, at: now, session)
            }
            return result
        }
        notifications.wake()
        return result
    }

    /// Approves or declines what waits for a parent, or lets an interrupted purchase go through.
    public func settle(_ number: Int64, approved: Bool) async throws -> Result<StoreTransaction, StoreRefusal> {
        let now = clock()
        let (sheet, notifications) = (sheet, notifications)
        let result = try await database.write { session in
            let result = try sheet.settle(number, approved: approved, at: now, session)
            if case .success(let transaction) = result, transaction.state == .purchased {
                try Self.noteCharge(transaction, notifications, at: now, session)
            }
            return result
        }
        notifications.wake()
        return result
    }

    /// - Parameter percentage: thousandths of a percent; 100000 is all of it.
    public func refund(
        _ number: Int64, reason: Int64 = 0, percentage: Int64 = 100_000
    ) async throws -> Result<StoreTransaction, StoreRefusal> {
        let now = clock()
        let (sheet, notifications) = (sheet, notifications)
        let result = try await database.write { session in
            let result = try sheet.refund(number, reason: reason, percentage: percentage, at: now, session)
            if case .success(let transaction) = result {
                try notifications.note(
                    "REFUND", about: transaction, bundleID: transaction.bundleID, at: now, session)
            }
            return result
        }
        notifications.wake()
        return result
    }

    /// Takes a transaction out of its account's queue.
    public func finish(_ number: Int64) async throws -> Result<StoreTransaction, StoreRefusal> {
        let sheet = sheet
        return try await database.write { session in try sheet.finish(number, session) }
    }

    public func replaceProducts(_ products: [StoreProduct]) async throws {
        try await database.write { session in try ProductTable.replace(products, session) }
    }

    /// Where notifications go from now on; nil turns them off. What was noted before goes there too.
    public func setNotificationURL(_ url: String?) async throws {
        try await database.write { session in try SettingTable.set(.notificationURL, to: url, session) }
        notifications.wake()
    }

    /// A notification of type TEST.
    /// - Returns: its id; nil if there is no URL to send it to.
    public func sendTestNotification(bundleID: String) async throws -> UniqueID? {
        let now = clock()
        let notifications = notifications
        let uuid = try await database.write { session in
            try notifications.note("TEST", about: nil, bundleID: bundleID, at: now, session)
        }
        notifications.wake()
        return uuid
    }

    /// SUBSCRIBED for the first purchase of a subscription and for coming back to it, ONE_TIME_CHARGE for all else
    /// (facts/notifications §4).
    private static func noteCharge(
        _ transaction: StoreTransaction, _ notifications: NotificationSender, at now: Instant, _ session: any Session
    ) throws {
        let isSubscription = transaction.kind == .autoRenewable
        let isFirst = transaction.original == transaction.number
        try notifications.note(
            isSubscription ? "SUBSCRIBED" : "ONE_TIME_CHARGE",
            subtype: isSubscription ? (isFirst ? "INITIAL_BUY" : "RESUBSCRIBE") : nil,
            about: transaction, bundleID: transaction.bundleID, at: now, session)
    }

    // MARK: What is asked

    public func products() async throws -> [StoreProduct] {
        try await database.read { session in try ProductTable.all(session) }
    }

    public func transaction(_ number: Int64) async throws -> StoreTransaction? {
        try await database.read { session in try TransactionTable.find(number, session) }
    }

    /// The account's transactions in one app, or in all, oldest first, beginning after number `after`.
    public func transactions(
        account: String, bundleID: String? = nil, unfinishedOnly: Bool, after: Int64 = 0, limit: Int
    ) async throws -> [StoreTransaction] {
        try await database.read { session in
            unfinishedOnly
                ? try TransactionTable.unfinished(
                    account: account, bundleID: bundleID, after: after, limit: limit, session)
                : try TransactionTable.ofAccount(
                    account, bundleID: bundleID, after: after, limit: limit, session)
        }
    }

    /// More purchases than this don't go into one receipt: 20,000 are about 8 MiB (facts/limits §3).
    static let receiptLimit = 20_000

    /// What the account's receipt for this app lists now, and when the account got the app; nil if it never did.
    func receiptContent(
        account: String, bundleID: String
    ) async throws -> (transactions: [StoreTransaction], downloaded: Instant?) {
        try await database.read { session in
            (
                try TransactionTable.inReceipt(
                    account: account, bundleID: bundleID, limit: Self.receiptLimit, session),
                try AccountTable.downloaded(account: account, bundleID: bundleID, session)
            )
        }
    }

    /// A notification of type TEST that was tried at least once, with its attempts.
    func testNotification(
        _ uuid: UniqueID
    ) async throws -> (notification: StoredNotification, attempts: [(at: Instant, result: String)])? {
        try await database.read { session in
            guard let found = try NotificationTable.find(uuid, session), found.type == "TEST", found.attempts > 0 else {
                return nil
            }
            return (found, try NotificationTable.attempts(of: found.number, session))
        }
    }

    /// The whole store in a few numbers.
    struct Summary: Sendable {
        var products: Int
        var transactions: Int64
        var unfinished: Int64
        var refunded: Int64
        var notificationURL: String?
        var notifications: Int64
        var pendingNotifications: Int64
        var nextDue: Instant?
    }

    func summary() async throws -> Summary {
        try await database.read { session in
            let counts = try TransactionTable.counts(session)
            return Summary(
                products: try ProductTable.all(session).count, transactions: counts.all,
                unfinished: counts.unfinished, refunded: counts.refunded,
                notificationURL: try SettingTable.value(.notificationURL, session),
                notifications: try NotificationTable.count(session),
                pendingNotifications: try Counter.pendingNotifications.value(session),
                nextDue: try NotificationTable.nextDue(session))
        }
    }
}
