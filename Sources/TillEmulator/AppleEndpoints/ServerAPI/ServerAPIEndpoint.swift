import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillSQL
import TillThreads

/// The App Store Server API's endpoints for purchases (facts/server-api §3). Each group of endpoints is an extension in
/// a file of its own.
struct ServerAPIEndpoint: Sendable {
    let store: Store
    let issuer: Issuer
    let apiKey: APIKey
    private let meter: RequestMeter

    init(store: Store, issuer: Issuer, apiKey: APIKey) {
        self.store = store
        self.issuer = issuer
        self.apiKey = apiKey
        meter = RequestMeter(store.configuration.rateLimits, environment: store.configuration.environment)
    }

    func add(to router: inout Router) {
        for route in ServerAPIRoute.allCases {
            router.on(route.method, route.pattern) { request, parameters in
                await respond(to: request, parameters, at: route)
            }
        }
    }

    private func respond(
        to request: HTTPRequest, _ parameters: PathParameters, at route: ServerAPIRoute
    ) async -> HTTPResponse {
        let now = store.now
        let bundleID: String
        switch apiKey.check(request.headers["Authorization"], at: now) {
        case .app(let id): bundleID = id
        // Apple documents no JSON body for this answer (facts/server-api §2).
        case .refused: return HTTPResponse(status: 401)
        case .otherTime(let issued): return APIError.clocksDiffer(issued: issued, now: now)
        }
        if let retryAt = meter.count(route, of: bundleID, at: now) { return APIError.rateLimited(until: retryAt) }
        do {
            guard Self.isBundleID(bundleID) else { throw APIError(.invalidAppIdentifier) }
            return try await answer(
                APICall(route: route, request: request, parameters: parameters, bundleID: bundleID))
        } catch let refusal as APIError {
            return refusal.response
        } catch {
            let isRetryable = (error as? DatabaseError)?.isRetryable ?? false
            return APIError(isRetryable ? .generalInternalRetryable : .generalInternal).response
        }
    }

    private func answer(_ call: APICall) async throws -> HTTPResponse {
        switch call.route {
        case .transactionInfo: try await transactionInfo(call)
        case .history: try await history(call)
        case .historyV1: try await history(call)
        case .subscriptionStatuses: try await subscriptionStatuses(call)
        case .orderLookup: try await orderLookup(call)
        case .refundHistory: try await refundHistory(call)
        case .refundHistoryV1: try await refundHistoryV1(call)
        case .consumption, .consumptionV1: try await consumption(call)
        case .extendRenewal: try await extendRenewal(call)
        case .massExtension: try await massExtension(call)
        case .massExtensionStatus: try await massExtensionStatus(call)
        case .testNotification: try await testNotification(call)
        case .testNotificationStatus: try await testNotificationStatus(call)
        case .notificationHistory: try await notificationHistory(call)
        case .appAccountToken: try await setAppAccountToken(call)
        case .appTransactionInfo: try await appTransactionInfo(call)
        case .finish: try await finish(call)
        }
    }

    /// Letters, digits, hyphens and dots (facts/limits §1).
    private static func isBundleID(_ text: String) -> Bool {
        text.utf8.count <= 200
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) && byte < 0x80
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            }
    }

    // MARK: Shared parts of answers

    func signed(_ transactions: [StoreTransaction], at now: Instant) throws -> JSONValue {
        .array(try transactions.map { .string(try issuer.signedTransaction($0, at: now)) })
    }

    /// The members that name the app. Apple's sandbox has no app id (facts/jws §7).
    func app(_ call: APICall) -> [String: JSONValue] {
        let environment = store.configuration.environment
        var members: [String: JSONValue] = [
            "bundleId": .string(call.bundleID), "environment": .string(environment.rawValue),
        ]
        if environment == .production {
            members["appAppleId"] = .int(store.configuration.app(call.bundleID).appleID)
        }
        return members
    }
}

/// The App Store Server API's endpoints for purchases (facts/server-api §3). Routing, quotas, injected faults and tests
/// use this list.
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

    /// The pattern that the router takes; the id in the path is `{id}`.
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

    /// The endpoint whose quota applies (facts/server-api §7). An old version has a separate quota of the same size.
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

/// Counts each app's requests to each endpoint and enforces the hourly quota, by the store's clock (facts/server-api
/// §7).
struct RequestMeter: Sendable {
    private struct Key: Hashable {
        var route: ServerAPIRoute
        var bundleID: String
    }

    private struct Hour {
        /// Hours since 1970.
        var number: Int64 = .min
        var asked: [Key: Int64] = [:]
    }

    private let environment: StoreEnvironment
    private let quotas: RequestQuotas
    private let hour = Locked(Hour())

    /// The number of apps that are counted separately. A token may name any app, so the apps beyond it share one count.
    private static let appLimit = 10_000

    init(_ quotas: RequestQuotas?, environment: StoreEnvironment) {
        self.quotas = quotas ?? RequestQuotas()
        self.environment = environment
    }

    /// Counts a request if the quota allows it.
    /// - Returns: nil if it does; otherwise the moment from which it will.
    func count(_ route: ServerAPIRoute, of bundleID: String, at now: Instant) -> Instant? {
        let number = now.seconds / 3_600
        let limit = limit(of: route)
        return hour.withLock { hour in
            if hour.number != number { hour = Hour(number: number) }
            var key = Key(route: route, bundleID: bundleID)
            if hour.asked[key] == nil, hour.asked.count >= Self.appLimit { key.bundleID = "" }
            let asked = hour.asked[key] ?? 0
            guard asked < limit else { return Instant(seconds: (number + 1) * 3_600) }
            hour.asked[key] = asked + 1
            return nil
        }
    }

    /// Apple states quotas per second and enforces them per hour.
    private func limit(of route: ServerAPIRoute) -> Int64 {
        let quota = quotas[route.quota, environment]
        let steady = Int64(quota.count) * 3_600_000 / quota.window
        return max(1, min(steady, Int64(quota.hourly ?? .max)))
    }
}
