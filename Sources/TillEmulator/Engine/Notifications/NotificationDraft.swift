import TillAppStore
import TillBilling
import TillJSON
import TillSQL

/// The content of a notification before it is stored (facts/jws §7): exactly one of `data`, `summary`,
/// `externalPurchaseToken` and `appData`.
struct NotificationDraft {
    /// A deliberate error in a notification, to test its receiver (facts/notifications §6).
    enum Flaw: String, Sendable, Hashable, CaseIterable {
        /// The signature is well-formed and belongs to another text.
        case badSignature
        /// The notification names another developer's app.
        case wrongBundle
        /// The notification names the other environment.
        case wrongEnvironment
        /// The notification has unknown members.
        case unknownField
    }

    var type: NotificationType
    var subtype: NotificationSubtype?
    var bundleID: String
    /// Transaction and subscription go into `data` and are signed when the notification is sent.
    var transaction: StoreTransaction?
    var subscription: StoreSubscription?
    /// For CONSUMPTION_REQUEST only.
    var consumptionRequestReason: ConsumptionRequestReason?
    /// For RENEWAL_EXTENSION, SUMMARY: the members of `summary` except the app's own.
    var summary: NotificationPayload.Summary?
    /// For RESCIND_CONSENT: the download in `appData`.
    var download: AppDownload?
    /// For EXTERNAL_PURCHASE_TOKEN.
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

    /// The state at this moment, which every delivery attempt shows (facts/server-api §4.3). `SignedNotification` turns
    /// it into the payload.
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
    /// The stored form of a download until the notification is signed.
    fileprivate var noted: JSONValue {
        var members: [String: JSONValue] = [
            "account": .string(account), "bundleId": .string(bundleID), "appTransaction": .int(appTransaction),
            "downloaded": .int(downloaded.milliseconds), "platform": .string(platform),
        ]
        members["originalVersion"] = originalVersion.map { .string($0) }
        members["preordered"] = (preordered?.milliseconds).map { .int($0) }
        return .object(members)
    }

    /// Nil for JSON of another form.
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

/// A notification sent on request, without the event that would cause it, to test its receiver.
struct StagedNotification: Sendable {
    var type: NotificationType
    var subtype: NotificationSubtype?
    var bundleID: String
    /// The transaction that it is about; its subscription is added.
    var transaction: Int64?
    /// The account whose download RESCIND_CONSENT is about.
    var account = Emulator.defaultAccount
    var consumptionRequestReason: ConsumptionRequestReason?
    /// The product that a summary is about.
    var productID: String?
    /// For EXTERNAL_PURCHASE_TOKEN; nil creates a new id.
    var externalPurchaseID: String?
    var tokenCreated: Instant?
    var flaws: Set<NotificationDraft.Flaw> = []

    /// The notification's content, in the object that Apple defines for its type (facts/jws §7).
    func notice(_ change: StoreChange) throws -> Result<NotificationDraft, StoreRefusal> {
        var notice = NotificationDraft(type, bundleID: bundleID)
        if let transaction {
            guard let found = try TransactionTable.find(transaction, change.connection) else {
                return .failure(.unknownTransaction(String(transaction)))
            }
            guard found.state == .purchased else { return .failure(.notPurchased(String(transaction))) }
            notice = NotificationDraft(type, nil, found, try SubscriptionTable.find(found.original, change.connection))
        }
        notice.subtype = subtype
        notice.consumptionRequestReason = consumptionRequestReason
        notice.flaws = flaws
        switch (type, subtype) {
        case (.externalPurchaseToken, _):
            // The prefix is the only place where such a token shows its environment.
            let isSandbox = (change.configuration.environment == .sandbox) != flaws.contains(.wrongEnvironment)
            let prefix = isSandbox ? "SANDBOX_" : ""
            var token = NotificationPayload.ExternalPurchaseToken()
            token.externalPurchaseID = externalPurchaseID ?? prefix + change.uniqueID().description
            token.tokenCreationDate = tokenCreated ?? change.now
            notice.externalPurchase = token
        case (.rescindConsent, _):
            let account = try AccountTable.account(
                account, openingIn: change.configuration.storefront, change.connection)
            notice.download = try DownloadTable.download(
                account: account.name, bundleID: notice.bundleID, at: change.now, change.connection)
        case (.renewalExtension, .some(.summary)):
            var summary = NotificationPayload.Summary()
            summary.requestIdentifier = change.uniqueID().description
            summary.productID = productID ?? notice.transaction?.productID.text ?? "unknown"
            summary.storefrontCountryCodes = [change.configuration.storefront]
            (summary.succeededCount, summary.failedCount) = (1, 0)
            notice.summary = summary
        default: break
        }
        return .success(notice)
    }
}

extension Store {
    /// Records a staged notification.
    /// - Returns: its id.
    func stage(_ staged: StagedNotification) async throws -> Result<UniqueID, StoreRefusal> {
        try await change { change in
            switch try staged.notice(change) {
            case .failure(let refusal): return .failure(refusal)
            case .success(let notice):
                guard let uuid = try change.note(notice) else { return .failure(.noNotificationURL) }
                return .success(uuid)
            }
        }
    }
}
