import TillBilling

/// One transaction as the store keeps it. What the outside sees of it is signed anew each time it is asked for.
public struct StoreTransaction: Sendable, Hashable {
    /// How far the payment has come. Only a purchased transaction is ever signed.
    public enum State: String, Sendable, Hashable {
        case purchased
        /// Ask to Buy: waits for `approve` or `decline`, for 24 hours (facts/limits §4).
        case deferred
        /// The payment failed because the customer had to do something first; `approve` completes it.
        case interrupted
        case declined
    }

    public struct Revocation: Sendable, Hashable {
        public var date: Instant
        /// 1: an issue with the app; 0: another reason.
        public var reason: Int64
        /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
        public var type: String
        /// Thousandths of a percent: 100000 is all of it.
        public var percentage: Int64
    }

    public struct Subscription: Sendable, Hashable {
        public var groupID: String
        public var expires: Instant
        public var lineItem: Int64
    }

    /// Of the whole purchase: the price of one times the quantity.
    public var price: Money
    public var number: Int64
    public var original: Int64
    public var state: State
    public var isFinished: Bool
    public var environment: Environment
    public var account: String
    public var bundleID: String
    public var productID: ProductID
    public var kind: ProductKind
    public var quantity: Int64
    public var storefront: String
    public var appAccountToken: UniqueID?
    public var appTransaction: Int64
    /// `PURCHASE` or `RENEWAL`.
    public var reason: String
    public var purchased: Instant
    public var firstPurchased: Instant
    public var subscription: Subscription?
    public var revocation: Revocation?

    public var id: TransactionID { TransactionID(String(number)) }
    public var originalID: TransactionID { TransactionID(String(original)) }
}

extension Money {
    /// Apple's thousandths of the currency's unit (facts/jws §1).
    var milliunits: Int64 {
        let factor: Int64 = currency.minorDigits == 0 ? 1_000 : currency.minorDigits == 2 ? 10 : 1
        return amount * factor
    }
}
