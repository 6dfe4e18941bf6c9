import TillBilling

/// A rate limit: at most `count` requests in any `window`, and `hourly` in any hour.
public struct RequestQuota: Sendable, Hashable {
    public let count: Int
    /// In milliseconds.
    public let window: Int64
    /// Nil if the limit of the window implies the hour's.
    public let hourly: Int?

    /// The maximum of requests in one window.
    public static let countLimit = 10_000

    /// Moves invalid values to the nearest valid ones: at least one request, at least a millisecond.
    public init(_ count: Int, per window: Int64 = 1_000, hourly: Int? = nil) {
        self.count = min(max(count, 1), Self.countLimit)
        self.window = min(max(window, 1), RequestQuota.hour)
        let implied = Int64(self.count) * ((Self.hour + self.window - 1) / self.window)
        self.hourly = hourly.map { max($0, 1) }.flatMap { Int64($0) < implied ? $0 : nil }
    }

    /// In milliseconds.
    static let hour: Int64 = 3_600_000

    /// A tenth of the quota: fewer requests per window, or a longer window.
    var tenth: RequestQuota {
        count % 10 == 0
            ? RequestQuota(count / 10, per: window, hourly: hourly.map { $0 / 10 })
            : RequestQuota(count, per: window * 10, hourly: hourly.map { $0 / 10 })
    }
}

/// The quotas of one app, for every endpoint and environment. They are configurable, because Apple may change its own
/// at any time.
public struct RequestQuotas: Sendable {
    private var production: [ServerAPI.Endpoint: RequestQuota] = [:]
    private var sandbox: [ServerAPI.Endpoint: RequestQuota] = [:]

    /// Apple's quotas of 2026 (facts/server-api §7): a rate per second, enforced per hour; in the sandbox a tenth of
    /// it.
    public init() {
        for endpoint in ServerAPI.Endpoint.allCases {
            let quota = Self.published(endpoint)
            production[endpoint] = quota
            sandbox[endpoint] = quota.tenth
        }
    }

    public subscript(endpoint: ServerAPI.Endpoint, environment: StoreEnvironment) -> RequestQuota {
        get {
            let kept = environment == .production ? production[endpoint] : sandbox[endpoint]
            return kept ?? Self.published(endpoint).tenth
        }
        set {
            switch environment {
            case .production: production[endpoint] = newValue
            // Xcode has no server to ask.
            case .sandbox, .xcode: sandbox[endpoint] = newValue
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
        // Apple lists no quota for the status of a mass extension; the related endpoints have 1.
        case .massExtension, .massExtensionStatus, .testNotification, .testNotificationStatus: RequestQuota(1)
        }
    }
}

/// Counts events within a span that ends now. Events in one grain are stored together, as if all had happened at the
/// latest of them. That overestimates the count slightly, and limits the memory to span / grain.
struct SlidingCount {
    private struct Grain {
        var last: Instant
        var count: Int
    }

    let limit: Int
    /// In milliseconds.
    let span: Int64
    /// In milliseconds.
    let grain: Int64
    private var grains: [Grain] = []
    private var total = 0

    init(limit: Int, span: Int64, grain: Int64) {
        self.limit = limit
        self.span = span
        self.grain = grain
    }

    /// Removes events outside the span. If the clock was set back, the stored times are shifted with it; otherwise no
    /// event would be allowed until the old time is reached again.
    mutating func expire(at now: Instant) {
        if let newest = grains.last?.last, newest > now {
            let shift = now.milliseconds - newest.milliseconds
            for index in grains.indices { grains[index].last = grains[index].last.adding(milliseconds: shift) }
        }
        let gone = grains.prefix { $0.last.adding(milliseconds: span) <= now }
        guard !gone.isEmpty else { return }
        total -= gone.reduce(0) { $0 + $1.count }
        grains.removeFirst(gone.count)
    }

    /// The share of the limit that is left. Call `expire` first.
    var left: Double { 1 - Double(min(total, limit)) / Double(limit) }

    /// The earliest time at which one more event is allowed. Call `expire` first.
    func next(after now: Instant) -> Instant {
        guard total >= limit, let oldest = grains.first else { return now }
        return oldest.last.adding(milliseconds: span)
    }

    mutating func take(at now: Instant) {
        total += 1
        if let last = grains.last, last.last.milliseconds / grain == now.milliseconds / grain {
            grains[grains.count - 1] = Grain(last: now, count: last.count + 1)
        } else {
            grains.append(Grain(last: now, count: 1))
        }
    }
}

/// Enforces one quota, per window and per hour.
struct QuotaWindow {
    let quota: RequestQuota
    private var window: SlidingCount
    private var hour: SlidingCount?
    /// Set after a 429.
    private var closedUntil: Instant?

    init(_ quota: RequestQuota) {
        self.quota = quota
        window = SlidingCount(limit: quota.count, span: quota.window, grain: 1)
        hour = quota.hourly.map { SlidingCount(limit: $0, span: RequestQuota.hour, grain: 60_000) }
    }

    /// The earliest time at which one more request is allowed; now, if it is already.
    mutating func next(at now: Instant) -> Instant {
        window.expire(at: now)
        hour?.expire(at: now)
        var next = window.next(after: now)
        if let hour { next = max(next, hour.next(after: now)) }
        if let until = closedUntil {
            // Apple closes for an hour at most; a longer time means that the clock was set back.
            let until = min(until, now.adding(milliseconds: RetryAfter.longest))
            if until <= now { closedUntil = nil } else { next = max(next, until) }
        }
        return next
    }

    /// The earliest possible time of a slot, if `others` callers come first.
    mutating func earliest(at now: Instant, behind others: Int) -> Instant {
        next(at: now).adding(milliseconds: Int64(others / quota.count) * quota.window)
    }

    /// The share of the quota that is left, from 0 to 1: of the window or of the hour, whichever is smaller; 0 while
    /// Apple's 429 forbids requests.
    mutating func left(at now: Instant) -> Double {
        let isClosed = next(at: now) > now && window.next(after: now) <= now && (hour?.next(after: now) ?? now) <= now
        return isClosed ? 0 : min(window.left, hour?.left ?? 1)
    }

    mutating func take(at now: Instant) {
        window.take(at: now)
        hour?.take(at: now)
    }

    mutating func close(until instant: Instant) { closedUntil = max(closedUntil ?? instant, instant) }
}
