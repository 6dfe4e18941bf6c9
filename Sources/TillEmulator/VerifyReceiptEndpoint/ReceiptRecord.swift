import TillAppStore
import TillBilling
import TillJSON

/// One transaction in `in_app` or `latest_receipt_info`, where nearly everything is text (facts/verify-receipt §6).
struct ReceiptRecord {
    private(set) var members: [String: JSONValue]

    /// As a receipt lists it: as it was when the receipt was made.
    ///
    /// - Parameter known: the store's own record, for what Apple tells beside its receipts' attributes.
    init(_ purchase: ReceiptPurchase, known: StoreTransaction?) {
        members = [
            "quantity": .string(String(purchase.quantity ?? 1)),
            "product_id": .string(purchase.productID ?? ""),
            "transaction_id": .string(purchase.transactionID ?? ""),
            "original_transaction_id": .string(purchase.originalTransactionID ?? ""),
            "is_trial_period": purchase.isTrialPeriod == 1 ? "true" : "false",
            "in_app_ownership_type": .string(known?.ownership ?? "PURCHASED"),
        ]
        members.addDate("purchase_date", purchase.purchaseDate)
        members.addDate("original_purchase_date", purchase.originalPurchaseDate)
        members.addDate("cancellation_date", purchase.cancellationDate)
        if purchase.cancellationDate != nil {
            members["cancellation_reason"] = .string(String(known?.revocation?.reason ?? 0))
        }
        if let expires = purchase.expiresDate {
            members.addDate("expires_date", expires)
            members["is_in_intro_offer_period"] = purchase.isInIntroductoryOfferPeriod == 1 ? "true" : "false"
            members["web_order_line_item_id"] = .string(String(purchase.webOrderLineItemID ?? 0))
        }
        members["promotional_offer_id"] = purchase.promotionalOfferID.map { .string($0) }
        members["offer_code_ref_name"] = known?.offer?.identifier(of: .code).map { .string($0) }
        members["app_account_token"] = known?.appAccountToken.map { .string($0.description) }
    }

    /// As the store knows it now. Receipts count whole seconds, and so does this: one purchase has one date.
    init(_ listed: ListedPurchase) {
        let transaction = listed.transaction
        members = [
            "quantity": .string(String(transaction.quantity)),
            "product_id": .string(transaction.productID.text),
            "transaction_id": .string(transaction.id.text),
            "original_transaction_id": .string(transaction.originalID.text),
            "is_trial_period": listed.isTrial ? "true" : "false",
            "in_app_ownership_type": .string(transaction.ownership),
        ]
        members.addDate("purchase_date", Instant(seconds: transaction.purchased.seconds))
        members.addDate("original_purchase_date", Instant(seconds: transaction.firstPurchased.seconds))
        members.addDate("cancellation_date", listed.cancelled.map { Instant(seconds: $0.seconds) })
        members["cancellation_reason"] = listed.cancellationReason.map { .string(String($0)) }
        if let subscription = transaction.subscription {
            members.addDate("expires_date", Instant(seconds: subscription.expires.seconds))
            members["is_in_intro_offer_period"] = listed.isIntroductory ? "true" : "false"
            members["web_order_line_item_id"] = .string(String(subscription.lineItem))
            members["subscription_group_identifier"] = .string(subscription.groupID)
        }
        if transaction.isUpgraded { members["is_upgraded"] = "true" }
        members["promotional_offer_id"] = listed.promotionalOfferID.map { .string($0) }
        members["offer_code_ref_name"] = listed.offerCodeName.map { .string($0) }
        members["app_account_token"] = transaction.appAccountToken.map { .string($0.description) }
    }
}

extension [String: JSONValue] {
    /// The three forms of one moment: `name`, `name_ms`, `name_pst`; nothing for nil.
    mutating func addDate(_ name: String, _ instant: Instant?) {
        guard let instant else { return }
        self[name] = .string(AppleTime.gmt(instant))
        self[name + "_ms"] = .string(AppleTime.milliseconds(instant))
        self[name + "_pst"] = .string(AppleTime.pacific(instant))
    }
}
