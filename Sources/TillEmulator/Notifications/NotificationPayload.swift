import TillAppStore
import TillBilling
import TillJSON

/// Makes the whole payload of a notification from what was noted of it (facts/jws §7), signed, with its nested tokens.
struct NotificationPayload: Sendable {
    let issuer: Issuer
    let configuration: EmulatorConfiguration

    func signed(_ notification: StoredNotification) throws -> String {
        let content = try JSONValue(decoding: notification.content)
        let flaws = Set((content["flaws"]?.array ?? []).compactMap { $0.string.flatMap(Notice.Flaw.init(rawValue:)) })
        var payload: [String: JSONValue] = [
            "notificationType": .string(notification.type),
            "notificationUUID": .string(notification.uuid.description),
            "version": "2.0",
            // Of the first attempt, in retries too (facts/notifications §6).
            "signedDate": .int(notification.created.milliseconds),
        ]
        payload["subtype"] = notification.subtype.map { .string($0) }
        payload.merge(try particulars(of: notification, content, flaws)) { _, new in new }
        if flaws.contains(.unknownField) { payload["unheardOf"] = ["of": ["late", 2], "by": "everybody"] }
        return try sign(payload, flaws)
    }

    /// The one of the four objects that this notification has.
    private func particulars(
        of notification: StoredNotification, _ content: JSONValue, _ flaws: Set<Notice.Flaw>
    ) throws -> [String: JSONValue] {
        var members = appMembers(notification.bundleID, flaws)
        if flaws.contains(.unknownField) { members["unheardOfToo"] = true }
        if let summary = content["summary"]?.object {
            return ["summary": .object(summary.merging(members) { _, new in new })]
        }
        if let token = content["externalPurchaseToken"]?.object {
            // It has no environment: the id begins with SANDBOX there.
            members["environment"] = nil
            return ["externalPurchaseToken": .object(token.merging(members) { _, new in new })]
        }
        if let download = content["download"].flatMap(AppDownload.init(noted:)) {
            let appTransaction = AppTransactionContent(
                download: download, app: configuration.app(download.bundleID), environment: configuration.environment)
            let signed = try issuer.signedAppTransaction(appTransaction, at: notification.created)
            members["signedAppTransactionInfo"] = .string(signed)
            return ["appData": .object(members)]
        }
        members["bundleVersion"] = .string(configuration.app(notification.bundleID).version)
        for (name, part) in [("signedTransactionInfo", "transaction"), ("signedRenewalInfo", "renewal")] {
            guard var nested = content[part]?.object else { continue }
            if flaws.contains(.wrongEnvironment) { nested["environment"] = members["environment"] }
            if flaws.contains(.wrongBundle), nested["bundleId"] != nil { nested["bundleId"] = members["bundleId"] }
            members[name] = .string(try sign(nested, flaws))
        }
        members["status"] = content["status"]
        members["consumptionRequestReason"] = content["consumptionRequestReason"]
        return ["data": .object(members)]
    }

    /// What all of them say of the app.
    private func appMembers(_ bundleID: String, _ flaws: Set<Notice.Flaw>) -> [String: JSONValue] {
        let other: Environment = configuration.environment == .sandbox ? .production : .sandbox
        let environment = flaws.contains(.wrongEnvironment) ? other : configuration.environment
        var members: [String: JSONValue] = [
            "environment": .string(environment.rawValue),
            "bundleId": .string(flaws.contains(.wrongBundle) ? "com.example.somebody-elses" : bundleID),
        ]
        // Apple's sandbox has no app id (facts/jws §7).
        if environment == .production { members["appAppleId"] = .int(configuration.app(bundleID).appleID) }
        return members
    }

    private func sign(_ members: [String: JSONValue], _ flaws: Set<Notice.Flaw>) throws -> String {
        let token = try issuer.sign(members)
        guard flaws.contains(.badSignature), let end = token.lastIndex(of: ".") else { return token }
        // A well-made signature of the same key, of another text.
        let other = try issuer.sign([:])
        return String(token[...end]) + (other.split(separator: ".").last ?? "")
    }
}
