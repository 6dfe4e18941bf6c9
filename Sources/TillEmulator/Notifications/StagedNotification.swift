import TillAppStore
import TillBilling
import TillSQL

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
