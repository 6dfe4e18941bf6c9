import TillHTTP

/// What has dials of its own: Apple's endpoints, the devices' way to the store, and the way out to the developer's
/// server. The names are those that the server API's client uses.
public enum DisturbedEndpoint: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
    case verifyReceipt
    case transactionInfo
    case history
    case subscriptionStatuses
    case orderLookup
    case refundHistory
    case consumption
    case extendRenewal
    case massExtension
    case massExtensionStatus
    case testNotification
    case testNotificationStatus
    case notificationHistory
    case appAccountToken
    case appTransactionInfo
    case finish
    /// Buying, as a device does it.
    case purchases
    /// Notifications to the developer's server: the one direction that leads out.
    case notifications

    /// The endpoint a request is for; nil for everything that is never disturbed.
    init?(_ request: HTTPRequest) {
        let method = request.method == .head ? .get : request.method
        var parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        // The router overlooks a slash at the end.
        if parts.count > 2, parts.last?.isEmpty == true { parts.removeLast() }
        for route in Self.routes where route.method == method && Self.match(route.segments, parts) {
            self = route.endpoint
            return
        }
        return nil
    }

    private static func match(_ segments: [Substring], _ parts: [Substring]) -> Bool {
        segments.count == parts.count
            && zip(segments, parts).allSatisfy { segment, part in segment == "*" ? !part.isEmpty : segment == part }
    }

    private struct Route {
        let method: HTTPMethod
        let segments: [Substring]
        let endpoint: DisturbedEndpoint

        init(_ method: HTTPMethod, _ path: String, _ endpoint: DisturbedEndpoint) {
            self.method = method
            segments = path.split(separator: "/", omittingEmptySubsequences: false)
            self.endpoint = endpoint
        }
    }

    /// Facts/server-api §3. Words come before the ids that could stand in their place.
    private static let routes: [Route] = [
        Route(.post, "/verifyReceipt", .verifyReceipt),
        Route(.post, "/production/verifyReceipt", .verifyReceipt),
        Route(.post, "/sandbox/verifyReceipt", .verifyReceipt),
        Route(.get, "/inApps/v1/transactions/appTransactions/*", .appTransactionInfo),
        Route(.get, "/inApps/v1/transactions/*", .transactionInfo),
        Route(.get, "/inApps/v2/history/*", .history),
        Route(.get, "/inApps/v1/history/*", .history),
        Route(.get, "/inApps/v1/subscriptions/extend/mass/*/*", .massExtensionStatus),
        Route(.get, "/inApps/v1/subscriptions/*", .subscriptionStatuses),
        Route(.get, "/inApps/v1/lookup/*", .orderLookup),
        Route(.get, "/inApps/v2/refund/lookup/*", .refundHistory),
        Route(.get, "/inApps/v1/refund/lookup/*", .refundHistory),
        Route(.put, "/inApps/v2/transactions/consumption/*", .consumption),
        Route(.put, "/inApps/v1/transactions/consumption/*", .consumption),
        Route(.put, "/inApps/v1/transactions/*/appAccountToken", .appAccountToken),
        Route(.put, "/inApps/v1/subscriptions/extend/*", .extendRenewal),
        Route(.post, "/inApps/v1/subscriptions/extend/mass", .massExtension),
        Route(.post, "/inApps/v1/transactions/*/finish", .finish),
        Route(.post, "/inApps/v1/notifications/test", .testNotification),
        Route(.get, "/inApps/v1/notifications/test/*", .testNotificationStatus),
        Route(.post, "/inApps/v1/notifications/history", .notificationHistory),
        Route(.post, "/emulator/purchases", .purchases),
    ]
}
