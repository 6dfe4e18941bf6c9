import TillJSON

/// Receipts and `/verifyReceipt` compared with the same customer's signed payloads. Receipts count whole seconds.
enum ReceiptChecks {
    static func receipts(_ record: AuditRecord) -> [String] {
        record.customers.flatMap { customer -> [String] in
            guard customer.receipt["status"] == 0, let inApp = customer.receipt["receipt"]?["in_app"]?.array else {
                return ["the receipt of \(customer.account) gets status \(customer.receipt["status"]?.int ?? -1)"]
            }
            var found = list(inApp, "in_app", customer)
            if let latest = customer.receipt["latest_receipt_info"]?.array {
                found += list(latest, "latest_receipt_info", customer)
            } else if customer.history.contains(where: { $0.expires != nil }) {
                found.append("\(customer.account) is a subscriber without latest_receipt_info")
            }
            return found
        }
    }

    /// Finished consumables may be missing, because no answer says which are finished.
    private static func list(_ records: [JSONValue], _ name: String, _ customer: AuditRecord.Customer) -> [String] {
        let history = Dictionary(customer.history.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let listed = records.map { $0["transaction_id"]?.string ?? "?" }
        var found: [String] = []
        if Set(listed).count != listed.count { found.append("\(name) of \(customer.account) lists one twice") }
        for transaction in customer.history where !transaction.isConsumable && !listed.contains(transaction.id) {
            found.append("\(name) of \(customer.account) lacks transaction \(transaction.id)")
        }
        for record in records {
            let id = record["transaction_id"]?.string ?? "?"
            guard let transaction = history[id] else {
                found.append("\(name) of \(customer.account) has transaction \(id), which is not in the history")
                continue
            }
            for member in differences(record, transaction) {
                found.append("\(member) of transaction \(id) in \(name) is not what is signed")
            }
        }
        return found
    }

    private static func differences(_ record: JSONValue, _ signed: JSONValue) -> [String] {
        func text(_ name: String) -> String? { signed[name]?.string ?? signed[name]?.int.map { String($0) } }
        func seconds(_ date: Int64?) -> String? { date.map { String($0 / 1_000 * 1_000) } }
        let isTrial = signed["offerDiscountType"] == "FREE_TRIAL"
        var expected: [String: String?] = [
            "original_transaction_id": text("originalTransactionId"), "product_id": text("productId"),
            "quantity": text("quantity"), "purchase_date_ms": seconds(signed.purchased),
            "original_purchase_date_ms": seconds(signed["originalPurchaseDate"]?.int),
            "expires_date_ms": seconds(signed.expires), "web_order_line_item_id": text("webOrderLineItemId"),
            "in_app_ownership_type": text("inAppOwnershipType"), "app_account_token": text("appAccountToken"),
            "is_trial_period": isTrial ? "true" : "false",
            "promotional_offer_id": signed["offerType"] == 2 ? text("offerIdentifier") : nil,
            "offer_code_ref_name": signed["offerType"] == 3 ? text("offerIdentifier") : nil,
        ]
        // A consumable's refund is not listed, and an upgrade has a date that is not signed.
        if signed.isConsumable { expected["cancellation_date_ms"] = .some(nil) }
        if !signed.isConsumable, !signed.isUpgraded { expected["cancellation_date_ms"] = seconds(signed.revoked) }
        var found = expected.filter { record[$0.key]?.string != $0.value }.keys.sorted()
        if signed.isUpgraded, record["cancellation_date_ms"] == nil { found.append("cancellation_date_ms") }
        return found
    }

    /// `pending_renewal_info` agrees with the renewal info of each subscription (facts/verify-receipt §7).
    static func pendingRenewals(_ record: AuditRecord) -> [String] {
        record.customers.flatMap { customer -> [String] in
            let pending = customer.receipt["pending_renewal_info"]?.array ?? []
            let listed = Dictionary(
                pending.map { ($0["original_transaction_id"]?.string ?? "?", $0) }, uniquingKeysWith: { $1 })
            return customer.statuses.flatMap { status -> [String] in
                guard let entry = listed[status.original] else { return ["subscription \(status.original) has none"] }
                let renewal = status.renewal
                let isFailing = status.status == 3 || status.status == 4
                let expected: [String: String?] = [
                    "product_id": renewal["productId"]?.string,
                    "auto_renew_product_id": renewal["autoRenewProductId"]?.string,
                    "auto_renew_status": renewal["autoRenewStatus"]?.int.map { String($0) },
                    "grace_period_expires_date_ms": isFailing
                        ? renewal["gracePeriodExpiresDate"]?.int.map { String($0) } : nil,
                    "price_increase_status": renewal["priceIncreaseStatus"]?.int.map { String($0) },
                ]
                return expected.filter { entry[$0.key]?.string != $0.value }.keys.sorted().map {
                    "\($0) of subscription \(status.original) is not what is signed"
                }
            }
        }
    }
}
