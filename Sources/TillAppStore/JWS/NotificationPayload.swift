import TillBilling
import TillJSON

/// ResponseBodyV2DecodedPayload (facts/jws §7): an App Store Server Notification of version 2. It contains exactly one
/// of `data`, `summary`, `externalPurchaseToken` and `appData`.
public struct NotificationPayload: JSONPayload {
    package var source: JSONObject?
    public var notificationType: NotificationType?
    public var subtype: NotificationSubtype?
    public var notificationUUID: String?
    public var version: String?
    /// Absent in some notifications that Apple has sent.
    public var signedDate: Instant?
    public var data: Data?
    public var summary: Summary?
    public var externalPurchaseToken: ExternalPurchaseToken?
    public var appData: AppData?

    package init() {}

    /// Concerns one purchase, whose signed parts are nested tokens.
    public struct Data: JSONPayload {
        package var source: JSONObject?
        public var environment: String?
        public var appAppleID: Int64?
        public var bundleID: String?
        public var bundleVersion: String?
        public var signedTransactionInfo: String?
        public var signedRenewalInfo: String?
        public var status: SubscriptionStatus?
        public var consumptionRequestReason: ConsumptionRequestReason?

        package init() {}

        package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
            try visitor.visit("environment", &environment)
            try visitor.visit("appAppleId", &appAppleID)
            try visitor.visit("bundleId", &bundleID)
            try visitor.visit("bundleVersion", &bundleVersion)
            try visitor.visit("signedTransactionInfo", &signedTransactionInfo)
            try visitor.visit("signedRenewalInfo", &signedRenewalInfo)
            try visitor.visit("status", &status)
            try visitor.visit("consumptionRequestReason", &consumptionRequestReason)
        }
    }

    /// The result of a mass extension of renewal dates.
    public struct Summary: JSONPayload {
        package var source: JSONObject?
        public var environment: String?
        public var appAppleID: Int64?
        public var bundleID: String?
        public var productID: String?
        public var requestIdentifier: String?
        public var storefrontCountryCodes: [String]?
        public var succeededCount: Int64?
        public var failedCount: Int64?

        package init() {}

        package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
            try visitor.visit("environment", &environment)
            try visitor.visit("appAppleId", &appAppleID)
            try visitor.visit("bundleId", &bundleID)
            try visitor.visit("productId", &productID)
            try visitor.visit("requestIdentifier", &requestIdentifier)
            try visitor.visit("storefrontCountryCodes", &storefrontCountryCodes)
            try visitor.visit("succeededCount", &succeededCount)
            try visitor.visit("failedCount", &failedCount)
        }
    }

    public struct ExternalPurchaseToken: JSONPayload {
        package var source: JSONObject?
        public var externalPurchaseID: String?
        public var tokenCreationDate: Instant?
        public var appAppleID: Int64?
        public var bundleID: String?
        public var tokenType: String?
        public var tokenExpirationDate: Instant?

        package init() {}

        package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
            try visitor.visit("externalPurchaseId", &externalPurchaseID)
            try visitor.visit("tokenCreationDate", &tokenCreationDate)
            try visitor.visit("appAppleId", &appAppleID)
            try visitor.visit("bundleId", &bundleID)
            try visitor.visit("tokenType", &tokenType)
            try visitor.visit("tokenExpirationDate", &tokenExpirationDate)
        }
    }

    /// Concerns the app as a whole (RESCIND_CONSENT).
    public struct AppData: JSONPayload {
        package var source: JSONObject?
        public var environment: String?
        public var appAppleID: Int64?
        public var bundleID: String?
        public var signedAppTransactionInfo: String?

        package init() {}

        package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
            try visitor.visit("environment", &environment)
            try visitor.visit("appAppleId", &appAppleID)
            try visitor.visit("bundleId", &bundleID)
            try visitor.visit("signedAppTransactionInfo", &signedAppTransactionInfo)
        }
    }

    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("notificationType", &notificationType)
        try visitor.visit("subtype", &subtype)
        try visitor.visit("notificationUUID", &notificationUUID)
        try visitor.visit("version", &version)
        try visitor.visit("signedDate", &signedDate)
        try visitor.visit("data", &data)
        try visitor.visit("summary", &summary)
        try visitor.visit("externalPurchaseToken", &externalPurchaseToken)
        try visitor.visit("appData", &appData)
    }

    /// The app and environment that a notification concerns, from the member that states them (facts/jws §2, the
    /// table).
    var subject: (bundleID: String?, appAppleID: Int64?, environment: String?) {
        if let data { return (data.bundleID, data.appAppleID, data.environment) }
        if let summary { return (summary.bundleID, summary.appAppleID, summary.environment) }
        if let token = externalPurchaseToken {
            let environment = Self.environment(ofExternalPurchase: token.externalPurchaseID ?? "")
            return (token.bundleID, token.appAppleID, environment)
        }
        return (appData?.bundleID, appData?.appAppleID, appData?.environment)
    }

    /// An external purchase token states no environment; its id begins with `SANDBOX` in the sandbox.
    static func environment(ofExternalPurchase id: String) -> String {
        id.hasPrefix("SANDBOX") ? "Sandbox" : "Production"
    }
}

/// A notification that Apple signed for any app and environment: enough to store it by its id, without any purchase
/// data that could be granted.
public struct NotificationEnvelope: Sendable, Hashable {
    /// Apple's `notificationUUID`.
    public let id: String
    public let type: NotificationType?
    public let subtype: NotificationSubtype?
    public let signedDate: Instant?
    /// The app and environment as written; nil for future kinds of notifications that state them in another member.
    public let bundleID: String?
    public let appAppleID: Int64?
    public let environment: String?
}
