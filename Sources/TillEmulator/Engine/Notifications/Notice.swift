import TillAppStore
import TillBilling
import TillJSON
import TillSQL

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

/// A notification that a person wants sent, whether or not anything happened: for tests of who receives it.
struct StagedNotification: Sendable {
    var type: NotificationType
    var subtype: NotificationSubtype?
    var bundleID: String
    /// What it tells of, with its subscription.
    var transaction: Int64?
    /// Whose download RESCIND_CONSENT is about.
    var account = Emulator.defaultAccount
    var consumptionRequestReason: ConsumptionRequestReason?
    /// What a summary is about.
    var productID: String?
    /// Of EXTERNAL_PURCHASE_TOKEN; nil: a new one.
    var externalPurchaseID: String?
    var tokenCreated: Instant?
    var flaws: Set<Notice.Flaw> = []

    /// What it says, in the object that Apple has for its type (facts/jws §7).
    func notice(_ turn: Turn) throws -> Result<Notice, StoreRefusal> {
        var notice = Notice(type, bundleID: bundleID)
        if let transaction {
            guard let found = try TransactionTable.find(transaction, turn.session) else {
                return .failure(.unknownTransaction(String(transaction)))
            }
            guard found.state == .purchased else { return .failure(.notPurchased(String(transaction))) }
            notice = Notice(type, nil, found, try SubscriptionTable.find(found.original, turn.session))
        }
        notice.subtype = subtype
        notice.consumptionRequestReason = consumptionRequestReason
        notice.flaws = flaws
        switch (type, subtype) {
        case (.externalPurchaseToken, _):
            // The only place where such a token tells its environment.
            let isSandbox = (turn.configuration.environment == .sandbox) != flaws.contains(.wrongEnvironment)
            let prefix = isSandbox ? "SANDBOX_" : ""
            var token = NotificationPayload.ExternalPurchaseToken()
            token.externalPurchaseID = externalPurchaseID ?? prefix + turn.uniqueID().description
            token.tokenCreationDate = tokenCreated ?? turn.now
            notice.externalPurchase = token
        case (.rescindConsent, _):
            let account = try AccountTable.account(
                account, openingIn: turn.configuration.storefront, turn.session)
            notice.download = try DownloadTable.download(
                account: account.name, bundleID: notice.bundleID, at: turn.now, turn.session)
        case (.renewalExtension, .some(.summary)):
            var summary = NotificationPayload.Summary()
            summary.requestIdentifier = turn.uniqueID().description
            summary.productID = productID ?? notice.transaction?.productID.text ?? "unknown"
            summary.storefrontCountryCodes = [turn.configuration.storefront]
            (summary.succeededCount, summary.failedCount) = (1, 0)
            notice.summary = summary
        default: break
        }
        return .success(notice)
    }
}

extension Store {
    /// Notes a staged notification.
    /// - Returns: its id.
    func stage(_ staged: StagedNotification) async throws -> Result<UniqueID, StoreRefusal> {
        try await change { turn in
            switch try staged.notice(turn) {
            case .failure(let refusal): return .failure(refusal)
            case .success(let notice):
                guard let uuid = try turn.note(notice) else { return .failure(.noNotificationURL) }
                return .success(uuid)
            }
        }
    }
}
