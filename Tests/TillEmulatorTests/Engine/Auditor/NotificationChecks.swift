import TillJSON

/// The content of single notifications, and the first notification of each event.
enum NotificationChecks {
    /// facts/notifications §4; nil is no subtype.
    static let subtypesByType: [String: [String?]] = [
        "SUBSCRIBED": ["INITIAL_BUY", "RESUBSCRIBE"], "DID_RENEW": [nil, "BILLING_RECOVERY"],
        "DID_CHANGE_RENEWAL_PREF": ["UPGRADE", "DOWNGRADE", nil],
        "DID_CHANGE_RENEWAL_STATUS": ["AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"],
        "OFFER_REDEEMED": [nil, "UPGRADE", "DOWNGRADE"], "DID_FAIL_TO_RENEW": ["GRACE_PERIOD", nil],
        "GRACE_PERIOD_EXPIRED": [nil],
        "EXPIRED": ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", nil],
        "PRICE_INCREASE": ["PENDING", "ACCEPTED"], "REFUND": [nil], "REFUND_DECLINED": [nil],
        "REFUND_REVERSED": [nil], "CONSUMPTION_REQUEST": [nil], "REVOKE": [nil], "RENEWAL_EXTENDED": [nil],
        "RENEWAL_EXTENSION": ["SUMMARY", "FAILURE"], "ONE_TIME_CHARGE": [nil], "TEST": [nil],
        "EXTERNAL_PURCHASE_TOKEN": ["UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER"], "RESCIND_CONSENT": [nil],
        "METADATA_UPDATE": [nil], "MIGRATION": [nil], "PRICE_CHANGE": [nil],
    ]

    /// A repeated notification equals the first one exactly (facts/notifications §3).
    static func duplicates(_ record: AuditRecord) -> [String] {
        Dictionary(grouping: record.notifications, by: \.uuid).values.filter { copies in
            copies.contains { $0 != copies[0] }
        }.map { "notification \($0[0].uuid) came again with other content" }.sorted()
    }

    /// The members of every notification, and the app and environment on which its parts agree (facts/jws §7).
    static func envelope(_ record: AuditRecord) -> [String] {
        record.notified.flatMap { notification -> [String] in
            let name = "\(notification.word) \(notification.uuid)"
            var found: [String] = []
            if notification.payload["version"] != "2.0" { found.append("\(name) has no version 2.0") }
            let parts = ["data", "summary", "externalPurchaseToken", "appData"].filter {
                notification.payload[$0] != nil
            }
            if parts.count != 1 { found.append("\(name) has the parts \(parts)") }
            guard let transaction = notification.transaction else { return found }
            let data = notification.payload["data"]
            for member in ["bundleId", "environment"] where transaction[member] != data?[member] {
                found.append("\(name) and its transaction \(transaction.id) differ in \(member)")
            }
            let isSubscription = transaction["type"] == "Auto-Renewable Subscription"
            if isSubscription != (notification.renewal != nil) || isSubscription != (notification.status != nil) {
                found.append("\(name) of \(transaction.id) has a renewal info or a status and must not, or has none")
            }
            if let renewal = notification.renewal, renewal.original != transaction.original {
                found.append("\(name) has a renewal info of \(renewal.original), not \(transaction.original)")
            }
            return found
        }
    }

    static func subtypes(_ record: AuditRecord) -> [String] {
        record.notified.filter { subtypesByType[$0.type]?.contains($0.subtype) != true }
            .map { "\($0.word) is no notification (\($0.uuid))" }
    }

    /// Notifications that announce a new transaction.
    private static let births: Set<String> = [
        "ONE_TIME_CHARGE", "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/RESUBSCRIBE", "DID_RENEW",
        "DID_RENEW/BILLING_RECOVERY", "DID_CHANGE_RENEWAL_PREF/UPGRADE", "OFFER_REDEEMED/UPGRADE",
    ]

    /// Every transaction is announced by exactly one notification, before any other notification about it.
    static func births(_ record: AuditRecord) -> [String] {
        var first: [String: String] = [:]
        var count: [String: Int] = [:]
        for notification in record.notified {
            guard let id = notification.id else { continue }
            // An offer redeemed by an active subscriber starts at once, or with the next renewal.
            let isBirth =
                births.contains(notification.word) || (notification.word == "OFFER_REDEEMED" && first[id] == nil)
            if first[id] == nil { first[id] = notification.word + (isBirth ? "" : " too early") }
            if isBirth { count[id, default: 0] += 1 }
        }
        return record.customers.flatMap(\.history).flatMap { transaction -> [String] in
            let id = transaction.id
            guard let word = first[id] else { return ["no notification ever told of transaction \(id)"] }
            var found: [String] = []
            if word.hasSuffix("too early") { found.append("the first notification of transaction \(id) is \(word)") }
            if count[id] ?? 0 > 1 { found.append("transaction \(id) was told of as new \(count[id] ?? 0) times") }
            return found
        }
    }

    static func strangers(_ record: AuditRecord) -> [String] {
        let known = Set((record.customers + record.closed).flatMap(\.history).map(\.id))
        return record.notified.compactMap { notification in
            guard let id = notification.id, !known.contains(id) else { return nil }
            return "\(notification.word) \(notification.uuid) tells of transaction \(id), which is in no history"
        }
    }

    /// Get Notification History lists what was received, as far back as it reaches.
    static func history(_ record: AuditRecord) -> [String] {
        let received = Dictionary(record.notified.map { ($0.uuid, $0) }, uniquingKeysWith: { first, _ in first })
        let listed = Dictionary(record.notificationHistory.map { ($0.uuid, $0) }, uniquingKeysWith: { $1 })
        var found: [String] = []
        if listed.count != record.notificationHistory.count { found.append("it lists a notification twice") }
        for (uuid, notification) in received.sorted(by: { $0.key < $1.key })
        where listed[uuid] == nil && notification.signed >= record.historyBegins {
            found.append("it lacks \(notification.word) \(uuid)")
        }
        for (uuid, notification) in listed.sorted(by: { $0.key < $1.key }) {
            guard let sent = received[uuid] else {
                found.append("\(notification.word) \(uuid) was never received")
                continue
            }
            if sent != notification { found.append("\(notification.word) \(uuid) is not as it was received") }
        }
        return found
    }

    /// Notifications that may change the renewal status or the next product.
    private static let switches: Set<String> = [
        "DID_CHANGE_RENEWAL_STATUS", "DID_CHANGE_RENEWAL_PREF", "SUBSCRIBED", "OFFER_REDEEMED", "EXPIRED", "REFUND",
        "REVOKE", "REFUND_REVERSED",
    ]

    /// Renewal status and next product change only with a notification, and the statuses equal the last one. Shared
    /// subscriptions follow the purchaser's without a notification.
    static func renewalSettings(_ record: AuditRecord) -> [String] {
        let statuses = Dictionary(
            record.customers.flatMap(\.statuses).map { ($0.original, $0) }, uniquingKeysWith: { first, _ in first })
        var found: [String] = []
        for (original, notifications) in record.subscriptionLives
        where notifications.first?.transaction?.isShared == false {
            var before: JSONValue?
            for notification in notifications {
                let renewal = notification.renewal ?? .null
                for member in ["autoRenewStatus", "autoRenewProductId"] {
                    guard let before, before[member] != renewal[member] else { continue }
                    if !switches.contains(notification.type) {
                        found.append("\(notification.word) of \(original) changed \(member) without a word")
                    }
                }
                let expected: [String: JSONValue] = [
                    "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED": 1,
                    "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED": 0, "SUBSCRIBED/INITIAL_BUY": 1,
                    "SUBSCRIBED/RESUBSCRIBE": 1,
                ]
                if let status = expected[notification.word], renewal["autoRenewStatus"] != status {
                    found.append("\(notification.word) of \(original) says autoRenewStatus otherwise")
                }
                before = renewal
            }
            for member in ["autoRenewStatus", "autoRenewProductId"] {
                if let now = statuses[original]?.renewal, let before, now[member] != before[member] {
                    found.append("the status of \(original) has another \(member) than the last notification")
                }
            }
        }
        return found
    }
}
