import TillAppStore
import TillBilling
import TillSQL

/// One write of the store: its session and its moment, and the notifications that tell of it. All of a turn is one
/// commit.
struct Turn {
    let session: any Connection
    /// The moment all of it happens at: now, or when the agenda said that it would.
    let now: Instant
    let configuration: EmulatorConfiguration
    /// So many random bytes.
    let entropy: @Sendable (Int) -> [UInt8]

    func uniqueID() -> UniqueID { UniqueID(random: entropy(16)) }

    /// Writes down a notification to the developer's server. Without a URL there is none.
    /// - Returns: its id; nil if no URL is configured.
    @discardableResult
    func note(_ notice: Notice) throws -> UniqueID? {
        guard try SettingTable.value(.notificationURL, session) != nil else { return nil }
        let notification = StoredNotification(
            number: 0, uuid: uniqueID(), type: notice.type.rawValue, subtype: notice.subtype?.rawValue,
            bundleID: notice.bundleID, original: notice.transaction?.original, created: now,
            content: notice.content(at: now).encoded(), signedPayload: nil, attempts: 0)
        let hasRoom = try Counter.pendingNotifications.value(session) < configuration.notificationLimit
        try NotificationTable.insert(notification, due: hasRoom ? now : nil, session)
        return notification.uuid
    }

    /// A notification about a transaction, with its subscription if it has one.
    func note(
        _ type: NotificationType, _ subtype: NotificationSubtype? = nil, about transaction: StoreTransaction,
        _ subscription: StoreSubscription? = nil
    ) throws {
        try note(Notice(type, subtype, transaction, subscription))
    }
}
