import TillBilling

/// ResponseBodyV2DecodedPayload (facts/jws §7): an App Store Server Notification of version 2. Of `data`, `summary`,
/// `externalPurchaseToken` and `appData` there is one.
public struct NotificationPayload: Sendable {
    public let notificationType: NotificationType?
    public let subtype: NotificationSubtype?
    public let notificationUUID: String?
    public let version: String?
    /// Absent in some that Apple really sent.
    public let signedDate: Instant?
    public let data: Data?
    public let summary: Summary?
    public let externalPurchaseToken: ExternalPurchaseToken?
    public let appData: AppData?

    /// About one purchase, whose signed parts are nested tokens.
    public struct Data: Sendable {
        public let environment: String?
        public let appAppleID: Int64?
        public let bundleID: String?
        public let bundleVersion: String?
        public let signedTransactionInfo: String?
        public let signedRenewalInfo: String?
        public let status: SubscriptionStatus?
        public let consumptionRequestReason: ConsumptionRequestReason?

        init(_ json: JSONObject) throws(JSONError) {
            environment = try json.string("environment")
            appAppleID = try json.int64("appAppleId")
            bundleID = try json.string("bundleId")
            bundleVersion = try json.string("bundleVersion")
            signedTransactionInfo = try json.string("signedTransactionInfo")
            signedRenewalInfo = try json.string("signedRenewalInfo")
            status = try json.int("status").map(SubscriptionStatus.init(rawValue:))
            consumptionRequestReason = try json.string("consumptionRequestReason")
                .map(ConsumptionRequestReason.init(rawValue:))
        }
    }

    /// The result of a mass extension of renewal dates.
    public struct Summary: Sendable {
        public let environment: String?
        public let appAppleID: Int64?
        public let bundleID: String?
        public let productID: String?
        public let requestIdentifier: String?
        public let storefrontCountryCodes: [String]?
        public let succeededCount: Int64?
        public let failedCount: Int64?

        init(_ json: JSONObject) throws(JSONError) {
            environment = try json.string("environment")
            appAppleID = try json.int64("appAppleId")
            bundleID = try json.string("bundleId")
            productID = try json.string("productId")
            requestIdentifier = try json.string("requestIdentifier")
            storefrontCountryCodes = try json.strings("storefrontCountryCodes")
            succeededCount = try json.int64("succeededCount")
            failedCount = try json.int64("failedCount")
        }
    }

    public struct ExternalPurchaseToken: Sendable {
        public let externalPurchaseID: String?
        public let tokenCreationDate: Instant?
        public let appAppleID: Int64?
        public let bundleID: String?
        public let tokenType: String?
        public let tokenExpirationDate: Instant?

        init(_ json: JSONObject) throws(JSONError) {
            externalPurchaseID = try json.string("externalPurchaseId")
            tokenCreationDate = try json.instant("tokenCreationDate")
            appAppleID = try json.int64("appAppleId")
            bundleID = try json.string("bundleId")
            tokenType = try json.string("tokenType")
            tokenExpirationDate = try json.instant("tokenExpirationDate")
        }
    }

    /// About the app as a whole (RESCIND_CONSENT).
    public struct AppData: Sendable {
        public let environment: String?
        public let appAppleID: Int64?
        public let bundleID: String?
        public let signedAppTransactionInfo: String?

        init(_ json: JSONObject) throws(JSONError) {
            environment = try json.string("environment")
            appAppleID = try json.int64("appAppleId")
            bundleID = try json.string("bundleId")
            signedAppTransactionInfo = try json.string("signedAppTransactionInfo")
        }
    }

    init(_ json: JSONObject) throws(JSONError) {
        notificationType = try json.string("notificationType").map(NotificationType.init(rawValue:))
        subtype = try json.string("subtype").map(NotificationSubtype.init(rawValue:))
        notificationUUID = try json.string("notificationUUID")
        version = try json.string("version")
        signedDate = try json.instant("signedDate")
        data = try json.object("data").map(Data.init)
        summary = try json.object("summary").map(Summary.init)
        externalPurchaseToken = try json.object("externalPurchaseToken").map(ExternalPurchaseToken.init)
        appData = try json.object("appData").map(AppData.init)
    }

    /// The app and environment a notification is about, from wherever it states them (facts/jws §2, the table).
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
