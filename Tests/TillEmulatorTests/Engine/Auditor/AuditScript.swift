import TillJSON

/// Writes a record by hand, event by event, as a consistent input for the auditor.
struct AuditScript {
    static let day: Int64 = 86_400_000
    static let start: Int64 = 1_772_353_800_000
    static let bundleID = "com.example.learnpoints"

    private(set) var notifications: [AuditRecord.Notification] = []
    private var transactions: [(account: String, payload: JSONValue)] = []
    private var renewals: [String: JSONValue] = [:]
    private var statuses: [String: Int64] = [:]
    private var now = start

    /// Sets the time of the next events, in days from the start.
    mutating func day(_ number: Int64) { now = Self.start + number * Self.day }

    struct Sale {
        var id: String
        var account: String
        var product = "month"
        var type = "Auto-Renewable Subscription"
        var original: String?
        var price: Int64 = 18_000
        /// Of a subscription.
        var days: Int64 = 30
        var isRenewal = false
        var isShared = false
        var more: [String: JSONValue] = [:]

        init(_ id: String, _ account: String) {
            self.id = id
            self.account = account
        }
    }

    /// A transaction with its first notification, `word`.
    mutating func sell(_ sale: Sale, _ word: String) {
        let original = sale.original ?? sale.id
        let first = transactions.first { $0.payload.id == original }?.payload.purchased ?? now
        let download = ["anna": "7041", "bert": "7042", "carl": "7043", "dora": "7044"][sale.account] ?? "7049"
        var payload: [String: JSONValue] = [
            "transactionId": .string(sale.id), "originalTransactionId": .string(original),
            "bundleId": .string(Self.bundleID), "productId": .string(sale.product), "type": .string(sale.type),
            "purchaseDate": .int(now), "originalPurchaseDate": .int(first), "quantity": 1, "price": .int(sale.price),
            "currency": "CNY", "storefront": "CHN", "environment": "Sandbox", "appTransactionId": .string(download),
            "inAppOwnershipType": sale.isShared ? "FAMILY_SHARED" : "PURCHASED",
            "transactionReason": sale.isRenewal ? "RENEWAL" : "PURCHASE",
        ]
        if sale.type == "Auto-Renewable Subscription" {
            payload["expiresDate"] = .int(now + sale.days * Self.day)
            payload["webOrderLineItemId"] = .string("9\(sale.id)")
            payload["subscriptionGroupIdentifier"] = "21000001"
            renewals[original] = [
                "originalTransactionId": .string(original), "productId": .string(sale.product),
                "autoRenewProductId": .string(sale.product), "autoRenewStatus": 1,
                "renewalDate": .int(now + sale.days * Self.day), "recentSubscriptionStartDate": .int(first),
                "environment": "Sandbox", "appTransactionId": .string(download),
            ]
            statuses[original] = 1
        }
        transactions.append((sale.account, .object(payload.merging(sale.more) { _, new in new })))
        tell(word, sale.id)
    }

    /// Changes members of a transaction; nil removes a member.
    mutating func change(_ id: String, _ members: [String: JSONValue?]) {
        for index in transactions.indices where transactions[index].payload.id == id {
            for (name, value) in members {
                transactions[index].payload = transactions[index].payload.setting(name, value)
            }
        }
    }

    /// Changes members of a renewal info, and the status.
    mutating func renew(_ original: String, status: Int64? = nil, _ members: [String: JSONValue?]) {
        for (name, value) in members { renewals[original] = renewals[original]?.setting(name, value) }
        if let status { statuses[original] = status }
    }

    mutating func tell(_ word: String, _ id: String) {
        guard let transaction = transactions.first(where: { $0.payload.id == id })?.payload else { return }
        let parts = word.split(separator: "/").map(String.init)
        var data: [String: JSONValue] = ["bundleId": .string(Self.bundleID), "environment": "Sandbox"]
        data["status"] = statuses[transaction.original].map { .int($0) }
        var payload: [String: JSONValue] = [
            "notificationType": .string(parts[0]), "notificationUUID": .string("n\(notifications.count)"),
            "version": "2.0", "signedDate": .int(now), "data": .object(data),
        ]
        payload["subtype"] = parts.count > 1 ? .string(parts[1]) : nil
        notifications.append(
            AuditRecord.Notification(
                .object(payload), transaction: transaction.setting("signedDate", .int(now)),
                renewal: renewals[transaction.original]?.setting("signedDate", .int(now))))
    }

    /// The record at this time.
    func record() -> AuditRecord {
        var record = AuditRecord(
            now: now, notifications: notifications, notificationHistory: notifications, historyBegins: Self.start)
        for account in Set(transactions.map(\.account)).sorted() {
            let own = transactions.filter { $0.account == account }.map { $0.payload.setting("signedDate", .int(now)) }
            var customer = AuditRecord.Customer(account: account, bundleID: Self.bundleID, history: own, infos: own)
            customer.refunds = own.filter { $0.revoked != nil }.sorted { $0.revoked ?? 0 < $1.revoked ?? 0 }
            for original in Set(own.filter { $0.expires != nil }.map(\.original)).sorted() {
                let newest = PeriodChecks.ordered(own.filter { $0.original == original }).last ?? .null
                customer.statuses.append(
                    AuditRecord.Status(
                        original: original, status: statuses[original] ?? 0, transaction: newest,
                        renewal: (renewals[original] ?? .null).setting("signedDate", .int(now))))
            }
            customer.appTransaction = ["appTransactionId": own[0]["appTransactionId"] ?? .null]
            let records = own.map(receiptRecord)
            customer.receipt = [
                "status": 0, "receipt": ["in_app": .array(records)], "latest_receipt_info": .array(records),
                "pending_renewal_info": .array(customer.statuses.map(pending)),
            ]
            record.customers.append(customer)
        }
        return record
    }

    private func receiptRecord(_ signed: JSONValue) -> JSONValue {
        func text(_ name: String) -> JSONValue? {
            (signed[name]?.string ?? signed[name]?.int.map { String($0) }).map { .string($0) }
        }
        let isTrial = signed["offerDiscountType"] == "FREE_TRIAL"
        var record: [String: JSONValue] = ["is_trial_period": isTrial ? "true" : "false"]
        let names = [
            "transaction_id": "transactionId", "original_transaction_id": "originalTransactionId",
            "product_id": "productId", "quantity": "quantity", "purchase_date_ms": "purchaseDate",
            "original_purchase_date_ms": "originalPurchaseDate", "expires_date_ms": "expiresDate",
            "web_order_line_item_id": "webOrderLineItemId", "in_app_ownership_type": "inAppOwnershipType",
            "app_account_token": "appAccountToken",
        ]
        for (name, member) in names { record[name] = text(member) }
        if signed["offerType"] == 2 { record["promotional_offer_id"] = text("offerIdentifier") }
        if !signed.isConsumable { record["cancellation_date_ms"] = text("revocationDate") }
        if signed.isUpgraded { record["cancellation_date_ms"] = "1" }
        return .object(record)
    }

    private func pending(_ status: AuditRecord.Status) -> JSONValue {
        func text(_ name: String) -> JSONValue? {
            (status.renewal[name]?.string ?? status.renewal[name]?.int.map { String($0) }).map { .string($0) }
        }
        var entry: [String: JSONValue] = ["original_transaction_id": .string(status.original)]
        entry["product_id"] = text("productId")
        entry["auto_renew_product_id"] = text("autoRenewProductId")
        entry["auto_renew_status"] = text("autoRenewStatus")
        entry["price_increase_status"] = text("priceIncreaseStatus")
        if status.status > 2 { entry["grace_period_expires_date_ms"] = text("gracePeriodExpiresDate") }
        return .object(entry)
    }
}

extension JSONValue {
    /// The object with one member changed, or removed for nil.
    func setting(_ name: String, _ value: JSONValue?) -> JSONValue {
        var members = object ?? [:]
        members[name] = value
        return .object(members)
    }
}
