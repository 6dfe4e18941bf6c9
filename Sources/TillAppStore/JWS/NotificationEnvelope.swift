import TillBilling

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
