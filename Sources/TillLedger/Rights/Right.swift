import TillBilling

/// Something that a user may use now, or could use before: a row of `Rights`.
package struct Right: Sendable, Hashable {
    package typealias Kind = EntitlementKind

    /// Its name in the catalogue: a product's entitlement, or else the rank of its plan.
    package let entitlement: String
    package let kind: Kind
    package let state: Subscription.State
    package let why: RightReason
    /// The newest purchase that it comes from.
    package let productID: ProductID
    package let transactionID: TransactionID
    /// The start of uninterrupted use; for a permanent right, the purchase date.
    package let since: Instant
    /// The first moment without it, future or past; nil for a permanent right.
    package let until: Instant?
    package var planID: PlanID?
    /// The device that the order named.
    package var deviceID: DeviceID?
    /// The devices of a service, sorted; nil for the whole account.
    package var deviceIDs: [DeviceID]?
    /// For a subscription: its original transaction, and whether it continues after `until`; nil while that is unknown.
    package var originalID: TransactionID?
    package var willRenew: Bool?

    /// Whether it may be used now: grace counts, billing retry does not.
    package var isAllowed: Bool { why.allows }

    /// Whether it may be used now on one device. A right for single devices covers those that orders or proofs named.
    package func isAllowed(on device: DeviceID?) -> Bool {
        isAllowed && (deviceIDs.map { named in device.map(named.contains) ?? false } ?? true)
    }

    var sentence: LocalizedText { why.sentence(until: until) }
}

extension CatalogProduct {
    /// The right that the product gives, for every kind of product.
    package var right: String? { entitlement ?? plan.map { $0.rank ?? $0.id.text } }
}
