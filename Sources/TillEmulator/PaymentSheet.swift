import TillBilling
import TillStorage

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

    public var bundleID: String
    public var productID: ProductID
    public var quantity: Int64 = 1
    public var appAccountToken: UniqueID?
    /// ISO 3166-1 alpha-3; nil: the account's own.
    public var storefront: String?
    public var account = Emulator.defaultAccount
    public var outcome = Outcome.purchased

    public init(bundleID: String, productID: ProductID) {
        self.bundleID = bundleID
        self.productID = productID
    }
}

/// What the payment sheet ends with.
public enum PurchaseResult: Sendable, Hashable {
    case purchased(StoreTransaction)
    /// A non-consumable the account has already: nothing is charged, the transaction of then is in the queue again.
    case ownedAlready(StoreTransaction)
    /// Deferred or interrupted: see its state. Nothing is paid yet.
    case waiting(StoreTransaction)
    case cancelled
    case failed
}

/// Turns a confirmed request into a transaction.
struct PaymentSheet {
    let environment: Environment
    /// Where accounts are opened that nobody mentioned before.
    let storefront: String

    /// Ask to Buy requests expire after a day (facts/limits §4).
    static let approvalLifetime: Int64 = 24 * 3_600

    /// Runs inside one write: the ids it takes and the row it makes are one commit.
    func pay(
        _ request: PurchaseRequest, at now: Instant, _ session: any Session
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        guard let product = try ProductTable.find(request.productID, session) else {
            let known = try ProductTable.all(session).map(\.id.text)
            return .failure(
                .unknownProduct(request.productID.text, nearest: nearestName(to: request.productID.text, among: known)))
        }
        let own = try AccountTable.storefront(of: request.account, openingIn: storefront, session)
        let shop = request.storefront ?? own
        guard let unit = product.prices[shop] else {
            return .failure(.notForSale(product: product.id.text, storefront: shop))
        }
        guard request.quantity == 1 || product.kind.allowsQuantity else {
            return .failure(.quantityNotAllowed(product: product.id.text))
        }
        switch request.outcome {
        case .cancelled: return .success(.cancelled)
        case .failed: return .success(.failed)
        case .purchased, .deferred, .interrupted: break
        }
        if let owned = try owned(product, request, at: now, session) { return owned }
        let number = try Counter.transaction.take(session)
        var transaction = StoreTransaction(
            price: Money(amount: unit.amount * request.quantity, currency: unit.currency), number: number,
            original: number, state: .purchased, isFinished: false, environment: environment,
            account: request.account, bundleID: request.bundleID, productID: product.id, kind: product.kind,
            quantity: request.quantity, storefront: shop, appAccountToken: request.appAccountToken,
            appTransaction: try AccountTable.appTransaction(
                account: request.account, bundleID: request.bundleID, at: now, session),
            reason: "PURCHASE", purchased: now, firstPurchased: now, subscription: nil, revocation: nil)
        if let group = product.groupID, let period = product.period {
            transaction.subscription = StoreTransaction.Subscription(
                groupID: group, expires: period.end(from: now), lineItem: try Counter.lineItem.take(session))
            // A lapsed subscriber who comes back keeps the chain's first id (facts/limits §1).
            if let before = try TransactionTable.newest(
                account: request.account, bundleID: request.bundleID, productID: product.id, session)
            {
                transaction.original = before.original
                transaction.firstPurchased = before.firstPurchased
            }
        }
        if request.outcome == .deferred { transaction.state = .deferred }
        if request.outcome == .interrupted { transaction.state = .interrupted }
        try TransactionTable.insert(transaction, session)
        return .success(transaction.state == .purchased ? .purchased(transaction) : .waiting(transaction))
    }

    /// What an account has and can't buy twice: a non-consumable comes again free of charge, as the same transaction
    /// (facts/business-rules §1); a running subscription is refused.
    private func owned(
        _ product: StoreProduct, _ request: PurchaseRequest, at now: Instant, _ session: any Session
    ) throws -> Result<PurchaseResult, StoreRefusal>? {
        guard product.kind == .nonConsumable || product.kind == .autoRenewable,
            var owned = try TransactionTable.newest(
                account: request.account, bundleID: request.bundleID, productID: product.id, session),
            owned.revocation == nil
        else { return nil }
        if product.kind == .autoRenewable {
            guard let expires = owned.subscription?.expires, now < expires else { return nil }
            return .failure(.alreadySubscribed(product: product.id.text))
        }
        owned.isFinished = false
        try TransactionTable.update(owned, session)
        return .success(.ownedAlready(owned))
    }

    /// Approves or declines a request to buy, or completes an interrupted purchase. The charge is now.
    func settle(
        _ number: Int64, approved: Bool, at now: Instant, _ session: any Session
    ) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard var transaction = try TransactionTable.find(number, session) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.state == .deferred || transaction.state == .interrupted else {
            return .failure(.notWaiting(id))
        }
        guard approved else {
            transaction.state = .declined
            try TransactionTable.update(transaction, session)
            return .success(transaction)
        }
        if transaction.state == .deferred, now >= transaction.purchased.adding(seconds: Self.approvalLifetime) {
            return .failure(.approvalExpired(id))
        }
        if let subscription = transaction.subscription {
            let length = subscription.expires.milliseconds - transaction.purchased.milliseconds
            transaction.subscription?.expires = now.adding(milliseconds: length)
        }
        if transaction.original == transaction.number { transaction.firstPurchased = now }
        transaction.purchased = now
        transaction.state = .purchased
        try TransactionTable.update(transaction, session)
        return .success(transaction)
    }

    /// Apple gives the customer the money back, all or a part of it.
    func refund(
        _ number: Int64, reason: Int64, percentage: Int64, at now: Instant, _ session: any Session
    ) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard var transaction = try TransactionTable.find(number, session) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.state == .purchased else { return .failure(.notPurchased(id)) }
        guard transaction.revocation == nil else { return .failure(.alreadyRefunded(id)) }
        transaction.revocation = StoreTransaction.Revocation(
            date: now, reason: reason, type: percentage == 100_000 ? "REFUND_FULL" : "REFUND_PRORATED",
            percentage: percentage)
        try TransactionTable.update(transaction, session)
        return .success(transaction)
    }

    /// Takes the transaction out of the account's queue. Finishing twice changes nothing.
    func finish(_ number: Int64, _ session: any Session) throws -> Result<StoreTransaction, StoreRefusal> {
        guard var transaction = try TransactionTable.find(number, session) else {
            return .failure(.unknownTransaction(String(number)))
        }
        guard transaction.state == .purchased else { return .failure(.notPurchased(String(number))) }
        if !transaction.isFinished {
            transaction.isFinished = true
            try TransactionTable.update(transaction, session)
        }
        return .success(transaction)
    }
}
