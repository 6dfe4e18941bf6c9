import TillBilling

/// How often something may be asked: at most `count` requests in any `window`, and `hourly` in any hour.
public struct RequestQuota: Sendable, Hashable {
    public let count: Int
    /// Milliseconds.
    public let window: Int64
    /// Nil where the pace alone keeps the hour.
    public let hourly: Int?

    /// Most requests a quota may count in one window.
    public static let countLimit = 10_000

    /// Values that make no sense are brought to the nearest that do: at least one request, a millisecond.
    public init(_ count: Int, per window: Int64 = 1_000, hourly: Int? = nil) {
        self.count = min(max(count, 1), Self.countLimit)
        self.window = min(max(window, 1), RequestQuota.hour)
        let implied = Int64(self.count) * ((Self.hour + self.window - 1) / self.window)
        self.hourly = hourly.map { max($0, 1) }.flatMap { Int64($0) < implied ? $0 : nil }
    }

    /// Milliseconds.
    static let hour: Int64 = 3_600_000

    /// A tenth: fewer a second, or one in a longer window.
    var tenth: RequestQuota {
        count % 10 == 0
            ? RequestQuota(count / 10, per: window, hourly: hourly.map { $0 / 10 })
            : RequestQuota(count, per: window * 10, hourly: hourly.map { $0 / 10 })
    }
}

/// The quotas of one app, for every endpoint and environment. Apple may change its own at any time, so these can be
/// set.
public struct RequestQuotas: Sendable {
    private var production: [ServerAPI.Endpoint: RequestQuota] = [:]
    private var sandbox: [ServerAPI.Endpoint: RequestQuota] = [:]

    /// Apple's, of 2026 (facts/server-api §7): so many a second, enforced per hour; a tenth of it in the sandbox.
    public init() {
        for endpoint in ServerAPI.Endpoint.allCases {
            let quota = Self.published(endpoint)
            production[endpoint] = quota
            sandbox[endpoint] = quota.tenth
        }
    }

    public subscript(endpoint: ServerAPI.Endpoint, environment: Environment) -> RequestQuota {
        get {
            let kept = environment == .production ? production[endpoint] : sandbox[endpoint]
            return kept ?? Self.published(endpoint).tenth
        }
        set {
            switch environment {
            case .production: production[endpoint] = newValue
            case .sandbox: sandbox[endpoint] = newValue
            }
        }
    }

    private static func published(_ endpoint: ServerAPI.Endpoint) -> RequestQuota {
        switch endpoint {
        case .transactionInfo, .history, .subscriptionStatuses, .consumption, .notificationHistory, .finish,
            .appTransactionInfo:
            RequestQuota(50)
        case .extendRenewal, .appAccountToken: RequestQuota(20)
        case .orderLookup, .refundHistory: RequestQuota(10)
        // The status of a mass extension is on no list; its siblings have 1.
        case .massExtension, .massExtensionStatus, .testNotification, .testNotificationStatus: RequestQuota(1)
        }
    }
}
