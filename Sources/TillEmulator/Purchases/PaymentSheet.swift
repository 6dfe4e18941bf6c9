import TillBilling
import TillStorage

/// Turns a confirmed request into a transaction.
enum PaymentSheet {
    /// One way for every kind of product: what stands in the way, then who decides, then the charge.
    static func pay(_ request: PurchaseRequest, _ turn: Turn) throws -> Result<PurchaseResult, StoreRefusal> {
        guard let product = try ProductTable.find(request.productID, turn.session) else {
            let known = try ProductTable.all(turn.session).map(\.id.text)
            return .failure(
                .unknownProduct(request.productID.text, nearest: nearestName(to: request.productID.text, among: known)))
        }
        let account = try AccountTable.account(
            request.account, openingIn: turn.configuration.storefront, turn.session)
        let storefront = request.storefront ?? account.storefront
        guard let price = product.prices[storefront] else {
            return .failure(.notForSale(product: product.id.text, storefront: storefront))
        }
        guard request.quantity == 1 || product.kind.allowsQuantity else {
            return .failure(.quantityNotAllowed(product: product.id.text))
        }
        switch request.outcome {
        case .cancelled: return .success(.cancelled)
        case .failed: return .success(.failed)
        case .purchased, .deferred, .interrupted: break
        }
        let purchase = Purchase(
            request: request, product: product, account: account, storefront: storefront, price: price)
        return product.subscription == nil
            ? try OneTimeSale.sell(purchase, turn) : try SubscriptionLife.subscribe(purchase, turn)
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
