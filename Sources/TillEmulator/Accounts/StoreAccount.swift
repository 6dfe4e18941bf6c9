import TillBilling

/// An Apple Account: who pays, from where, and what stands in the way.
public struct StoreAccount: Sendable, Hashable {
    /// The store's own name for it; nothing that Apple signs contains it.
    public var name: String
    /// ISO 3166-1 alpha-3.
    public var storefront: String
    /// The family it belongs to, by the name of its organizer's account; nil without one.
    public var family: String?
    /// Purchases wait for the organizer (Ask to Buy).
    public var asksToBuy = false
    /// False where Screen Time forbids purchases: `canMakePayments` (SCENARIOS L3).
    public var mayPay = true
    /// Whether charges go through. False: renewals fail until it is true again.
    public var paymentMethodWorks = true
    /// What its owner does at a payment sheet when a purchase does not say.
    public var paymentSheet = PurchaseRequest.Outcome.purchased
    /// Deleted accounts keep their history for nobody to see: 21010, 4040001.
    public var isDeleted = false

    public init(name: String, storefront: String) {
        self.name = name
        self.storefront = storefront
    }
}
