import TillAPI
import TillBilling

/// Something that somebody may use now, or could once: a row of `Rights`.
struct Right: Sendable, Hashable {
    typealias Kind = EntitlementReply.Kind

    /// Its name in the catalogue: a product's entitlement, or else the rank of its plan.
    let entitlement: String
    let kind: Kind
    let state: Subscription.State
    let why: RightReason
    /// Of the newest purchase it comes from.
    let productID: ProductID
    let transactionID: TransactionID
    /// Since when there has been no gap; for what lasts, when it was bought.
    let since: Instant
    /// The first moment without it, to come or past; nil for what lasts.
    let until: Instant?
    var planID: PlanID?
    /// As the order named it.
    var deviceID: DeviceID?
    /// What a service is for, sorted; nil for all of the account.
    var deviceIDs: [DeviceID]?
    /// Of a subscription: its identity, and whether it goes on after `until`, nil while nobody knows.
    var originalID: TransactionID?
    var willRenew: Bool?

    /// Whether it may be used now: grace counts, billing retry does not.
    var isAllowed: Bool { why.allows }

    /// Whether it may be used now on one device. What is for single devices is for those that orders or proofs named.
    func isAllowed(on device: DeviceID?) -> Bool {
        isAllowed && (deviceIDs.map { named in device.map(named.contains) ?? false } ?? true)
    }

    var sentence: Text { why.sentence(until: until) }
}

extension Product {
    /// The right it gives, whatever kind of product it is.
    var right: String? { entitlement ?? plan.map { $0.rank ?? $0.id.text } }
}

extension EntitlementReply {
    init(_ right: Right) {
        self.init(
            entitlement: right.entitlement, productId: right.productID, kind: right.kind, state: right.state,
            why: right.why, since: right.since, expiresAt: right.until, transactionId: right.transactionID)
        plan = right.planID?.text
        deviceId = right.deviceID?.text
        deviceIds = right.deviceIDs?.map(\.text)
        willRenew = right.willRenew
        originalTransactionId = right.originalID?.text
    }
}
