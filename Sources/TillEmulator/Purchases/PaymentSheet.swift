import TillBilling

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
