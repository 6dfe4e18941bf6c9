import TillAppStore
import TillBilling

/// One transaction in `in_app` or `latest_receipt_info`, where nearly everything is text (facts/verify-receipt §6).
struct ReceiptRecord {
    private(set) var members: [String: JSONValue]

    /// As a receipt lists it.
    init(_ purchase: ReceiptPurchase) {
        members = [
            "quantity": .string(String(purchase.quantity ?? 1)),
            "product_id": .string(purchase.productID ?? ""),
            "transaction_id": .string(purchase.transactionID ?? ""),
            "original_transaction_id": .string(purchase.originalTransactionID ?? ""),
            "is_trial_period": purchase.isTrialPeriod == 1 ? "true" : "false",
            "in_app_ownership_type": "PURCHASED",
        ]
        members.addDate("purchase_date", purchase.purchaseDate)
        members.addDate("original_purchase_date", purchase.originalPurchaseDate)
        members.addDate("cancellation_date", purchase.cancellationDate)
        if purchase.cancellationDate != nil { members["cancellation_reason"] = "0" }
        if let expires = purchase.expiresDate {
            members.addDate("expires_date", expires)
            members["is_in_intro_offer_period"] = purchase.isInIntroductoryOfferPeriod == 1 ? "true" : "false"
            members["web_order_line_item_id"] = .string(String(purchase.webOrderLineItemID ?? 0))
        }
    }

    /// As the store knows it now. Receipts count whole seconds, and so does this: one purchase has one date.
    init(_ transaction: StoreTransaction) {
        members = [
            "quantity": .string(String(transaction.quantity)),
            "product_id": .string(transaction.productID.text),
            "transaction_id": .string(transaction.id.text),
            "original_transaction_id": .string(transaction.originalID.text),
            "is_trial_period": "false",
            "in_app_ownership_type": "PURCHASED",
        ]
        members["app_account_token"] = transaction.appAccountToken.map { .string($0.description) }
        members.addDate("purchase_date", Instant(seconds: transaction.purchased.seconds))
        members.addDate("original_purchase_date", Instant(seconds: transaction.firstPurchased.seconds))
        // A consumable's receipt never shows its refund (facts/business-rules §10).
        if let revocation = transaction.revocation, transaction.kind != .consumable {
            members.addDate("cancellation_date", Instant(seconds: revocation.date.seconds))
            members["cancellation_reason"] = .string(String(revocation.reason))
        }
        if let subscription = transaction.subscription {
            members.addDate("expires_date", Instant(seconds: subscription.expires.seconds))
            members["is_in_intro_offer_period"] = "false"
            members["web_order_line_item_id"] = .string(String(subscription.lineItem))
            members["subscription_group_identifier"] = .string(subscription.groupID)
        }
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
