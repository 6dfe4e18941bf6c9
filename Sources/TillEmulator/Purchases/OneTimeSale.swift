import TillBilling
import TillStorage

/// Sells what is paid once: consumables, non-consumables, non-renewing subscriptions.
enum OneTimeSale {
    static func sell(_ purchase: Purchase, _ turn: Turn) throws -> Result<PurchaseResult, StoreRefusal> {
        if purchase.product.kind == .nonConsumable, let owned = try owned(purchase, turn) {
            return .success(.ownedAlready(owned))
        }
        var transaction = try purchase.transaction(turn)
        switch purchase.request.outcome {
        case .deferred: transaction.state = .deferred
        case .interrupted: transaction.state = .interrupted
        case .purchased, .cancelled, .failed: break
        }
        transaction = try TransactionTable.insert(transaction, turn.session)
        guard transaction.state == .purchased else { return .success(.waiting(transaction)) }
        try turn.note(.oneTimeCharge, about: transaction)
        return .success(.purchased(transaction))
    }

    /// A non-consumable that the account has already comes again free of charge, as the same transaction
    /// (facts/business-rules §1).
    private static func owned(_ purchase: Purchase, _ turn: Turn) throws -> StoreTransaction? {
        guard
            var owned = try TransactionTable.newest(
                account: purchase.account.name, bundleID: purchase.request.bundleID, productID: purchase.product.id,
                turn.session),
            owned.revocation == nil
        else { return nil }
        owned.isFinished = false
        try TransactionTable.setFinished(owned.number, false, turn.session)
        return owned
    }
}
