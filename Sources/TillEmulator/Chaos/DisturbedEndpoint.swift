import TillHTTP

/// What has dials of its own: Apple's endpoints, the devices' way to the store, and the way out to the developer's
/// server. The names of Apple's are those that the server API's client has for them (`ServerAPI.Endpoint`).
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
            && zip(segments, parts).allSatisfy { segment, part in
                segment.hasPrefix("{") ? !part.isEmpty : segment == part
            }
    }

    private struct Route {
        let method: HTTPMethod
        let segments: [Substring]
        let endpoint: DisturbedEndpoint

        /// - Parameter pattern: as the router has it, with parameters in braces.
        init(_ method: HTTPMethod, _ pattern: String, _ endpoint: DisturbedEndpoint) {
            self.method = method
            segments = pattern.split(separator: "/", omittingEmptySubsequences: false)
            self.endpoint = endpoint
        }

        var words: Int { segments.count { !$0.hasPrefix("{") } }
    }

    /// An old version of an endpoint has the dials of the new one. Of two that match, the one with more words of its
    /// own comes first: ids could stand in their place.
    private static let routes: [Route] = {
        let api = ServerAPIRoute.allCases.compactMap { route in
            DisturbedEndpoint(rawValue: route.quota.rawValue).map { Route(route.method, route.pattern, $0) }
        }
        let others = [
            Route(.post, "/verifyReceipt", .verifyReceipt), Route(.post, "/production/verifyReceipt", .verifyReceipt),
            Route(.post, "/sandbox/verifyReceipt", .verifyReceipt), Route(.post, "/emulator/purchases", .purchases),
        ]
        return (api + others).sorted { $0.words > $1.words }
    }()
}
