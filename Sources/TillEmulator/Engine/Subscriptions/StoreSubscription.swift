import TillBilling
import TillSQL

/// One customer's subscription in one group over its whole life. It keeps its original transaction through renewals,
/// changes of plan, lapses and resubscriptions (facts/business-rules §8.2).
public struct StoreSubscription: Sendable, Hashable, Codable {
    /// Apple's `status` derives from this state (facts/server-api §4.2).
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        case active
        /// Billing failed; the service continues until `graceExpires`.
        case gracePeriod
        /// Billing failed; the service stopped, and Apple retries until `retryUntil`.
        case billingRetry
        case expired
        /// Refunded, or revoked from a family member.
        case revoked

        /// 1 active, 2 expired, 3 billing retry, 4 billing grace period, 5 revoked.
        var status: Int64 {
            switch self {
            case .active: 1
            case .expired: 2
            case .billingRetry: 3
            case .gracePeriod: 4
            case .revoked: 5
            }
        }
    }

    /// A price increase for later renewals (facts/business-rules §8.4).
    public struct PriceIncrease: Sendable, Hashable, Codable {
        public var price: Money
        /// The increase applies to renewals from then on.
        public var effective: Instant
        public var needsConsent: Bool
        /// Whether the customer consented, or was informed of an increase that needs no consent.
        public var isAccepted: Bool
    }

    /// An offer with charges left.
    public struct RunningOffer: Sendable, Hashable, Codable {
        public var offer: StoreTransaction.Offer
        /// The price of each charge.
        public var price: Money
        /// The length of one charge's period; nil: the subscription's own.
        public var period: OfferPeriod?
        /// The number of charges left.
        public var charges: Int64
    }

    /// The original transaction's number: the subscription's identity.
    public var original: Int64
    public var account: String
    public var bundleID: String
    public var groupID: String
    public var state: State
    /// The product of the newest period.
    public var productID: ProductID
    /// The newest transaction.
    public var current: Int64
    /// The end of the newest paid period: `renewalDate`.
    public var expires: Instant
    /// The day of the month of renewals, 1 to 31 (facts/business-rules §8.1).
    public var billingDay: Int64
    /// The customer's choice. The months of a commitment renew in any case: `renewsNext`.
    public var renews: Bool
    /// The product of the next renewal; after a downgrade it differs from `productID`.
    public var renewalProductID: ProductID
    /// The price of the next renewal before any offer; nil: the product is no longer for sale there.
    public var renewalPrice: Money?
    public var runningOffer: RunningOffer?
    public var priceIncrease: PriceIncrease?
    public var graceExpires: Instant?
    public var retryUntil: Instant?
    /// 1 cancelled, 2 billing error, 3 no consent to a price increase, 4 product unavailable, 5 other. Set while the
    /// subscription is expired or failing.
    public var expirationIntent: Int64?
    /// The start of the service without gaps of more than 60 days (facts/jws §5, `recentSubscriptionStartDate`).
    public var recentStart: Instant
    /// Ids of win-back offers, best first; set while expired.
    public var eligibleWinBacks: [String]
    /// The token of the next renewal.
    public var appAccountToken: UniqueID?
    /// The number of automatic renewals; the sandbox stops after twelve.
    public var renewals: Int64
    /// The dates of extensions, at most two in 365 days (facts/server-api §4.4).
    public var extensions: [Instant]
    /// Whether charges for this subscription fail, even if the account's payment method works.
    public var billingFails: Bool
    /// The purchaser's subscription, if a family shares it; nil for a paid subscription.
    public var sharedFrom: Int64?
    /// Whether the next renewal is a year paid monthly; within a commitment, whether another commitment follows it.
    public var monthlyBilling: Bool
    /// The list price when `renewalPrice` was set. Only a lower list price than this is a price cut.
    public var catalogPrice: Money?
    /// The time of Apple's next charge; nil if nothing is charged before the period ends.
    public var nextCharge: Instant?
    /// When the customer used the group's introductory offer, which is available once (facts/business-rules §9).
    public var hadIntroductory: Instant?
    /// When the price was last raised (facts/business-rules §8.4: a second increase within a year needs consent).
    public var lastIncrease: Instant?
    /// The commitment of the newest period, if it is one month of a year.
    public var commitment: StoreTransaction.Commitment?
}

extension StoreSubscription {
    /// The time of the next scheduled change.
    var nextDate: Instant? {
        guard sharedFrom == nil else { return nil }
        switch state {
        case .active: return renewsNext ? min(nextCharge ?? expires, expires) : expires
        case .gracePeriod: return [graceExpires, nextCharge].compactMap { $0 }.min()
        case .billingRetry: return [retryUntil, nextCharge].compactMap { $0 }.min()
        case .expired, .revoked: return nil
        }
    }

    /// Whether the subscription is active, or failing and still retried.
    var isGoingOn: Bool { state == .active || isFailing }

    /// Whether the customer may use the service.
    var isServing: Bool { state == .active || state == .gracePeriod }

    /// A charge failed, and Apple retries.
    var isFailing: Bool { state == .gracePeriod || state == .billingRetry }

    /// The price of the next renewal, with offers and accepted increases.
    var nextPrice: Money? {
        if let month = owedMonth { return month }
        return priceAfterCommitment
    }

    /// The same without owed months: the price of the first charge after a commitment.
    var priceAfterCommitment: Money? {
        if let offer = runningOffer { return offer.price }
        if let increase = duePriceIncrease, increase.isAccepted { return increase.price }
        return renewalPrice
    }

    /// The increase that applies to the renewal at the end of the period. A commitment's months keep their price.
    var duePriceIncrease: PriceIncrease? {
        owedMonth == nil ? priceIncrease.flatMap { $0.effective <= expires ? $0 : nil } : nil
    }
}

/// Every subscription of the store, by original transaction.
enum SubscriptionTable {
    /// Inserts or updates the subscription.
    static func save(_ subscription: StoreSubscription, _ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO subscriptions (original, account, bundle_id, group_id, product_id, state, shared_from, content)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (original) DO UPDATE SET
                product_id = excluded.product_id, state = excluded.state, content = excluded.content
            """,
            [
                .integer(subscription.original), .text(subscription.account), .text(subscription.bundleID),
                .text(subscription.groupID), .text(subscription.productID.text), .text(subscription.state.rawValue),
                .optional(subscription.sharedFrom), .text(try StoredDocument.text(subscription)),
            ])
    }

    static func find(_ original: Int64, _ connection: any Connection) throws -> StoreSubscription? {
        try connection.first("SELECT content FROM subscriptions WHERE original = ?", [.integer(original)], read)
    }

    /// The account's own subscription in the group; shared ones are excluded.
    static func own(
        account: String, bundleID: String, groupID: String, _ connection: any Connection
    ) throws -> StoreSubscription? {
        try connection.first(
            """
            SELECT content FROM subscriptions
            WHERE account = ? AND bundle_id = ? AND group_id = ? AND shared_from IS NULL
            """, [.text(account), .text(bundleID), .text(groupID)], read)
    }

    /// All of an account's subscriptions, shared ones included, ordered by group.
    static func ofAccount(_ account: String, bundleID: String, _ connection: any Connection) throws
        -> [StoreSubscription]
    {
        try connection.query(
            contents, [.text(account), .text(bundleID)], read)
    }

    static let contents: SQL = """
        SELECT content FROM subscriptions WHERE account = ? AND bundle_id = ? ORDER BY group_id, original
        """

    /// The same with their stored texts, which differ whenever a subscription does.
    static func documents(
        account: String, bundleID: String, _ connection: any Connection
    ) throws -> [(text: String, subscription: StoreSubscription)] {
        try connection.query(
            contents, [.text(account), .text(bundleID)]
        ) { ($0.text("content"), try read($0)) }
    }

    /// The family members' shares of this subscription.
    static func shares(of original: Int64, _ connection: any Connection) throws -> [StoreSubscription] {
        try connection.query(
            "SELECT content FROM subscriptions WHERE shared_from = ? ORDER BY original", [.integer(original)], read)
    }

    /// The paid subscriptions of a product, starting after the original transaction `after`.
    static func ofProduct(
        _ productID: ProductID, bundleID: String, after: Int64, limit: Int, _ connection: any Connection
    ) throws -> [StoreSubscription] {
        try connection.query(
            """
            SELECT content FROM subscriptions
            WHERE product_id = ? AND bundle_id = ? AND shared_from IS NULL AND original > ? ORDER BY original LIMIT ?
            """, [.text(productID.text), .text(bundleID), .integer(after), .integer(Int64(limit))], read)
    }

    /// Every subscription, for pages and checks, starting after the original transaction `after`.
    static func all(after: Int64, limit: Int, _ connection: any Connection) throws -> [StoreSubscription] {
        try connection.query(
            "SELECT content FROM subscriptions WHERE original > ? ORDER BY original LIMIT ?",
            [.integer(after), .integer(Int64(limit))], read)
    }

    /// The subscriptions of one account or of all, in one app or in all, starting after the original transaction
    /// `after`.
    static func page(
        account: String?, bundleID: String?, after: Int64, limit: Int, _ connection: any Connection
    ) throws -> [StoreSubscription] {
        try connection.query(
            """
            SELECT content FROM subscriptions
            WHERE original > ? AND (? IS NULL OR account = ?) AND (? IS NULL OR bundle_id = ?)
            ORDER BY original LIMIT ?
            """,
            [
                .integer(after), .optional(account), .optional(account), .optional(bundleID), .optional(bundleID),
                .integer(Int64(limit)),
            ], read)
    }

    private static func read(_ row: any Row) throws -> StoreSubscription {
        try StoredDocument.read(StoreSubscription.self, from: row.text("content"))
    }
}

/// An account's state in one subscription group (`Product.SubscriptionInfo.status`, facts/storekit-client).
struct GroupStatus: Sendable {
    struct Entry: Sendable {
        var subscription: StoreSubscription
        /// The transaction of the newest period.
        var current: StoreTransaction
    }

    var groupID: String
    var groupName: String
    var isEligibleForIntroductory: Bool
    /// The account's own subscription first, then shared ones.
    var entries: [Entry]

    /// Every group that is on sale in the account's storefront or was ever subscribed in the app, ordered by id.
    static func all(
        account: StoreAccount, bundleID: String, _ configuration: EmulatorConfiguration, _ connection: any Connection
    ) throws -> [GroupStatus] {
        var names: [String: String] = [:]
        for product in try ProductTable.subscriptions(storefront: account.storefront, connection)
        where product.isSold(in: configuration.environment) && product.isOnSale {
            guard let terms = product.subscription else { continue }
            // The first named product of a group determines the group's name.
            if let name = terms.groupName, names[terms.groupID] ?? terms.groupID == terms.groupID {
                names[terms.groupID] = name
            } else if names[terms.groupID] == nil {
                names[terms.groupID] = terms.groupID
            }
        }
        var held: [String: [StoreSubscription]] = [:]
        for subscription in try SubscriptionTable.ofAccount(account.name, bundleID: bundleID, connection) {
            held[subscription.groupID, default: []].append(subscription)
        }
        return try Set(names.keys).union(held.keys).sorted().map { group in
            let subscriptions = held[group] ?? []
            let own = subscriptions.filter { $0.sharedFrom == nil }
            return GroupStatus(
                groupID: group, groupName: names[group] ?? group,
                isEligibleForIntroductory: SubscriptionOffer.isNew(own.first),
                entries: try (own + subscriptions.filter { $0.sharedFrom != nil }).compactMap { subscription in
                    try TransactionTable.find(subscription.current, connection).map {
                        Entry(subscription: subscription, current: $0)
                    }
                })
        }
    }
}

extension Store {
    /// For the account that is signed in on this device.
    func groupStatuses(
        on device: UniqueID, bundleID: String
    ) async throws -> Result<(device: StoreDevice, groups: [GroupStatus]), StoreRefusal> {
        let configuration = configuration
        return try await ask { connection in
            guard let device = try DeviceTable.find(device, connection) else { return .failure(.unknownDevice(device)) }
            guard let account = try AccountTable.find(device.account, connection) else {
                return .failure(.unknownAccount(device.account))
            }
            return .success(
                (device, try GroupStatus.all(account: account, bundleID: bundleID, configuration, connection)))
        }
    }
}
