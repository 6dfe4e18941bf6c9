import TillSQL

/// Service goes on for a while after a renewal could not be charged: what a developer opts in to for an app
/// (facts/business-rules §8.3). What a subscriber gets is fixed at the moment of the billing error.
public struct BillingGracePeriod: Sendable, Hashable {
    /// Days; weekly subscriptions have less.
    public enum Length: Int64, Sendable, Hashable, CaseIterable {
        case three = 3
        case sixteen = 16
        case twentyEight = 28
    }

    public enum Scope: String, Sendable, Hashable, CaseIterable {
        case allRenewals = "ALL_RENEWALS"
        /// Not from a free trial into the first paid period.
        case paidToPaidOnly = "PAID_TO_PAID_ONLY"
    }

    public var length: Length
    public var scope: Scope

    public init(_ length: Length, scope: Scope = .allRenewals) {
        self.length = length
        self.scope = scope
    }

    /// 3, 16 or 28; of weekly subscriptions 3 or 6.
    func days(weekly: Bool) -> Int64 { weekly ? min(6, length.rawValue) : length.rawValue }

    func covers(renewalAfterPaying price: Int64) -> Bool { scope == .allRenewals || price > 0 }
}

// MARK: The store's setting

extension BillingGracePeriod {
    /// What billing errors from now on are met with: what the store was told last, or else what is configured.
    static func current(
        _ configuration: EmulatorConfiguration, _ session: any Connection
    ) throws -> BillingGracePeriod? {
        guard let text = try SettingTable.value(.billingGracePeriod, session) else {
            return configuration.billingGracePeriod
        }
        return BillingGracePeriod(setting: text)
    }

    static func set(_ period: BillingGracePeriod?, _ session: any Connection) throws {
        try SettingTable.set(.billingGracePeriod, to: period?.setting ?? "none", session)
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
    /// What subscribers have when a renewal can't be charged; nil: the service stops.
    public func billingGracePeriod() async throws -> BillingGracePeriod? {
        try await ask { [configuration] in try BillingGracePeriod.current(configuration, $0) }
    }

    /// Billing errors from now on are met with this, after a restart, too. Who has a grace period keeps it.
    public func setBillingGracePeriod(_ period: BillingGracePeriod?) async throws {
        try await change { try BillingGracePeriod.set(period, $0.session) }
    }
}
