import TillBilling

/// A subscription that somebody holds: the chain of its periods under one original transaction.
struct HeldSubscription: Sendable, Hashable {
    let originalID: TransactionID
    let state: Subscription
    /// Of the newest period's grant or product: what it gives.
    let entitlement: String?
    let deviceID: DeviceID?
    let groupID: String?
    let isFamilyShared: Bool
}
