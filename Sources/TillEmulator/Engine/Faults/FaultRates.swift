import TillBilling
import TillHTTP
import TillSQL

/// The fault rates of an endpoint. A nil or missing value falls back to the defaults, and finally to no fault.
public struct FaultRates: Sendable, Hashable, Codable {
    /// The longest delay of a request in milliseconds, whatever the settings are.
    public static let longestWait: Int64 = 120_000
    /// The largest clock error in milliseconds, in either direction: a year.
    public static let longestSkew: Int64 = 366 * 86_400_000

    /// Probabilities, 0 to 1.
    public var chances: [StoreFault: Double] = [:]
    /// The shortest and the longest delay in milliseconds.
    public var delayFrom: Int64?
    public var delayTo: Int64?
    /// The milliseconds after which a request that waits for the next one continues without it.
    public var reorderWithin: Int64?
    /// The milliseconds by which signed dates, and the time in Retry-After, are wrong. Nothing happens sooner or later
    /// because of it.
    public var clockSkew: Int64?

    public init() {}

    public init(_ chances: [StoreFault: Double]) { self.chances = chances }

    func chance(of fault: StoreFault) -> Double { chances[fault] ?? 0 }

    /// 100 ms to one second by default.
    var delay: ClosedRange<Int64> {
        let from = Self.wait(delayFrom ?? min(100, delayTo ?? 100))
        return from...max(from, Self.wait(delayTo ?? max(1_000, from)))
    }

    var reorderWindow: Int64 { Self.wait(reorderWithin ?? 1_000) }

    var skew: Int64 { min(max(clockSkew ?? 0, -Self.longestSkew), Self.longestSkew) }

    private static func wait(_ milliseconds: Int64) -> Int64 { min(max(milliseconds, 0), longestWait) }

    /// These settings, with missing values taken from `others`.
    func over(_ others: FaultRates) -> FaultRates {
        var rates = self
        rates.chances.merge(others.chances) { own, _ in own }
        rates.delayFrom = delayFrom ?? others.delayFrom
        rates.delayTo = delayTo ?? others.delayTo
        rates.reorderWithin = reorderWithin ?? others.reorderWithin
        rates.clockSkew = clockSkew ?? others.clockSkew
        return rates
    }
}

/// The kinds of faults, each with its own probability. The names are those of the control API.
public enum StoreFault: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
    /// The request is dropped before it takes effect, with no answer.
    case dropBefore
    /// The request takes effect, and the answer is dropped.
    case dropAfter
    /// The request is delayed.
    case delay
    /// The request takes effect twice. The second answer is returned, as to a client that lost the first.
    case duplicate
    /// The next request is processed before this one.
    case reorder
    /// The service fails, and the request has no effect.
    case error5xx
    /// An HTML page is returned instead, and the request has no effect.
    case html
    /// The service answers "too many requests", and the request has no effect.
    case rateLimit
    /// verifyReceipt only: a status that asks for another attempt (facts/verify-receipt §3).
    case internalStatus
    /// Purchases only: the app's `appAccountToken` is lost before anything is signed.
    case lostApplicationUsername
    /// Notifications only: the signature is invalid.
    case forgery
}

extension StoreFault {
    /// A description for the page.
    var note: LocalizedText {
        switch self {
        case .dropBefore: LocalizedText(en: "drops the request: it has no effect and no response", zh: "丢弃请求：不处理，也没有应答")
        case .dropAfter: LocalizedText(en: "drops the response: the request takes effect", zh: "丢弃应答：请求已生效")
        case .delay: LocalizedText(en: "delays the request", zh: "延迟处理请求")
        case .duplicate: LocalizedText(en: "processes the request twice and responds once", zh: "处理两次，应答一次")
        case .reorder: LocalizedText(en: "swaps the request with the next one", zh: "与下一个请求交换次序")
        case .error5xx:
            LocalizedText(en: "responds 500 or 503 without processing the request", zh: "不处理请求，返回 500 或 503")
        case .html:
            LocalizedText(
                en: "responds with an HTML page, 200 or 502, without processing the request",
                zh: "不处理请求，返回 HTML 页面（200 或 502）")
        case .rateLimit: LocalizedText(en: "responds 429 without processing the request", zh: "不处理请求，返回 429")
        case .internalStatus:
            LocalizedText(
                en: "verifyReceipt only: responds with status 21005, 21009 or 21100 to 21199",
                zh: "仅 verifyReceipt：返回状态 21005、21009 或 21100 到 21199")
        case .lostApplicationUsername:
            LocalizedText(en: "purchases only: drops the appAccountToken", zh: "仅 purchases：丢弃 appAccountToken")
        case .forgery: LocalizedText(en: "notifications only: sends a bad signature", zh: "仅 notifications：发送错误的签名")
        }
    }
}

extension FaultEndpoint {
    var note: LocalizedText {
        switch self {
        case .purchases: LocalizedText(en: "purchases from devices", zh: "设备发起的购买")
        case .notifications: LocalizedText(en: "notifications to the developer's server", zh: "发往开发者服务器的通知")
        case .verifyReceipt: LocalizedText(en: "all three verifyReceipt paths", zh: "verifyReceipt 的三个路径")
        default: LocalizedText(en: "App Store Server API", zh: "App Store Server API")
        }
    }
}

/// The endpoints with fault rates of their own: Apple's endpoints, purchases on devices, and notifications to the
/// developer's server. Apple's endpoints have the names of `ServerAPI.Endpoint`.
public enum FaultEndpoint: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
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
    /// A purchase on a device.
    case purchases
    /// Notifications to the developer's server: the only outgoing endpoint.
    case notifications

    /// The endpoint of a request; nil if no fault applies to it.
    init?(_ request: HTTPRequest) {
        let method = request.method == .head ? .get : request.method
        var parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        // The router ignores a trailing slash.
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
        let endpoint: FaultEndpoint

        /// - Parameter pattern: the router's pattern, with parameters in braces.
        init(_ method: HTTPMethod, _ pattern: String, _ endpoint: FaultEndpoint) {
            self.method = method
            segments = pattern.split(separator: "/", omittingEmptySubsequences: false)
            self.endpoint = endpoint
        }

        var words: Int { segments.count { !$0.hasPrefix("{") } }
    }

    /// An old version of an endpoint shares the fault rates of the new one. Patterns with more fixed segments come
    /// first, because a parameter of another pattern matches a fixed segment too.
    private static let routes: [Route] = {
        let api = ServerAPIRoute.allCases.compactMap { route in
            FaultEndpoint(rawValue: route.quota.rawValue).map { Route(route.method, route.pattern, $0) }
        }
        let others = [
            Route(.post, "/verifyReceipt", .verifyReceipt), Route(.post, "/production/verifyReceipt", .verifyReceipt),
            Route(.post, "/sandbox/verifyReceipt", .verifyReceipt), Route(.post, "/emulator/purchases", .purchases),
        ]
        return (api + others).sorted { $0.words > $1.words }
    }()
}

/// The injected faults: fault rates for every endpoint, and the seed of the random numbers.
public struct FaultSettings: Sendable, Hashable, Codable {
    /// The same seed injects faults into the same requests. At most 2^53 - 1, so that every JSON reader keeps it
    /// exactly.
    public var seed: Int64
    /// For every endpoint without fault rates of its own.
    public var defaults: FaultRates
    public var endpoints: [FaultEndpoint: FaultRates]
    /// How often the store was opened with these settings. Each start draws other faults; otherwise a request that
    /// crashes a process would meet the same fault for ever.
    var start: Int64 = 0

    public static let largestSeed: Int64 = (1 << 53) - 1

    public init(seed: Int64, defaults: FaultRates = FaultRates(), endpoints: [FaultEndpoint: FaultRates] = [:]) {
        self.seed = seed
        self.defaults = defaults
        self.endpoints = endpoints
    }

    func rates(of endpoint: FaultEndpoint) -> FaultRates { (endpoints[endpoint] ?? FaultRates()).over(defaults) }
}

extension Store {
    /// Sets the injected faults; nil turns them off. Counting starts again, and the settings outlive a restart.
    public func setFaults(_ settings: FaultSettings?) async throws {
        let text = try settings.map { try StoredDocument.text($0) }
        try await change { change in try SettingTable.set(.faults, to: text, change.connection) }
        faultInjector.begin(settings)
    }

    /// The injected faults, if there are any.
    public var faults: FaultSettings? { faultInjector.report.settings }
}

extension FaultSettings {
    /// The settings stored before this start, if any.
    static func reopened(_ connection: any Connection) throws -> FaultSettings? {
        guard let text = try SettingTable.value(.faults, connection) else { return nil }
        var settings = try StoredDocument.read(FaultSettings.self, from: text)
        settings.start &+= 1
        try SettingTable.set(.faults, to: try StoredDocument.text(settings), connection)
        return settings
    }
}
