import TillBilling

/// The payload of an AppTransaction (facts/jws §6): one customer's download of the app.
public struct AppTransactionPayload: Sendable {
    /// The environment, as it was written.
    public let receiptType: String?
    /// Absent in the sandbox.
    public let appAppleID: Int64?
    public let bundleID: String?
    public let applicationVersion: String?
    public let originalApplicationVersion: String?
    public let versionExternalIdentifier: Int64?
    /// Serves as the signing time.
    public let receiptCreationDate: Instant?
    public let originalPurchaseDate: Instant?
    public let preorderDate: Instant?
    public let deviceVerification: String?
    public let deviceVerificationNonce: String?
    /// Unique per customer account and app.
    public let appTransactionID: String?
    public let originalPlatform: Platform?
    /// Only where Xcode signs; Apple's servers sign none.
    public let signedDate: Instant?

    init(_ json: JSONObject) throws(JSONError) {
        receiptType = try json.string("receiptType")
        appAppleID = try json.int64("appAppleId")
        bundleID = try json.string("bundleId")
        applicationVersion = try json.string("applicationVersion")
        originalApplicationVersion = try json.string("originalApplicationVersion")
        versionExternalIdentifier = try json.int64("versionExternalIdentifier")
        receiptCreationDate = try json.instant("receiptCreationDate")
        originalPurchaseDate = try json.instant("originalPurchaseDate")
        preorderDate = try json.instant("preorderDate")
        deviceVerification = try json.string("deviceVerification")
        deviceVerificationNonce = try json.string("deviceVerificationNonce")
        appTransactionID = try json.string("appTransactionId")
        originalPlatform = try json.string("originalPlatform").map(Platform.init(rawValue:))
        signedDate = try json.instant("signedDate")
    }
}
