import TillBilling

/// One transaction in the words of receipts, which have fewer of them than signed transactions
/// (facts/verify-receipt §6, pkcs7-receipt §3.2).
struct ListedPurchase: Sendable {
    let transaction: StoreTransaction
    /// When it was taken back, or ended by an upgrade.
    let cancelled: Instant?

    /// - Parameter transactions: all of one account, oldest first.
    static func all(_ transactions: [StoreTransaction]) -> [ListedPurchase] {
        var successors: [Int64: Instant] = [:]
        var listed: [ListedPurchase] = []
        listed.reserveCapacity(transactions.count)
        for transaction in transactions.reversed() {
            listed.append(ListedPurchase(transaction, succeeded: successors[transaction.original]))
            if transaction.subscription != nil, transaction.reason == "PURCHASE" {
                successors[transaction.original] = transaction.purchased
            }
        }
        return listed.reversed()
    }

    /// - Parameter succeeded: when the customer next bought in the same subscription.
    private init(_ transaction: StoreTransaction, succeeded: Instant?) {
        self.transaction = transaction
        if transaction.kind == .consumable {
            // A consumable's receipt never shows its refund (facts/business-rules §10).
            cancelled = nil
        } else if let revocation = transaction.revocation {
            cancelled = revocation.date
        } else {
            // A receipt has no other word for an upgrade (facts/business-rules §8.2).
            cancelled = transaction.isUpgraded ? succeeded ?? transaction.subscription?.expires : nil
        }
    }

    /// 1: an issue with the app; 0: anything else, upgrades too. Nil while the purchase stands.
    var cancellationReason: Int64? { cancelled.map { _ in transaction.revocation?.reason ?? 0 } }

    var isTrial: Bool { transaction.offer?.discount == .freeTrial }

    /// Paid introductory periods only: a free one is a trial.
    var isIntroductory: Bool { transaction.offer?.kind == .introductory && !isTrial }

    var promotionalOfferID: String? { transaction.offer?.identifier(of: .promotional) }
    var offerCodeName: String? { transaction.offer?.identifier(of: .code) }
}

extension StoreTransaction.Offer {
    /// The identifier, if it is an offer of this kind.
    func identifier(of kind: ProductOffer.Kind) -> String? { self.kind == kind ? identifier : nil }
}
