import TillBilling

/// A customer's subscription: the chain of its periods under one original transaction.
package struct OwnedSubscription: Sendable, Hashable {
    package let originalID: TransactionID
    package let state: Subscription
    /// The entitlement of the newest period, from its grant or its product.
    package let entitlement: String?
    let deviceID: DeviceID?
    let groupID: String?
    let isFamilyShared: Bool
}
