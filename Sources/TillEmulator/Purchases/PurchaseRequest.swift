import TillBilling

/// What a customer is about to confirm, and what comes of it.
public struct PurchaseRequest: Sendable, Hashable {
    /// What the customer, or the bank, does. A test chooses it; Apple's customers decide themselves.
    public enum Outcome: String, Sendable, Hashable, CaseIterable {
        case purchased
        case cancelled
        case failed
        /// Ask to Buy: a parent decides later.
        case deferred
        /// Fails now because the customer has something to do first, and is paid once that is done.
        case interrupted
    }

    /// The offer the customer buys with. Introductory offers need none of it: who may have one gets it.
    public enum Offer: Sendable, Hashable {
        /// With the developer's signature over it (facts/business-rules §9).
        case promotional(identifier: String, signature: OfferSignature)
        /// By a code that was redeemed (OFFER CODES: facts/business-rules §9).
        case code(String)
        case winBack(identifier: String)
    }

    public var bundleID: String
    public var productID: ProductID
    public var quantity: Int64 = 1
    public var appAccountToken: UniqueID?
    /// ISO 3166-1 alpha-3; nil: the account's own.
    public var storefront: String?
    public var account = Emulator.defaultAccount
    /// Nil: what the account's owner does at payment sheets (`StoreAccount.paymentSheet`).
    public var outcome: Outcome?
    public var offer: Offer?
    /// A year paid by the month (API 1.21).
    public var monthlyBilling = false
    /// JWS of the developer that grants or withholds the introductory offer (facts/business-rules §9).
    public var introductoryEligibility: String?
    /// The device the customer holds, `identifierForVendor`; nil: one that asks for no proof of its own.
    public var device: UniqueID?

    public init(bundleID: String, productID: ProductID) {
        self.bundleID = bundleID
        self.productID = productID
    }
}

/// The developer's signature of a promotional offer, in either form (facts/business-rules §9).
public enum OfferSignature: Sendable, Hashable {
    /// `timestamp` in milliseconds; `signature` base64 of DER.
    case classic(keyIdentifier: String, nonce: UniqueID, timestamp: Int64, signature: String)
    case jws(String)
}

/// What the payment sheet ends with.
public enum PurchaseResult: Sendable, Hashable {
    case purchased(StoreTransaction)
    /// A non-consumable the account has already: nothing is charged, the transaction of then is in the queue again.
    case ownedAlready(StoreTransaction)
    /// Deferred or interrupted: see its state. Nothing is paid yet.
    case waiting(StoreTransaction)
    /// A change of plan that takes effect at the next renewal: nothing is charged now.
    case scheduled(StoreSubscription)
    case cancelled
    case failed
}
