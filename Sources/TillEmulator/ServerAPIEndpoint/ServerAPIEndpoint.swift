import TillBilling
import TillHTTP
import TillJSON
import TillSQL

/// The App Store Server API, as far as it is about purchases (facts/server-api §3). Each group of endpoints is an
/// extension in a file of its own.
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
        guard let bundleID = apiKey.bundleID(authorizedBy: request.headers["Authorization"], at: now) else {
            // No JSON body is documented for it (facts/server-api §2).
            return HTTPResponse(status: 401)
        }
        if let room = meter.count(route, of: bundleID, at: now) { return APIRefusal.rateLimited(until: room) }
        do {
            guard Self.isBundleID(bundleID) else { throw APIRefusal(.invalidAppIdentifier) }
            return try await answer(
                APICall(route: route, request: request, parameters: parameters, bundleID: bundleID))
        } catch let refusal as APIRefusal {
            return refusal.response
        } catch {
            let isRetryable = (error as? DatabaseError)?.isRetryable ?? false
            return APIRefusal(isRetryable ? .generalInternalRetryable : .generalInternal).response
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

    // MARK: What answers share

    func signed(_ transactions: [StoreTransaction], at now: Instant) throws -> JSONValue {
        .array(try transactions.map { .string(try issuer.signedTransaction($0, at: now)) })
    }

    /// The members that say whose answer it is. Apple's sandbox has no app id (facts/jws §7).
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
