import TillAppStore
import TillBilling

/// What a notification is to say, before it is written down (facts/jws §7): exactly one of `data`, `summary` and
/// `appData`.
struct Notice {
    var type: NotificationType
    var subtype: NotificationSubtype?
    var bundleID: String
    /// Both go into `data`, signed when it is sent.
    var transaction: StoreTransaction?
    var subscription: StoreSubscription?
    /// Only of CONSUMPTION_REQUEST.
    var consumptionRequestReason: ConsumptionRequestReason?
    /// The members of `summary` that are not the app's own: RENEWAL_EXTENSION, SUMMARY.
    var summary: [String: JSONValue]?
    /// The download of `appData`: RESCIND_CONSENT.
    var download: AppDownload?

    init(_ type: NotificationType, bundleID: String) {
        self.type = type
        self.bundleID = bundleID
    }

    init(
        _ type: NotificationType, _ subtype: NotificationSubtype? = nil, _ transaction: StoreTransaction,
        _ subscription: StoreSubscription? = nil
    ) {
        self.type = type
        self.subtype = subtype
        self.transaction = transaction
        self.subscription = subscription
        bundleID = transaction.bundleID
    }

    /// The state of this moment, which every attempt to deliver it shows (facts/server-api §4.3).
    func content(at now: Instant) -> JSONValue {
        var content: [String: JSONValue] = [:]
        content["transaction"] = transaction.map { .object(SignedContent.transaction($0, signed: now)) }
        if let transaction, let subscription {
            content["renewal"] = .object(
                SignedContent.renewal(subscription, current: transaction, signed: now))
            content["status"] = .int(subscription.state.status)
        }
        content["consumptionRequestReason"] = consumptionRequestReason.map { .string($0.rawValue) }
        content["summary"] = summary.map { .object($0) }
        content["appTransaction"] = download.map { .int($0.appTransaction) }
        return .object(content)
    }
}
