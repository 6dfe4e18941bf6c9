import TillBilling
import TillSQL

/// One customer's subscription in one group, over its whole life: through renewals, changes of plan, lapses and
/// returns it keeps its original transaction (facts/business-rules §8.2).
public struct StoreSubscription: Sendable, Hashable, Codable {
    /// `status` of Apple's answers is made from this (facts/server-api §4.2).
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        case active
        /// Billing failed; the service goes on until `graceExpires`.
        case gracePeriod
        /// Billing failed; the service stopped, and Apple tries again until `retryUntil`.
        case billingRetry
        case expired
        /// Refunded, or taken back from a member of a family.
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

    /// An increase of the price that the next renewals cost (facts/business-rules §8.4).
    public struct PriceIncrease: Sendable, Hashable, Codable {
        public var price: Money
        /// Renewals from then on cost it.
        public var effective: Instant
        public var needsConsent: Bool
        /// Whether the customer agreed, or was told of one that needs no consent.
        public var isAccepted: Bool
    }

    /// An offer that still has charges to come.
    public struct RunningOffer: Sendable, Hashable, Codable {
        public var offer: StoreTransaction.Offer
        /// What each of these charges costs.
        public var price: Money
        /// How long one of these charges lasts; nil: the subscription's own period.
        public var period: OfferPeriod?
        /// How many charges are left.
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
    /// End of the newest period that was paid: `renewalDate`.
    public var expires: Instant
    /// The day of the month that renewals keep (facts/business-rules §8.1), 1 to 31.
    public var billingDay: Int64
    /// What the customer wants. The months of a commitment follow all the same: `renewsNext`.
    public var renews: Bool
    /// What renews next; another one than `productID` after a downgrade.
    public var renewalProductID: ProductID
    /// What the next renewal costs before any offer; nil: the product is not for sale there any more.
    public var renewalPrice: Money?
    public var runningOffer: RunningOffer?
    public var priceIncrease: PriceIncrease?
    public var graceExpires: Instant?
    public var retryUntil: Instant?
    /// 1 cancelled, 2 billing error, 3 no consent to a price increase, 4 product unavailable, 5 other; while expired
    /// or failing.
    public var expirationIntent: Int64?
    /// Start of the service without gaps of more than 60 days (facts/jws §5, `recentSubscriptionStartDate`).
    public var recentStart: Instant
    /// Ids of win-back offers, best first; while expired.
    public var eligibleWinBacks: [String]
    /// The token of the next renewal.
    public var appAccountToken: UniqueID?
    /// How often it has renewed by itself; the sandbox stops after twelve.
    public var renewals: Int64
    /// When its renewal date was extended, at most twice in 365 days (facts/server-api §4.4).
    public var extensions: [Instant]
    /// Charges for this subscription fail whatever the account's payment method does.
    public var billingFails: Bool
    /// The purchaser's subscription, if a family shares it; nil for who pays.
    public var sharedFrom: Int64?
    /// Whether what renews next is a year paid by the month; inside a commitment, whether another one follows it.
    public var monthlyBilling: Bool
    /// The price on the shelf when `renewalPrice` was settled: only what is cheaper than this is a price cut.
    public var shelfPrice: Money?
    /// When Apple tries to charge next; nil while nothing is to be charged before the period ends.
    public var nextCharge: Instant?
    /// When the customer had the group's introductory offer: there is one in a life (facts/business-rules §9).
    public var hadIntroductory: Instant?
    /// When the price was last raised (facts/business-rules §8.4: more than once a year needs consent).
    public var lastIncrease: Instant?
    /// Of the newest period, if it is a month of a year.
    public var commitment: StoreTransaction.Commitment?
}

extension StoreSubscription {
    /// When something happens to it by itself.
    var nextDate: Instant? {
        guard sharedFrom == nil else { return nil }
        switch state {
        case .active: return renewsNext ? min(nextCharge ?? expires, expires) : expires
        case .gracePeriod: return [graceExpires, nextCharge].compactMap { $0 }.min()
        case .billingRetry: return [retryUntil, nextCharge].compactMap { $0 }.min()
        case .expired, .revoked: return nil
        }
    }

    /// What the customer paid for or is about to pay for has not come to its end.
    var isGoingOn: Bool { state == .active || isFailing }

    /// The customer may use what it pays for.
    var isServing: Bool { state == .active || state == .gracePeriod }

    /// A charge failed, and Apple tries again.
    var isFailing: Bool { state == .gracePeriod || state == .billingRetry }

    /// What the next renewal costs, after any offer and any increase the customer agreed to.
    var nextPrice: Money? {
        if let month = owedMonth { return month }
        return priceAfterCommitment
    }

    /// The same where no month is owed; otherwise what the first charge after the commitment costs.
    var priceAfterCommitment: Money? {
        if let offer = runningOffer { return offer.price }
        if let increase = duePriceIncrease, increase.isAccepted { return increase.price }
        return renewalPrice
    }

    /// An increase that the renewal at the end of the period would cost. A commitment's months keep their price.
    var duePriceIncrease: PriceIncrease? {
        owedMonth == nil ? priceIncrease.flatMap { $0.effective <= expires ? $0 : nil } : nil
    }
}

/// Every subscription the store has ever seen, by its original transaction.
enum SubscriptionTable {
    /// Writes the subscription as it is now, new or not.
    static func save(_ subscription: StoreSubscription, _ session: any Connection) throws {
        try session.execute(
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

    static func find(_ original: Int64, _ session: any Connection) throws -> StoreSubscription? {
        try session.first("SELECT content FROM subscriptions WHERE original = ?", [.integer(original)], read)
    }

    /// What this account pays for in the group; not what a family shares with it.
    static func own(
        account: String, bundleID: String, groupID: String, _ session: any Connection
    ) throws -> StoreSubscription? {
        try session.first(
            """
            SELECT content FROM subscriptions
            WHERE account = ? AND bundle_id = ? AND group_id = ? AND shared_from IS NULL
            """, [.text(account), .text(bundleID), .text(groupID)], read)
    }

    /// All of an account's, shared ones too, in the order of their groups.
    static func ofAccount(_ account: String, bundleID: String, _ session: any Connection) throws -> [StoreSubscription]
    {
        try session.query(
            contents, [.text(account), .text(bundleID)], read)
    }

    static let contents: SQL = """
        SELECT content FROM subscriptions WHERE account = ? AND bundle_id = ? ORDER BY group_id, original
        """

    /// The same as they lie in the store: what differs there differs.
    static func documents(
        account: String, bundleID: String, _ session: any Connection
    ) throws -> [(text: String, subscription: StoreSubscription)] {
        try session.query(
            contents, [.text(account), .text(bundleID)]
        ) { ($0.text("content"), try read($0)) }
    }

    /// What members of a family have from this subscription.
    static func shares(of original: Int64, _ session: any Connection) throws -> [StoreSubscription] {
        try session.query(
            "SELECT content FROM subscriptions WHERE shared_from = ? ORDER BY original", [.integer(original)], read)
    }

    /// The paid ones of a product, beginning after the original transaction `after`.
    static func ofProduct(
        _ productID: ProductID, bundleID: String, after: Int64, limit: Int, _ session: any Connection
    ) throws -> [StoreSubscription] {
        try session.query(
            """
            SELECT content FROM subscriptions
            WHERE product_id = ? AND bundle_id = ? AND shared_from IS NULL AND original > ? ORDER BY original LIMIT ?
            """, [.text(productID.text), .text(bundleID), .integer(after), .integer(Int64(limit))], read)
    }

    /// Every subscription, for pages and checkers, beginning after the original transaction `after`.
    static func all(after: Int64, limit: Int, _ session: any Connection) throws -> [StoreSubscription] {
        try session.query(
            "SELECT content FROM subscriptions WHERE original > ? ORDER BY original LIMIT ?",
            [.integer(after), .integer(Int64(limit))], read)
    }

    /// Of one account or of all, in one app or in all, beginning after the original transaction `after`.
    static func page(
        account: String?, bundleID: String?, after: Int64, limit: Int, _ session: any Connection
    ) throws -> [StoreSubscription] {
        try session.query(
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

/// What one account has in one subscription group (`Product.SubscriptionInfo.status`, facts/storekit-client B4).
struct GroupStatus: Sendable {
    struct Entry: Sendable {
        var subscription: StoreSubscription
        /// Of the newest period.
        var current: StoreTransaction
    }

    var groupID: String
    var groupName: String
    var isEligibleForIntroductory: Bool
    /// The own one first, then what families share.
    var entries: [Entry]

    /// Every group on sale in the account's storefront or ever held in the app, in the order of their ids.
    static func all(
        account: StoreAccount, bundleID: String, _ configuration: EmulatorConfiguration, _ session: any Connection
    ) throws -> [GroupStatus] {
        var names: [String: String] = [:]
        for product in try ProductTable.subscriptions(storefront: account.storefront, session)
        where product.isSold(in: configuration.environment) && product.isOnSale {
            guard let terms = product.subscription else { continue }
            // The first product of a group that has a name names it.
            if let name = terms.groupName, names[terms.groupID] ?? terms.groupID == terms.groupID {
                names[terms.groupID] = name
            } else if names[terms.groupID] == nil {
                names[terms.groupID] = terms.groupID
            }
        }
        var held: [String: [StoreSubscription]] = [:]
        for subscription in try SubscriptionTable.ofAccount(account.name, bundleID: bundleID, session) {
            held[subscription.groupID, default: []].append(subscription)
        }
        return try Set(names.keys).union(held.keys).sorted().map { group in
            let subscriptions = held[group] ?? []
            let own = subscriptions.filter { $0.sharedFrom == nil }
            return GroupStatus(
                groupID: group, groupName: names[group] ?? group,
                isEligibleForIntroductory: SubscriptionOffer.isNew(own.first),
                entries: try (own + subscriptions.filter { $0.sharedFrom != nil }).compactMap { subscription in
                    try TransactionTable.find(subscription.current, session).map {
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
        return try await ask { session in
            guard let device = try DeviceTable.find(device, session) else { return .failure(.unknownDevice(device)) }
            guard let account = try AccountTable.find(device.account, session) else {
                return .failure(.unknownAccount(device.account))
            }
            return .success(
                (device, try GroupStatus.all(account: account, bundleID: bundleID, configuration, session)))
        }
    }
}
