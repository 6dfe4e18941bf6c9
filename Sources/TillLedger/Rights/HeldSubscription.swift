import TillBilling

/// A subscription that somebody holds: the chain of its periods under one original transaction.
package struct HeldSubscription: Sendable, Hashable {
    package let originalID: TransactionID
    package let state: Subscription
    /// Of the newest period's grant or product: what it gives.
    package let entitlement: String?
    let deviceID: DeviceID?
    let groupID: String?
    let isFamilyShared: Bool
}
