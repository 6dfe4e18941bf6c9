import TillJSON

/// Contradictions, each planted in a consistent record, with the invariant that must find it.
enum AuditCorruptions {
    typealias PlantedError = (finds: String, name: String, plant: @Sendable (inout AuditRecord) -> Void)

    private static func index(_ word: String, _ record: AuditRecord) -> Int {
        record.notifications.firstIndex { $0.word == word } ?? 0
    }

    private static func customer(_ account: String, _ record: AuditRecord) -> Int {
        record.customers.firstIndex { $0.account == account } ?? 0
    }

    /// Changes a transaction in the history and in all other answers.
    private static func everywhere(
        _ id: String, _ record: inout AuditRecord, _ member: String, _ value: JSONValue?
    ) {
        func changed(_ payload: JSONValue) -> JSONValue { payload.id == id ? payload.setting(member, value) : payload }
        for place in record.customers.indices {
            record.customers[place].history = record.customers[place].history.map(changed)
            record.customers[place].infos = record.customers[place].infos.map(changed)
            record.customers[place].refunds = record.customers[place].refunds.map(changed)
            for status in record.customers[place].statuses.indices {
                let transaction = record.customers[place].statuses[status].transaction
                record.customers[place].statuses[status].transaction = changed(transaction)
            }
        }
        for place in record.notifications.indices {
            record.notifications[place].transaction = record.notifications[place].transaction.map(changed)
        }
    }

    private static func receipt(
        _ account: String, _ record: inout AuditRecord, _ list: String, _ change: ([JSONValue]) -> [JSONValue]
    ) {
        let place = customer(account, record)
        let receipt = record.customers[place].receipt
        if list == "in_app" {
            let changed = change(receipt["receipt"]?["in_app"]?.array ?? [])
            record.customers[place].receipt = receipt.setting("receipt", ["in_app": .array(changed)])
        } else {
            record.customers[place].receipt = receipt.setting(list, .array(change(receipt[list]?.array ?? [])))
        }
    }

    static let all: [PlantedError] = ofNotifications + ofTransactions + ofPeriods + ofStatuses + ofReceipts

    private static let ofNotifications: [PlantedError] = [
        (
            "duplicates", "the same notification with another date",
            {
                var copy = $0.notifications[0]
                copy.payload = copy.payload.setting("signedDate", 5)
                $0.notifications.append(copy)
            }
        ),
        (
            "envelope", "no version",
            { $0.notifications[0].payload = $0.notifications[0].payload.setting("version", nil) }
        ),
        (
            "envelope", "another app inside",
            {
                $0.notifications[0].transaction = $0.notifications[0].transaction?.setting(
                    "bundleId", "com.example.other")
            }
        ),
        (
            "subtypes", "a renewal that is an upgrade",
            {
                let place = index("DID_RENEW", $0)
                $0.notifications[place].payload = $0.notifications[place].payload.setting("subtype", "UPGRADE")
            }
        ),
        ("births", "a purchase without a notification", { $0.notifications.remove(at: index("ONE_TIME_CHARGE", $0)) }),
        (
            "births", "a purchase told of twice",
            {
                var again = $0.notifications[index("ONE_TIME_CHARGE", $0)]
                again.payload = again.payload.setting("notificationUUID", "again")
                $0.notifications.append(again)
            }
        ),
        (
            "births", "a refund before its purchase",
            {
                let place = index("REFUND", $0)
                $0.notifications[place].payload = $0.notifications[place].payload.setting("signedDate", 1)
            }
        ),
        (
            "strangers", "a purchase that is in no history",
            { record in record.customers[customer("bert", record)].history.removeAll { $0.id == "210" } }
        ),
        ("notification history", "one that is missing", { $0.notificationHistory.removeLast() }),
        ("notification history", "one that never came", { $0.notifications.removeLast() }),
        (
            "notification history", "one that was another",
            { $0.notificationHistory[0].payload = $0.notificationHistory[0].payload.setting("subtype", "RESUBSCRIBE") }
        ),
        ("grammar", "an expiry that is missing", { $0.notifications.remove(at: index("EXPIRED/VOLUNTARY", $0)) }),
        (
            "grammar", "a grace that never began",
            { $0.notifications.remove(at: index("DID_FAIL_TO_RENEW/GRACE_PERIOD", $0)) }
        ),
        (
            "grammar", "a status that does not fit its notification",
            {
                let place = index("GRACE_PERIOD_EXPIRED", $0)
                let data = $0.notifications[place].payload["data"]?.setting("status", 4)
                $0.notifications[place].payload = $0.notifications[place].payload.setting("data", data)
            }
        ),
        (
            "renewal settings", "a switch that turns itself",
            {
                let place = index("RENEWAL_EXTENDED", $0)
                $0.notifications[place].renewal = $0.notifications[place].renewal?.setting("autoRenewStatus", 0)
            }
        ),
        (
            "renewal settings", "a status with another next product",
            {
                let place = customer("dora", $0)
                let renewal = $0.customers[place].statuses[0].renewal
                $0.customers[place].statuses[0].renewal = renewal.setting("autoRenewProductId", "year")
            }
        ),
    ]

    private static let ofTransactions: [PlantedError] = [
        ("refunds", "one that is not listed", { $0.customers[customer("bert", $0)].refunds = [] }),
        (
            "refunds", "one that is none",
            { record in
                let place = customer("bert", record)
                record.customers[place].refunds.append(record.customers[place].history[0])
            }
        ),
        ("history", "somebody else's purchase", { $0.customers[0].history.append($0.customers[1].history[0]) }),
        ("history", "half a revocation", { everywhere("210", &$0, "revocationReason", nil) }),
        (
            "sameness", "another quantity in one place",
            {
                let place = customer("bert", $0)
                $0.customers[place].infos[1] = $0.customers[place].infos[1].setting("quantity", 2)
            }
        ),
        (
            "sameness", "another product in the notification",
            { $0.notifications[0].transaction = $0.notifications[0].transaction?.setting("productId", "year") }
        ),
        ("sameness", "one without transaction info", { $0.customers[0].infos.removeLast() }),
        ("changes", "an expiry that moves alone", { $0.notifications.remove(at: index("RENEWAL_EXTENDED", $0)) }),
        (
            "changes", "a refund without its reversal",
            { $0.notifications.remove(at: index("REFUND_REVERSED", $0)) }
        ),
        ("changes", "a revocation without a word", { $0.notifications.remove(at: index("REVOKE", $0)) }),
        (
            "changes", "an upgrade undone",
            { record in
                for place in record.customers.indices {
                    record.customers[place].history = record.customers[place].history.map {
                        $0.setting("isUpgraded", nil)
                    }
                }
                let place = index("DID_RENEW", record)
                let renewal = record.notifications[place].transaction
                record.notifications[place].transaction = renewal?.setting("isUpgraded", true)
            }
        ),
        ("downloads", "two of one customer", { everywhere("212", &$0, "appTransactionId", "7049") }),
        ("downloads", "one of two customers", { everywhere("300", &$0, "appTransactionId", "7042") }),
        ("prices", "a trial that costs", { everywhere("100", &$0, "price", 1) }),
        ("prices", "an offer that is dearer", { everywhere("103", &$0, "price", 18_000) }),
        ("family", "a token", { everywhere("300", &$0, "appAccountToken", "3f2c1a00-1111-4222-8333-444455556666") }),
        ("family", "shared without an owner", { everywhere("212", &$0, "productId", "other") }),
        (
            "introductory offers", "a second trial",
            {
                everywhere("103", &$0, "offerType", 1)
                everywhere("103", &$0, "offerIdentifier", nil)
            }
        ),
    ]

    private static let ofPeriods: [PlantedError] = [
        ("periods", "an overlap", { everywhere("101", &$0, "isUpgraded", nil) }),
        (
            "periods", "a gap that nothing explains",
            { everywhere("100", &$0, "expiresDate", .int(AuditScript.start + 1)) }
        ),
        (
            "periods", "a renewal after a hole",
            { everywhere("202", &$0, "purchaseDate", .int(AuditScript.start + 85 * AuditScript.day)) }
        ),
        ("periods", "another first purchase", { everywhere("201", &$0, "originalPurchaseDate", 1) }),
        ("periods", "a line item twice", { everywhere("202", &$0, "webOrderLineItemId", "9201") }),
        (
            "periods", "a renewal that came as a purchase",
            { everywhere("201", &$0, "transactionReason", "PURCHASE") }
        ),
    ]

    private static let ofStatuses: [PlantedError] = [
        ("statuses", "none of a subscription", { $0.customers[customer("dora", $0)].statuses = [] }),
        ("statuses", "another than was told", { $0.customers[customer("bert", $0)].statuses[0].status = 2 }),
        (
            "statuses", "one of an old period",
            {
                let place = customer("anna", $0)
                $0.customers[place].statuses[0].transaction = $0.customers[place].history[0]
            }
        ),
        ("status dates", "active though over", { $0.now += 20 * AuditScript.day }),
        ("status dates", "a grace that is over", { $0.now += 7 * AuditScript.day }),
        ("status dates", "revoked though not", { everywhere("301", &$0, "revocationDate", nil) }),
        (
            "renewal infos", "another date",
            {
                let place = customer("dora", $0)
                let renewal = $0.customers[place].statuses[0].renewal
                $0.customers[place].statuses[0].renewal = renewal.setting("renewalDate", 5)
            }
        ),
        (
            "renewal infos", "an offer without an identifier",
            {
                let place = customer("dora", $0)
                let renewal = $0.customers[place].statuses[0].renewal.setting("offerType", 2)
                $0.customers[place].statuses[0].renewal = renewal.setting("offerDiscountType", "PAY_AS_YOU_GO")
            }
        ),
    ]

    private static let ofReceipts: [PlantedError] = [
        ("receipts", "a refused receipt", { $0.customers[0].receipt = ["status": 21002] }),
        (
            "receipts", "a purchase that is missing",
            { receipt("bert", &$0, "in_app") { $0.filter { $0["transaction_id"] != "212" } } }
        ),
        (
            "receipts", "a purchase without an owner",
            { receipt("bert", &$0, "latest_receipt_info") { $0 + [["transaction_id": "5"]] } }
        ),
        (
            "receipts", "another expiry",
            { receipt("dora", &$0, "in_app") { $0.map { $0.setting("expires_date_ms", "5000") } } }
        ),
        (
            "receipts", "an upgrade that stands",
            { receipt("anna", &$0, "in_app") { $0.map { $0.setting("cancellation_date_ms", nil) } } }
        ),
        ("pending renewals", "none", { receipt("dora", &$0, "pending_renewal_info") { _ in [] } }),
        (
            "pending renewals", "another switch",
            { receipt("dora", &$0, "pending_renewal_info") { $0.map { $0.setting("auto_renew_status", "0") } } }
        ),
    ]
}
