import TillBilling
import TillJSON

/// ResponseBodyV2DecodedPayload (facts/jws §7): an App Store Server Notification of version 2. Of `data`, `summary`,
/// `externalPurchaseToken` and `appData` there is one.
public struct NotificationPayload: Equatable, Sendable, WrittenPayload {
    let source: JSONObject?
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
    public struct Data: Equatable, Sendable, WrittenPayload {
        let source: JSONObject?
        public let environment: String?
        public let appAppleID: Int64?
        public let bundleID: String?
        public let bundleVersion: String?
        public let signedTransactionInfo: String?
        public let signedRenewalInfo: String?
        public let status: SubscriptionStatus?
        public let consumptionRequestReason: ConsumptionRequestReason?

        init(_ json: JSONObject) throws(JSONError) {
            source = json
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

        var members: JSONMembers {
            var members = JSONMembers()
            members.add("environment", environment)
            members.add("appAppleId", appAppleID)
            members.add("bundleId", bundleID)
            members.add("bundleVersion", bundleVersion)
            members.add("signedTransactionInfo", signedTransactionInfo)
            members.add("signedRenewalInfo", signedRenewalInfo)
            members.add("status", status)
            members.add("consumptionRequestReason", consumptionRequestReason)
            return members
        }
    }

    /// The result of a mass extension of renewal dates.
    public struct Summary: Equatable, Sendable, WrittenPayload {
        let source: JSONObject?
        public let environment: String?
        public let appAppleID: Int64?
        public let bundleID: String?
        public let productID: String?
        public let requestIdentifier: String?
        public let storefrontCountryCodes: [String]?
        public let succeededCount: Int64?
        public let failedCount: Int64?

        init(_ json: JSONObject) throws(JSONError) {
            source = json
            environment = try json.string("environment")
            appAppleID = try json.int64("appAppleId")
            bundleID = try json.string("bundleId")
            productID = try json.string("productId")
            requestIdentifier = try json.string("requestIdentifier")
            storefrontCountryCodes = try json.strings("storefrontCountryCodes")
            succeededCount = try json.int64("succeededCount")
            failedCount = try json.int64("failedCount")
        }

        var members: JSONMembers {
            var members = JSONMembers()
            members.add("environment", environment)
            members.add("appAppleId", appAppleID)
            members.add("bundleId", bundleID)
            members.add("productId", productID)
            members.add("requestIdentifier", requestIdentifier)
            members.add("storefrontCountryCodes", storefrontCountryCodes)
            members.add("succeededCount", succeededCount)
            members.add("failedCount", failedCount)
            return members
        }
    }

    public struct ExternalPurchaseToken: Equatable, Sendable, WrittenPayload {
        let source: JSONObject?
        public let externalPurchaseID: String?
        public let tokenCreationDate: Instant?
        public let appAppleID: Int64?
        public let bundleID: String?
        public let tokenType: String?
        public let tokenExpirationDate: Instant?

        /// Reads a payload that proves nothing.
        ///
        /// - Parameter text: one JSON object in UTF-8, at most 64 levels deep.
        public init(decoding text: some Collection<UInt8>) throws(JSONError) { try self.init(JSONObject(Array(text))) }

        /// The payload as JSON, with every member it was read from; see `encoded()` for what a `JSONValue` cannot hold.
        public var json: JSONValue { writtenValue }
        /// The payload as JSON text, with every member it was read from, known here or not, as it was written.
        public func encoded() -> [UInt8] { writtenText }

        init(_ json: JSONObject) throws(JSONError) {
            source = json
            externalPurchaseID = try json.string("externalPurchaseId")
            tokenCreationDate = try json.instant("tokenCreationDate")
            appAppleID = try json.int64("appAppleId")
            bundleID = try json.string("bundleId")
            tokenType = try json.string("tokenType")
            tokenExpirationDate = try json.instant("tokenExpirationDate")
        }

        var members: JSONMembers {
            var members = JSONMembers()
            members.add("externalPurchaseId", externalPurchaseID)
            members.add("tokenCreationDate", tokenCreationDate)
            members.add("appAppleId", appAppleID)
            members.add("bundleId", bundleID)
            members.add("tokenType", tokenType)
            members.add("tokenExpirationDate", tokenExpirationDate)
            return members
        }
    }

    /// About the app as a whole (RESCIND_CONSENT).
    public struct AppData: Equatable, Sendable, WrittenPayload {
        let source: JSONObject?
        public let environment: String?
        public let appAppleID: Int64?
        public let bundleID: String?
        public let signedAppTransactionInfo: String?

        init(_ json: JSONObject) throws(JSONError) {
            source = json
            environment = try json.string("environment")
            appAppleID = try json.int64("appAppleId")
            bundleID = try json.string("bundleId")
            signedAppTransactionInfo = try json.string("signedAppTransactionInfo")
        }

        var members: JSONMembers {
            var members = JSONMembers()
            members.add("environment", environment)
            members.add("appAppleId", appAppleID)
            members.add("bundleId", bundleID)
            members.add("signedAppTransactionInfo", signedAppTransactionInfo)
            return members
        }
    }

    /// Reads a payload that proves nothing.
    ///
    /// - Parameter text: one JSON object in UTF-8, at most 64 levels deep.
    public init(decoding text: some Collection<UInt8>) throws(JSONError) { try self.init(JSONObject(Array(text))) }

    /// The payload as JSON, with every member it was read from; see `encoded()` for what a `JSONValue` cannot hold.
    public var json: JSONValue { writtenValue }
    /// The payload as JSON text, with every member it was read from, known here or not, as it was written.
    public func encoded() -> [UInt8] { writtenText }

    init(_ json: JSONObject) throws(JSONError) {
        source = json
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

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("notificationType", notificationType)
        members.add("subtype", subtype)
        members.add("notificationUUID", notificationUUID)
        members.add("version", version)
        members.add("signedDate", signedDate)
        members.add("data", data)
        members.add("summary", summary)
        members.add("externalPurchaseToken", externalPurchaseToken)
        members.add("appData", appData)
        return members
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
