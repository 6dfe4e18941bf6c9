import TillAppStore
import TillBilling
import TillJSON

/// What a notification is to say, before it is written down (facts/jws §7): exactly one of `data`, `summary`,
/// `externalPurchaseToken` and `appData`.
struct Notice {
    /// What is wrong with a notification on purpose, for tests of who receives it (facts/notifications §6).
    enum Flaw: String, Sendable, Hashable, CaseIterable {
        /// Nothing that was signed is what the signature is of.
        case badSignature
        /// It names an app that is somebody else's.
        case wrongBundle
        /// It names the other environment.
        case wrongEnvironment
        /// It has members that nobody has heard of.
        case unknownField
    }

    var type: NotificationType
    var subtype: NotificationSubtype?
    var bundleID: String
    /// Both go into `data`, signed when it is sent.
    var transaction: StoreTransaction?
    var subscription: StoreSubscription?
    /// Only of CONSUMPTION_REQUEST.
    var consumptionRequestReason: ConsumptionRequestReason?
    /// The members of `summary` that are not the app's own: RENEWAL_EXTENSION, SUMMARY.
    var summary: NotificationPayload.Summary?
    /// The download of `appData`: RESCIND_CONSENT.
    var download: AppDownload?
    /// EXTERNAL_PURCHASE_TOKEN.
    var externalPurchase: NotificationPayload.ExternalPurchaseToken?
    var flaws: Set<Flaw> = []

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

    /// The state of this moment, which every attempt to deliver it shows (facts/server-api §4.3). `SignedNotification`
    /// makes the payload of it.
    func content(at now: Instant) -> JSONValue {
        var content: [String: JSONValue] = [:]
        content["transaction"] = transaction.map { SignedContent.transaction($0, signed: now).json }
        if let transaction, let subscription {
            content["renewal"] = SignedContent.renewal(subscription, current: transaction, signed: now).json
            content["status"] = .int(subscription.state.status)
        }
        content["consumptionRequestReason"] = consumptionRequestReason.map { .string($0.rawValue) }
        content["summary"] = summary?.json
        content["download"] = download.map(\.noted)
        content["externalPurchaseToken"] = externalPurchase?.json
        if !flaws.isEmpty { content["flaws"] = .array(flaws.map(\.rawValue).sorted().map { .string($0) }) }
        return .object(content)
    }
}

extension AppDownload {
    /// As a notification keeps it until it is signed.
    fileprivate var noted: JSONValue {
        var members: [String: JSONValue] = [
            "account": .string(account), "bundleId": .string(bundleID), "appTransaction": .int(appTransaction),
            "downloaded": .int(downloaded.milliseconds), "platform": .string(platform),
        ]
        members["originalVersion"] = originalVersion.map { .string($0) }
        members["preordered"] = (preordered?.milliseconds).map { .int($0) }
        return .object(members)
    }

    /// Nil for what was noted otherwise.
    init?(noted: JSONValue) {
        guard let account = noted["account"]?.string, let bundleID = noted["bundleId"]?.string,
            case .int(let number)? = noted["appTransaction"], case .int(let downloaded)? = noted["downloaded"]
        else { return nil }
        self.init(
            account: account, bundleID: bundleID, appTransaction: number,
            downloaded: Instant(milliseconds: downloaded))
        originalVersion = noted["originalVersion"]?.string
        if case .int(let preordered)? = noted["preordered"] { self.preordered = Instant(milliseconds: preordered) }
        if let platform = noted["platform"]?.string { self.platform = platform }
    }
}
