import TillAppStore
import TillBilling
import TillSQL

/// Handles a renewal that could not be charged: a grace period, if the developer opted in, and retries for 60 days
/// (facts/business-rules §8.3).
enum BillingRetry {
    /// The days of the retries after the end of the period: frequent at first, then rarer (our choice; Apple publishes
    /// none).
    static let days: [Int64] = [1, 2, 3, 5, 7, 10, 14, 18, 23, 28, 34, 40, 46, 52, 58]

    /// The first retry after `now`; nil: none is left. A faster pace scales the 60 days down.
    static func nextAttempt(after now: Instant, expired: Instant, until end: Instant) -> Instant? {
        let length = end.milliseconds - expired.milliseconds
        return days.lazy.map { expired.adding(milliseconds: length / 60 * $0) }.first { $0 > now && $0 < end }
    }

    /// Starts billing retry: the period has ended and the next one is not paid.
    static func begin(_ known: StoreSubscription, _ change: StoreChange) throws {
        var subscription = known
        let pace = try RenewalPace.current(change.connection)
        let current = try SubscriptionLifecycle.current(of: known, change)
        let end = known.expires.adding(milliseconds: pace.retry)
        subscription.retryUntil = end
        subscription.expirationIntent = SubscriptionEnd.billingError.intent
        subscription.nextCharge = nextAttempt(after: change.now, expired: known.expires, until: end)
        let grace = try BillingGracePeriod.current(change.configuration, change.connection)
        if let grace, grace.covers(renewalAfterPaying: current.price.amount) {
            let period = try ProductTable.find(known.productID, change.connection)?.subscription?.period
            subscription.state = .gracePeriod
            subscription.graceExpires = known.expires.adding(milliseconds: pace.grace(grace, weekly: period == .week))
        } else {
            subscription.state = .billingRetry
        }
        try SubscriptionLifecycle.save(subscription, change)
        let subtype: NotificationSubtype? = subscription.state == .gracePeriod ? .gracePeriod : nil
        try change.note(.didFailToRenew, subtype, about: current, subscription)
        // If the service stops, shared access stops too.
        if !subscription.isServing { try FamilySharing.revoke(current, change) }
    }

    /// Performs the next step: a retry, the end of the grace period, or the end of all retries.
    static func reachDate(_ known: StoreSubscription, _ change: StoreChange) throws {
        var subscription = known
        if let attempt = known.nextCharge, attempt <= change.now {
            subscription = try recover(known, change)
        } else if known.state == .gracePeriod, let end = known.graceExpires, end <= change.now {
            subscription.state = .billingRetry
            // The renewal info keeps this date: it is the end of the service.
            try SubscriptionLifecycle.save(subscription, change)
            let current = try SubscriptionLifecycle.current(of: subscription, change)
            try change.note(.gracePeriodExpired, about: current, subscription)
            try FamilySharing.revoke(current, change)
        } else if let end = known.retryUntil, end <= change.now {
            try SubscriptionLifecycle.end(subscription, .billingError, change)
        } else {
            try SubscriptionLifecycle.save(subscription, change)
        }
    }

    /// Tries to charge now.
    /// - Returns: the updated subscription; active if the charge succeeded.
    static func recover(_ known: StoreSubscription, _ change: StoreChange) throws -> StoreSubscription {
        switch try Renewal.decide(known, change) {
        case .charged(let price): return try Renewal.charge(known, price, change)
        case .over(let reason):
            try SubscriptionLifecycle.end(known, reason, change)
            return try SubscriptionTable.find(known.original, change.connection) ?? known
        case .failed:
            var subscription = known
            subscription.nextCharge = known.retryUntil.flatMap {
                nextAttempt(after: change.now, expired: known.expires, until: $0)
            }
            try SubscriptionLifecycle.save(subscription, change)
            return subscription
        }
    }

    /// Makes charges for this subscription fail, until `repair`.
    static func breakBilling(_ original: Int64, _ change: StoreChange) throws -> Result<StoreSubscription, StoreRefusal>
    {
        switch try SubscriptionLifecycle.changeable(original, change) {
        case .failure(let refusal): return .failure(refusal)
        case .success(var subscription):
            guard subscription.isGoingOn else { return .failure(.subscriptionEnded(String(original))) }
            subscription.billingFails = true
            try SubscriptionLifecycle.save(subscription, change)
            return .success(subscription)
        }
    }

    /// Makes charges succeed again, and charges an overdue period at once.
    static func repair(_ original: Int64, _ change: StoreChange) throws -> Result<StoreSubscription, StoreRefusal> {
        switch try SubscriptionLifecycle.changeable(original, change) {
        case .failure(let refusal): return .failure(refusal)
        case .success(var subscription):
            var account = try AccountTable.find(subscription.account, change.connection)
            let wasBroken = subscription.billingFails || account?.paymentMethodWorks == false
            guard subscription.isFailing || wasBroken else {
                return .failure(.nothingToRecover(String(original)))
            }
            if account?.paymentMethodWorks == false {
                account?.paymentMethodWorks = true
                if let account { try AccountTable.update(account, change.connection) }
            }
            subscription.billingFails = false
            guard subscription.isFailing else {
                try SubscriptionLifecycle.save(subscription, change)
                return .success(subscription)
            }
            return .success(try recover(subscription, change))
        }
    }
}

/// The grace period that a developer opts in to for an app: service continues for a while after a failed renewal
/// (facts/business-rules §8.3). Its terms are fixed for a subscriber at the moment of the billing error.
public struct BillingGracePeriod: Sendable, Hashable {
    /// Days; weekly subscriptions have fewer.
    public enum Length: Int64, Sendable, Hashable, CaseIterable {
        case three = 3
        case sixteen = 16
        case twentyEight = 28
    }

    public enum Scope: String, Sendable, Hashable, CaseIterable {
        case allRenewals = "ALL_RENEWALS"
        /// Excludes the renewal from a free trial into the first paid period.
        case paidToPaidOnly = "PAID_TO_PAID_ONLY"
    }

    public var length: Length
    public var scope: Scope

    public init(_ length: Length, scope: Scope = .allRenewals) {
        self.length = length
        self.scope = scope
    }

    /// 3, 16 or 28; for weekly subscriptions 3 or 6.
    func days(weekly: Bool) -> Int64 { weekly ? min(6, length.rawValue) : length.rawValue }

    func covers(renewalAfterPaying price: Int64) -> Bool { scope == .allRenewals || price > 0 }
}

// MARK: The store's setting

extension BillingGracePeriod {
    /// The grace period of later billing errors: the store's setting, or by default the configuration's.
    static func current(
        _ configuration: EmulatorConfiguration, _ connection: any Connection
    ) throws -> BillingGracePeriod? {
        guard let text = try SettingTable.value(.billingGracePeriod, connection) else {
            return configuration.billingGracePeriod
        }
        return BillingGracePeriod(setting: text)
    }

    static func set(_ period: BillingGracePeriod?, _ connection: any Connection) throws {
        try SettingTable.set(.billingGracePeriod, to: period?.setting ?? "none", connection)
    }

    private var setting: String { "\(length.rawValue) \(scope.rawValue)" }

    private init?(setting: String) {
        let words = setting.split(separator: " ")
        guard words.count == 2, let length = Int64(words[0]).flatMap(Length.init),
            let scope = Scope(rawValue: String(words[1]))
        else { return nil }
        self.init(length, scope: scope)
    }
}

extension Store {
    /// The grace period after a failed renewal; nil: the service stops.
    public func billingGracePeriod() async throws -> BillingGracePeriod? {
        try await ask { [configuration] in try BillingGracePeriod.current(configuration, $0) }
    }

    /// Sets the grace period of later billing errors, which outlives a restart. A running grace period is unchanged.
    public func setBillingGracePeriod(_ period: BillingGracePeriod?) async throws {
        try await change { try BillingGracePeriod.set(period, $0.connection) }
    }
}
