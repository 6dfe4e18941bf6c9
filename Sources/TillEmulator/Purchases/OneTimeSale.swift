import TillBilling
import TillSQL

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
