import TillBilling
import TillCrypto

/// A notification that Apple signed, for whichever app and environment: enough to store it under a name, and nothing
/// that could be settled.
public struct NotificationEnvelope: Sendable, Hashable {
    /// Apple's `notificationUUID`.
    public let id: String
    public let type: NotificationType?
    public let subtype: NotificationSubtype?
    public let signedDate: Instant?
    /// The app and environment it states, as they are written; kinds of notifications that are yet to come may state
    /// them where nobody looks today.
    public let bundleID: String?
    public let appAppleID: Int64?
    public let environment: String?
}

extension SignedDataVerifier {
    /// The outside of a notification, by this verifier's policy: one for any app and environment takes whatever Apple
    /// signed. Tokens nested in it are verified too, where it comes from an environment that has any.
    ///
    /// - Parameter signedPayload: the compact serialization, at most 512 KiB.
    public func envelope(_ signedPayload: [UInt8]) throws(VerificationFailure) -> NotificationEnvelope {
        let (token, json) = try token(signedPayload, limit: Self.notificationLimit)
        guard json.has("notificationType") else { throw VerificationFailure(.malformed, "no notification") }
        let payload = try Self.decoding { () throws(JSONError) in try NotificationPayload(json) }
        guard let id = payload.notificationUUID, (1...VerifiedTransaction.idLimit).contains(id.utf8.count) else {
            throw VerificationFailure(.malformed, "notificationUUID")
        }
        let subject = payload.subject
        if subject.environment.flatMap(Environment.init(rawValue:)) != nil {
            _ = try notification(signedPayload)
        } else {
            try authenticate(token, signedAt: payload.signedDate)
        }
        return NotificationEnvelope(
            id: id, type: payload.notificationType, subtype: payload.subtype, signedDate: payload.signedDate,
            bundleID: subject.bundleID, appAppleID: subject.appAppleID, environment: subject.environment)
    }
}
