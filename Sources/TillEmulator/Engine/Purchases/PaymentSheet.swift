import TillBilling
import TillSQL

/// Turns a confirmed purchase request into a transaction.
enum PaymentSheet {
    /// Every kind of product takes the same steps: check for refusals, determine the outcome, then charge.
    static func pay(_ request: PurchaseRequest, _ change: StoreChange) throws -> Result<PurchaseResult, StoreRefusal> {
        let account = try AccountTable.account(
            request.account, openingIn: change.configuration.storefront, change.connection)
        if let refusal = try refusal(of: request, by: account, change) { return .failure(refusal) }
        let storefront = request.storefront ?? account.storefront
        guard let product = try ProductTable.priced(request.productID, storefront: storefront, change.connection) else {
            return .failure(try ProductTable.unknown(request.productID.text, change.connection))
        }
        guard product.kind != .freeSubscription else { return .failure(.discontinued(product.id.text)) }
        guard let price = product.prices[storefront] else {
            return .failure(.notForSale(product: product.id.text, storefront: storefront))
        }
        guard product.isSold(in: change.configuration.environment), product.isOnSale else {
            return .failure(.notOnSale(product.id.text, product.state))
        }
        guard request.quantity == 1 || product.kind.allowsQuantity && request.offer == nil else {
            return .failure(.quantityNotAllowed(product: product.id.text))
        }
        var purchase = Purchase(
            request: request, product: product, account: account, storefront: storefront, price: price,
            outcome: request.outcome ?? account.paymentSheet)
        if let ended = try end(purchase, change) { return ended }
        if account.asksToBuy { purchase.outcome = .deferred }
        if purchase.outcome == .deferred, let asked = try PurchaseApprovals.request(like: purchase, change) {
            return .success(.waiting(asked))
        }
        let result =
            try product.subscription == nil
            ? OneTimeSale.sell(purchase, change) : SubscriptionLifecycle.subscribe(purchase, change)
        if case .success(.waiting(let transaction)) = result { try PurchaseApprovals.open(transaction, change) }
        return result
    }

    /// Why this account may not buy anything.
    private static func refusal(
        of request: PurchaseRequest, by account: StoreAccount, _ change: StoreChange
    ) throws -> StoreRefusal? {
        if account.isDeleted { return .accountDeleted(account.name) }
        if !account.mayPay { return .paymentNotAllowed(account.name) }
        if let device = request.device,
            case .failure(let refusal) = try AccountChanges.device(device, of: account.name, change.connection)
        {
            return refusal
        }
        return nil
    }

    /// The result of a purchase that ends before a charge: cancelled, failed, or already owned. Nil if it continues.
    private static func end(_ purchase: Purchase, _ change: StoreChange) throws -> Result<PurchaseResult, StoreRefusal>?
    {
        let outcome = purchase.outcome
        let isGivenUp = outcome == .cancelled || outcome == .failed
        if !isGivenUp, let owned = try OneTimeSale.takeAgain(purchase, change) { return .success(.ownedAlready(owned)) }
        // An Ask to Buy purchase is charged later, and an interrupted one may wait for a new card.
        let isCharged = outcome == .purchased && !purchase.account.asksToBuy
        guard isGivenUp || isCharged && !purchase.account.paymentMethodWorks else { return nil }
        // The device checks a signature before it shows the payment sheet. A signature is valid for one attempt, even a
        // failed one.
        if case .promotional(let identifier, let signature) = purchase.request.offer,
            let refusal = try OfferChecks.check(signature, offer: identifier, of: purchase.request, change)
        {
            return .failure(refusal)
        }
        return .success(outcome == .cancelled ? .cancelled : .failed)
    }
}

/// A validated request: its account, product and price exist.
struct Purchase {
    var request: PurchaseRequest
    var product: StoreProduct
    var account: StoreAccount
    var storefront: String
    /// The price of one unit without an offer.
    var price: Money
    /// How the purchase ends, unless a refusal or a failed payment prevents it.
    var outcome: PurchaseRequest.Outcome

    /// The transaction of this purchase, paid at this moment. It is not stored yet and is its own original.
    func transaction(price: Money? = nil, _ change: StoreChange) throws -> StoreTransaction {
        let number = try Counter.transaction.take(change.connection)
        let download = try DownloadTable.download(
            account: account.name, bundleID: request.bundleID, at: change.now, change.connection)
        return StoreTransaction(
            price: price ?? Money(amount: self.price.amount * request.quantity, currency: self.price.currency),
            number: number, original: number, state: .purchased, isFinished: false,
            environment: change.configuration.environment, account: account.name, bundleID: request.bundleID,
            productID: product.id, kind: product.kind, quantity: request.quantity, storefront: storefront,
            appAccountToken: request.appAccountToken, appTransaction: download.appTransaction, reason: "PURCHASE",
            purchased: change.now, firstPurchased: change.now, subscription: nil, revocation: nil)
    }
}

/// A customer's purchase request, and the outcome that a test chooses for it.
public struct PurchaseRequest: Sendable, Hashable {
    /// The action of the customer or the bank, chosen by a test.
    public enum Outcome: String, Sendable, Hashable, CaseIterable {
        case purchased
        case cancelled
        case failed
        /// Ask to Buy: a parent decides later.
        case deferred
        /// Fails now because the customer has to do something first, and is paid after that.
        case interrupted
    }

    /// The offer of the purchase. Introductory offers are not listed: eligible customers get them automatically.
    public enum Offer: Sendable, Hashable {
        /// With the developer's signature (facts/business-rules §9).
        case promotional(identifier: String, signature: OfferSignature)
        /// With a redeemed offer code (facts/business-rules §9).
        case code(String)
        case winBack(identifier: String)
    }

    public var bundleID: String
    public var productID: ProductID
    public var quantity: Int64 = 1
    public var appAccountToken: UniqueID?
    /// ISO 3166-1 alpha-3; nil: the account's storefront.
    public var storefront: String?
    public var account = Emulator.defaultAccount
    /// Nil: the account's default (`StoreAccount.paymentSheet`).
    public var outcome: Outcome?
    public var offer: Offer?
    /// A year paid monthly (API 1.21).
    public var monthlyBilling = false
    /// The developer's JWS that grants or denies the introductory offer (facts/business-rules §9).
    public var introductoryEligibility: String?
    /// The customer's device, `identifierForVendor`; nil: no device-specific proof is requested.
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

/// The result of the payment sheet.
public enum PurchaseResult: Sendable, Hashable {
    case purchased(StoreTransaction)
    /// A non-consumable that the account already owns: nothing is charged, and the earlier transaction is in the queue
    /// again.
    case ownedAlready(StoreTransaction)
    /// Deferred or interrupted, according to its state. Nothing is paid yet.
    case waiting(StoreTransaction)
    /// A change of plan at the next renewal: nothing is charged now.
    case scheduled(StoreSubscription)
    case cancelled
    case failed
}

/// Sells one-time purchases: consumables, non-consumables and non-renewing subscriptions.
enum OneTimeSale {
    static func sell(_ purchase: Purchase, _ change: StoreChange) throws -> Result<PurchaseResult, StoreRefusal> {
        var offer: ProductOffer?
        if let wanted = purchase.request.offer {
            switch try OfferChecks.offer(wanted, of: purchase, change) {
            case .success(let found): offer = found
            case .failure(let refusal): return .failure(refusal)
            }
        }
        var transaction = try purchase.transaction(price: offer?.prices[purchase.storefront], change)
        transaction.offer = offer.map {
            StoreTransaction.Offer(kind: $0.kind, identifier: $0.identifier, discount: $0.discount, period: nil)
        }
        switch purchase.outcome {
        case .deferred: transaction.state = .deferred
        case .interrupted: transaction.state = .interrupted
        case .purchased, .cancelled, .failed: break
        }
        transaction = try TransactionTable.insert(transaction, change.connection)
        guard transaction.state == .purchased else { return .success(.waiting(transaction)) }
        try notify(of: transaction, isInFamily: purchase.account.family != nil, change)
        return .success(.purchased(transaction))
    }

    /// Notifies the developer of a paid purchase and shares it with the family.
    ///
    /// - Parameter isInFamily: false if the account is known to have no family, so that it is not read again.
    static func notify(
        of transaction: StoreTransaction, isInFamily: Bool = true, _ change: StoreChange
    ) throws {
        try change.note(.oneTimeCharge, about: transaction)
        if isInFamily { try FamilySharing.share(transaction, nil, change) }
    }

    /// A non-consumable that the account already owns, bought or shared, is returned free of charge: the same
    /// transaction is in the queue again (facts/business-rules §1).
    static func takeAgain(_ purchase: Purchase, _ change: StoreChange) throws -> StoreTransaction? {
        guard purchase.product.kind == .nonConsumable,
            var owned = try SharedPurchaseTable.owned(
                purchase.product.id, by: purchase.account.name, bundleID: purchase.request.bundleID, shared: true,
                change.connection)
        else { return nil }
        owned.isFinished = false
        try TransactionTable.setFinished(owned.number, false, change.connection)
        return owned
    }
}
