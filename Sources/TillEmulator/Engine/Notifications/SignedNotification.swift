import TillAppStore
import TillBilling
import TillJSON

/// Creates the signed payload of a stored notification, with its nested tokens (facts/jws §7).
struct SignedNotification: Sendable {
    let issuer: Issuer
    let configuration: EmulatorConfiguration

    func text(_ notification: StoredNotification) throws -> String {
        let content = try JSONValue(decoding: notification.content)
        let flaws = Set(
            (content["flaws"]?.array ?? []).compactMap { $0.string.flatMap(NotificationDraft.Flaw.init(rawValue:)) })
        var payload = NotificationPayload()
        payload.notificationType = NotificationType(rawValue: notification.type)
        payload.subtype = notification.subtype.map { NotificationSubtype(rawValue: $0) }
        payload.notificationUUID = notification.uuid.description
        payload.version = "2.0"
        // Retries keep the date of the first attempt (facts/notifications §6).
        payload.signedDate = notification.created
        try addSubject(of: notification, content, flaws, to: &payload)
        var members = payload.json.object ?? [:]
        if flaws.contains(.unknownField) {
            for (name, part) in members where part.object != nil { members[name] = part.with(["unheardOfToo": true]) }
            members["unheardOf"] = ["of": ["late", 2], "by": "everybody"]
        }
        return try sign(members, flaws)
    }

    /// Adds the one of the four objects that this notification has.
    private func addSubject(
        of notification: StoredNotification, _ content: JSONValue, _ flaws: Set<NotificationDraft.Flaw>,
        to payload: inout NotificationPayload
    ) throws {
        let app = configuration.app(notification.bundleID)
        let other: StoreEnvironment = configuration.environment == .sandbox ? .production : .sandbox
        let environment = flaws.contains(.wrongEnvironment) ? other : configuration.environment
        let bundleID = flaws.contains(.wrongBundle) ? "com.example.somebody-elses" : notification.bundleID
        // Apple's sandbox has no app id (facts/jws §7).
        let appID = environment == .production ? app.appleID : nil
        if let noted = content["summary"] {
            var summary = try NotificationPayload.Summary(decoding: noted.encoded().utf8)
            (summary.environment, summary.bundleID, summary.appAppleID) = (environment.rawValue, bundleID, appID)
            payload.summary = summary
        } else if let noted = content["externalPurchaseToken"] {
            // This object has no environment; its id starts with SANDBOX in the sandbox.
            var token = try NotificationPayload.ExternalPurchaseToken(decoding: noted.encoded().utf8)
            (token.bundleID, token.appAppleID) = (bundleID, appID)
            payload.externalPurchaseToken = token
        } else if let download = content["download"].flatMap(AppDownload.init(noted:)) {
            let appTransaction = AppTransactionContent(
                download: download, app: configuration.app(download.bundleID), environment: configuration.environment)
            var data = NotificationPayload.AppData()
            (data.environment, data.bundleID, data.appAppleID) = (environment.rawValue, bundleID, appID)
            data.signedAppTransactionInfo = try issuer.signedAppTransaction(appTransaction, at: notification.created)
            payload.appData = data
        } else {
            var data = NotificationPayload.Data()
            (data.environment, data.bundleID, data.appAppleID) = (environment.rawValue, bundleID, appID)
            data.bundleVersion = app.version
            func nested(_ part: String) throws -> String? {
                guard var members = content[part]?.object else { return nil }
                if flaws.contains(.wrongEnvironment) { members["environment"] = .string(environment.rawValue) }
                if flaws.contains(.wrongBundle), members["bundleId"] != nil { members["bundleId"] = .string(bundleID) }
                return try sign(members, flaws)
            }
            data.signedTransactionInfo = try nested("transaction")
            data.signedRenewalInfo = try nested("renewal")
            data.status = (content["status"]?.int).map { SubscriptionStatus(rawValue: Int($0)) }
            data.consumptionRequestReason = (content["consumptionRequestReason"]?.string)
                .map { ConsumptionRequestReason(rawValue: $0) }
            payload.data = data
        }
    }

    private func sign(_ members: [String: JSONValue], _ flaws: Set<NotificationDraft.Flaw>) throws -> String {
        let token = try issuer.sign(members)
        guard flaws.contains(.badSignature), let end = token.lastIndex(of: ".") else { return token }
        // A well-formed signature by the same key over another text.
        let other = try issuer.sign([:])
        return String(token[...end]) + (other.split(separator: ".").last ?? "")
    }
}
