import TillBilling
import TillStorage

/// The whole store in a few numbers.
struct StoreSummary: Sendable {
    var products: Int
    var transactions: Int64
    var unfinished: Int64
    var refunded: Int64
    var notificationURL: String?
    var notifications: Int64
    var pendingNotifications: Int64
    var nextDue: Instant?
}

extension Store {
    func summary() async throws -> StoreSummary {
        try await ask { session in
            let counts = try TransactionTable.counts(session)
            return StoreSummary(
                products: try ProductTable.all(session).count, transactions: counts.all,
                unfinished: counts.unfinished, refunded: counts.refunded,
                notificationURL: try SettingTable.value(.notificationURL, session),
                notifications: try NotificationTable.count(session),
                pendingNotifications: try Counter.pendingNotifications.value(session),
                nextDue: try NotificationTable.nextDue(session))
        }
    }
}
