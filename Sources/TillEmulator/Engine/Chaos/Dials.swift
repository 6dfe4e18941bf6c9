import TillBilling
import TillHTTP
import TillSQL

/// How an endpoint is disturbed. What is nil or missing is as the dials underneath say, and in the end off.
public struct Dials: Sendable, Hashable, Codable {
    /// Nobody is held up for longer than this, whatever the dials say; milliseconds.
    public static let longestWait: Int64 = 120_000
    /// Milliseconds that a clock may be off at most, either way: a year.
    public static let longestSkew: Int64 = 366 * 86_400_000

    /// Probabilities, 0 to 1.
    public var chances: [Dial: Double] = [:]
    /// Milliseconds that a delay takes at least, and at most.
    public var delayFrom: Int64?
    public var delayTo: Int64?
    /// Milliseconds after which a request that waits for the next one goes on without it.
    public var reorderWithin: Int64?
    /// Milliseconds by which signed dates, and the time in Retry-After, are off. Nothing happens sooner or later by it.
    public var clockSkew: Int64?

    public init() {}

    public init(_ chances: [Dial: Double]) { self.chances = chances }

    func chance(of dial: Dial) -> Double { chances[dial] ?? 0 }

    /// From 100 ms to a second, unless told.
    var delay: ClosedRange<Int64> {
        let from = Self.wait(delayFrom ?? min(100, delayTo ?? 100))
        return from...max(from, Self.wait(delayTo ?? max(1_000, from)))
    }

    var patience: Int64 { Self.wait(reorderWithin ?? 1_000) }

    var skew: Int64 { min(max(clockSkew ?? 0, -Self.longestSkew), Self.longestSkew) }

    private static func wait(_ milliseconds: Int64) -> Int64 { min(max(milliseconds, 0), longestWait) }

    /// These, and what they leave open from `others`.
    func over(_ others: Dials) -> Dials {
        var dials = self
        dials.chances.merge(others.chances) { own, _ in own }
        dials.delayFrom = delayFrom ?? others.delayFrom
        dials.delayTo = delayTo ?? others.delayTo
        dials.reorderWithin = reorderWithin ?? others.reorderWithin
        dials.clockSkew = clockSkew ?? others.clockSkew
        return dials
    }
}

/// What can go wrong on purpose, each with a probability of its own. The names are those of the control API.
public enum Dial: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
    /// Nothing happens, and nobody answers.
    case dropBefore
    /// It happens, and nobody answers.
    case dropAfter
    /// It takes its time.
    case delay
    /// It happens twice: what is answered is the second time's answer, as to a client whose first was lost.
    case duplicate
    /// What came first is done after what came next.
    case reorder
    /// The service is in trouble, and nothing happens.
    case error5xx
    /// A page for people comes back in its place, and nothing happens.
    case html
    /// Too many requests, says the service, and nothing happens.
    case rateLimit
    /// verifyReceipt only: a status that asks for another attempt (facts/verify-receipt §3).
    case internalStatus
    /// Purchases only: what the app said of who buys is lost before anything is signed (U1).
    case lostApplicationUsername
    /// Notifications only: the signature is broken.
    case forgery
}

extension Dial {
    /// What it does, for who turns it.
    var note: Text {
        switch self {
        case .dropBefore: Text(en: "nothing happens, no answer", zh: "什么也不发生，没有应答")
        case .dropAfter: Text(en: "it happens, no answer", zh: "已生效，但没有应答")
        case .delay: Text(en: "takes its time", zh: "延迟")
        case .duplicate: Text(en: "happens twice, answered once", zh: "处理两次，应答一次")
        case .reorder: Text(en: "changes places with the next one", zh: "与下一个交换次序")
        case .error5xx: Text(en: "nothing happens; 500 or 503", zh: "什么也不发生；500 或 503")
        case .html: Text(en: "nothing happens; an HTML page, 200 or 502", zh: "什么也不发生；HTML 页面，200 或 502")
        case .rateLimit: Text(en: "nothing happens; 429", zh: "什么也不发生；429")
        case .internalStatus:
            Text(
                en: "verifyReceipt only: 21005, 21009 or 21100 to 21199",
                zh: "仅 verifyReceipt：21005、21009 或 21100 到 21199")
        case .lostApplicationUsername:
            Text(en: "purchases only: appAccountToken is lost", zh: "仅 purchases：appAccountToken 丢失")
        case .forgery: Text(en: "notifications only: a bad signature", zh: "仅 notifications：签名错误")
        }
    }
}

extension DisturbedEndpoint {
    var note: Text {
        switch self {
        case .purchases: Text(en: "buying, as a device does it", zh: "设备发起的购买")
        case .notifications: Text(en: "to the developer's server", zh: "发往开发者服务器")
        case .verifyReceipt: Text(en: "all three paths", zh: "三个路径")
        default: Text(en: "App Store Server API", zh: "App Store Server API")
        }
    }
}

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

/// What goes wrong on purpose: dials for every endpoint, and a seed that decides whom they strike.
public struct FaultSettings: Sendable, Hashable, Codable {
    /// The same seed strikes the same requests. Up to 2^53 - 1, so that every reader of JSON keeps it whole.
    public var seed: Int64
    /// For every endpoint that has none of its own.
    public var defaults: Dials
    public var endpoints: [DisturbedEndpoint: Dials]
    /// How often the store was opened with these: another start, other faults, or a request that brings a process down
    /// would meet the same one for ever.
    var start: Int64 = 0

    public static let largestSeed: Int64 = (1 << 53) - 1

    public init(seed: Int64, defaults: Dials = Dials(), endpoints: [DisturbedEndpoint: Dials] = [:]) {
        self.seed = seed
        self.defaults = defaults
        self.endpoints = endpoints
    }

    func dials(of endpoint: DisturbedEndpoint) -> Dials { (endpoints[endpoint] ?? Dials()).over(defaults) }
}

extension Store {
    /// What goes wrong on purpose from now on; nil: nothing. Counting begins again, and a restart begins with these.
    public func setFaults(_ settings: FaultSettings?) async throws {
        let text = try settings.map { try StoredDocument.text($0) }
        try await change { turn in try SettingTable.set(.faults, to: text, turn.session) }
        chaos.begin(settings)
    }

    /// What goes wrong on purpose, if anything does.
    public var faults: FaultSettings? { chaos.report.settings }
}

extension FaultSettings {
    /// What was set before the store was opened this time, if anything was.
    static func reopened(_ session: any Connection) throws -> FaultSettings? {
        guard let text = try SettingTable.value(.faults, session) else { return nil }
        var settings = try StoredDocument.read(FaultSettings.self, from: text)
        settings.start &+= 1
        try SettingTable.set(.faults, to: try StoredDocument.text(settings), session)
        return settings
    }
}
