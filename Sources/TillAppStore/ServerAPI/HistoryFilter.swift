import TillBilling

/// What of a customer's history is asked for (facts/server-api §4.1). Several values of one field mean any of them;
/// different fields mean all of them.
public struct HistoryFilter: Sendable, Hashable {
    public enum Order: String, Sendable {
        /// By the date of the last change, the oldest first.
        case ascending = "ASCENDING"
        case descending = "DESCENDING"
    }

    /// Kinds of product in the words of this endpoint, which are not those of the proofs.
    public enum Kind: String, Sendable, CaseIterable {
        case autoRenewable = "AUTO_RENEWABLE"
        case nonRenewing = "NON_RENEWABLE"
        case consumable = "CONSUMABLE"
        case nonConsumable = "NON_CONSUMABLE"
    }

    /// Purchased then or later.
    public var start: Instant?
    /// Purchased before.
    public var end: Instant?
    public var products: [ProductID] = []
    public var kinds: [Kind] = []
    public var ownership: Ownership?
    /// Only an ascending walk's last revision may be kept for later.
    public var order: Order?
    /// True for revoked purchases only, false for the others only.
    public var isRevoked: Bool?
    public var subscriptionGroups: [String] = []

    public init() {}

    /// Most values of one field.
    static let valueLimit = 50

    func add(to target: inout CallTarget) throws(InvalidRequest) {
        if let start, let end, start >= end { throw InvalidRequest("endDate", .contradiction) }
        try target.query("startDate", start.map { String($0.milliseconds) })
        try target.query("endDate", end.map { String($0.milliseconds) })
        try Self.check(products.count, "productId")
        try target.query("productId", each: products.map(\.text))
        try Self.check(kinds.count, "productType")
        try target.query("productType", each: kinds.map(\.rawValue))
        try target.query("inAppOwnershipType", ownership?.rawValue)
        try target.query("sort", order?.rawValue)
        try target.query("revoked", isRevoked.map { $0 ? "true" : "false" })
        try Self.check(subscriptionGroups.count, "subscriptionGroupIdentifier")
        try target.query("subscriptionGroupIdentifier", each: subscriptionGroups)
    }

    private static func check(_ count: Int, _ field: String) throws(InvalidRequest) {
        guard count <= valueLimit else { throw InvalidRequest(field, .tooLong) }
    }
}
