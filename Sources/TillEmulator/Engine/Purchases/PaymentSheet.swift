import TillBilling
import TillSQL

/// Turns a confirmed request into a transaction.
enum PaymentSheet {
    /// One way for every kind of product: what stands in the way, then who decides, then the charge.
    static func pay(_ request: PurchaseRequest, _ turn: Turn) throws -> Result<PurchaseResult, StoreRefusal> {
        let account = try AccountTable.account(
            request.account, openingIn: turn.configuration.storefront, turn.session)
        if let refusal = try refusal(of: request, by: account, turn) { return .failure(refusal) }
        let storefront = request.storefront ?? account.storefront
        guard let product = try ProductTable.priced(request.productID, storefront: storefront, turn.session) else {
            return .failure(try ProductTable.unknown(request.productID.text, turn.session))
        }
        guard let price = product.prices[storefront] else {
            return .failure(.notForSale(product: product.id.text, storefront: storefront))
        }
        guard product.isSold(in: turn.configuration.environment), product.isOnSale else {
            return .failure(.notOnSale(product.id.text, product.state))
        }
        guard request.quantity == 1 || product.kind.allowsQuantity && request.offer == nil else {
            return .failure(.quantityNotAllowed(product: product.id.text))
        }
        var purchase = Purchase(
            request: request, product: product, account: account, storefront: storefront, price: price,
            outcome: request.outcome ?? account.paymentSheet)
        if let ended = try end(purchase, turn) { return ended }
        if account.asksToBuy { purchase.outcome = .deferred }
        if purchase.outcome == .deferred, let asked = try ApprovalDesk.request(like: purchase, turn) {
            return .success(.waiting(asked))
        }
        let result =
            try product.subscription == nil
            ? OneTimeSale.sell(purchase, turn) : SubscriptionLife.subscribe(purchase, turn)
        if case .success(.waiting(let transaction)) = result { try ApprovalDesk.open(transaction, turn) }
        return result
    }

    /// Why this account may not buy at all.
    private static func refusal(
        of request: PurchaseRequest, by account: StoreAccount, _ turn: Turn
    ) throws -> StoreRefusal? {
        if account.isDeleted { return .accountDeleted(account.name) }
        if !account.mayPay { return .paymentNotAllowed(account.name) }
        if let device = request.device,
            case .failure(let refusal) = try AccountDesk.device(device, of: account.name, turn.session)
        {
            return refusal
        }
        return nil
    }

    /// What ends before anybody is charged: given up, failed, or had already. Nil if it goes on.
    private static func end(_ purchase: Purchase, _ turn: Turn) throws -> Result<PurchaseResult, StoreRefusal>? {
        let outcome = purchase.outcome
        let isGivenUp = outcome == .cancelled || outcome == .failed
        if !isGivenUp, let owned = try OneTimeSale.takeAgain(purchase, turn) { return .success(.ownedAlready(owned)) }
        // A parent pays another day; what was interrupted may be about the card.
        let isCharged = outcome == .purchased && !purchase.account.asksToBuy
        guard isGivenUp || isCharged && !purchase.account.paymentMethodWorks else { return nil }
        // The device checks a signature before it shows the sheet, and it is for one attempt, even one that fails.
        if case .promotional(let identifier, let signature) = purchase.request.offer,
            let refusal = try OfferDesk.check(signature, offer: identifier, of: purchase.request, turn)
        {
            return .failure(refusal)
        }
        return .success(outcome == .cancelled ? .cancelled : .failed)
    }
}

/// A request that may be charged: everything that it names is there.
struct Purchase {
    var request: PurchaseRequest
    var product: StoreProduct
    var account: StoreAccount
    var storefront: String
    /// Of one, without any offer.
    var price: Money
    /// How it ends, unless something stands in the way.
    var outcome: PurchaseRequest.Outcome

    /// The transaction of this purchase, paid at the turn's moment. Not stored yet; its own original.
    func transaction(price: Money? = nil, _ turn: Turn) throws -> StoreTransaction {
        let number = try Counter.transaction.take(turn.session)
        let download = try DownloadTable.download(
            account: account.name, bundleID: request.bundleID, at: turn.now, turn.session)
        return StoreTransaction(
            price: price ?? Money(amount: self.price.amount * request.quantity, currency: self.price.currency),
            number: number, original: number, state: .purchased, isFinished: false,
            environment: turn.configuration.environment, account: account.name, bundleID: request.bundleID,
            productID: product.id, kind: product.kind, quantity: request.quantity, storefront: storefront,
            appAccountToken: request.appAccountToken, appTransaction: download.appTransaction, reason: "PURCHASE",
            purchased: turn.now, firstPurchased: turn.now, subscription: nil, revocation: nil)
    }
}

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

/// Sells what is paid once: consumables, non-consumables, non-renewing subscriptions.
enum OneTimeSale {
    static func sell(_ purchase: Purchase, _ turn: Turn) throws -> Result<PurchaseResult, StoreRefusal> {
        var offer: ProductOffer?
        if let wanted = purchase.request.offer {
            switch try OfferDesk.offer(wanted, of: purchase, turn) {
            case .success(let found): offer = found
            case .failure(let refusal): return .failure(refusal)
            }
        }
        var transaction = try purchase.transaction(price: offer?.prices[purchase.storefront], turn)
        transaction.offer = offer.map {
            StoreTransaction.Offer(kind: $0.kind, identifier: $0.identifier, discount: $0.discount, period: nil)
        }
        switch purchase.outcome {
        case .deferred: transaction.state = .deferred
        case .interrupted: transaction.state = .interrupted
        case .purchased, .cancelled, .failed: break
        }
        transaction = try TransactionTable.insert(transaction, turn.session)
        guard transaction.state == .purchased else { return .success(.waiting(transaction)) }
        try tell(of: transaction, turn)
        return .success(.purchased(transaction))
    }

    /// Something was paid: the developer hears of it, and the family gets it too.
    static func tell(of transaction: StoreTransaction, _ turn: Turn) throws {
        try turn.note(.oneTimeCharge, about: transaction)
        try FamilySharing.share(transaction, nil, turn)
    }

    /// A non-consumable that the account has already, its own or the family's, comes again free of charge, as the same
    /// transaction, in the queue once more (facts/business-rules §1).
    static func takeAgain(_ purchase: Purchase, _ turn: Turn) throws -> StoreTransaction? {
        guard purchase.product.kind == .nonConsumable,
            var owned = try SharedPurchaseTable.owned(
                purchase.product.id, by: purchase.account.name, bundleID: purchase.request.bundleID, shared: true,
                turn.session)
        else { return nil }
        owned.isFinished = false
        try TransactionTable.setFinished(owned.number, false, turn.session)
        return owned
    }
}
