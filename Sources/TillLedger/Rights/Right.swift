import TillBilling

/// Something that somebody may use now, or could once: a row of `Rights`.
package struct Right: Sendable, Hashable {
    package typealias Kind = EntitlementKind

    /// Its name in the catalogue: a product's entitlement, or else the rank of its plan.
    package let entitlement: String
    package let kind: Kind
    package let state: Subscription.State
    package let why: RightReason
    /// Of the newest purchase it comes from.
    package let productID: ProductID
    package let transactionID: TransactionID
    /// Since when there has been no gap; for what lasts, when it was bought.
    package let since: Instant
    /// The first moment without it, to come or past; nil for what lasts.
    package let until: Instant?
    package var planID: PlanID?
    /// As the order named it.
    package var deviceID: DeviceID?
    /// What a service is for, sorted; nil for all of the account.
    package var deviceIDs: [DeviceID]?
    /// Of a subscription: its identity, and whether it goes on after `until`, nil while nobody knows.
    package var originalID: TransactionID?
    package var willRenew: Bool?

    /// Whether it may be used now: grace counts, billing retry does not.
    package var isAllowed: Bool { why.allows }

    /// Whether it may be used now on one device. What is for single devices is for those that orders or proofs named.
    package func isAllowed(on device: DeviceID?) -> Bool {
        isAllowed && (deviceIDs.map { named in device.map(named.contains) ?? false } ?? true)
    }

    var sentence: Text { why.sentence(until: until) }
}

extension Product {
    /// The right it gives, whatever kind of product it is.
    package var right: String? { entitlement ?? plan.map { $0.rank ?? $0.id.text } }
}
