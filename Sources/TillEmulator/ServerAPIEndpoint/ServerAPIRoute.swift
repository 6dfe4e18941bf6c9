import TillAppStore
import TillHTTP

/// The endpoints of the App Store Server API that are about purchases (facts/server-api §3): routing, quotas, faults on
/// purpose and tests go by this list.
public enum ServerAPIRoute: String, Sendable, Hashable, CaseIterable {
    case transactionInfo
    case history
    case historyV1
    case subscriptionStatuses
    case orderLookup
    case refundHistory
    case refundHistoryV1
    case consumption
    case consumptionV1
    case extendRenewal
    case massExtension
    case massExtensionStatus
    case testNotification
    case testNotificationStatus
    case notificationHistory
    case appAccountToken
    case appTransactionInfo
    case finish

    public var method: HTTPMethod {
        switch self {
        case .transactionInfo, .history, .historyV1, .subscriptionStatuses, .orderLookup, .refundHistory,
            .refundHistoryV1, .massExtensionStatus, .testNotificationStatus, .appTransactionInfo:
            .get
        case .massExtension, .testNotification, .notificationHistory, .finish: .post
        case .consumption, .consumptionV1, .extendRenewal, .appAccountToken: .put
        }
    }

    /// As the router wants it; what a caller names is `{id}`.
    public var pattern: String {
        switch self {
        case .transactionInfo: "/inApps/v1/transactions/{id}"
        case .history: "/inApps/v2/history/{id}"
        case .historyV1: "/inApps/v1/history/{id}"
        case .subscriptionStatuses: "/inApps/v1/subscriptions/{id}"
        case .orderLookup: "/inApps/v1/lookup/{id}"
        case .refundHistory: "/inApps/v2/refund/lookup/{id}"
        case .refundHistoryV1: "/inApps/v1/refund/lookup/{id}"
        case .consumption: "/inApps/v2/transactions/consumption/{id}"
        case .consumptionV1: "/inApps/v1/transactions/consumption/{id}"
        case .extendRenewal: "/inApps/v1/subscriptions/extend/{id}"
        case .massExtension: "/inApps/v1/subscriptions/extend/mass"
        case .massExtensionStatus: "/inApps/v1/subscriptions/extend/mass/{product}/{id}"
        case .testNotification: "/inApps/v1/notifications/test"
        case .testNotificationStatus: "/inApps/v1/notifications/test/{id}"
        case .notificationHistory: "/inApps/v1/notifications/history"
        case .appAccountToken: "/inApps/v1/transactions/{id}/appAccountToken"
        case .appTransactionInfo: "/inApps/v1/transactions/appTransactions/{id}"
        case .finish: "/inApps/v1/transactions/{id}/finish"
        }
    }

    /// Whose quota it has (facts/server-api §7). An old version has one of its own, as large.
    public var quota: ServerAPI.Endpoint {
        switch self {
        case .transactionInfo: .transactionInfo
        case .history, .historyV1: .history
        case .subscriptionStatuses: .subscriptionStatuses
        case .orderLookup: .orderLookup
        case .refundHistory, .refundHistoryV1: .refundHistory
        case .consumption, .consumptionV1: .consumption
        case .extendRenewal: .extendRenewal
        case .massExtension: .massExtension
        case .massExtensionStatus: .massExtensionStatus
        case .testNotification: .testNotification
        case .testNotificationStatus: .testNotificationStatus
        case .notificationHistory: .notificationHistory
        case .appAccountToken: .appAccountToken
        case .appTransactionInfo: .appTransactionInfo
        case .finish: .finish
        }
    }
}
