import TillBilling
import TillJSON

/// The payload of an AppTransaction (facts/jws §6): one customer's download of the app.
public struct AppTransactionPayload: JSONPayload {
    package var source: JSONObject?
    /// The environment, as written.
    public var receiptType: String?
    /// Absent in the sandbox.
    public var appAppleID: Int64?
    public var bundleID: String?
    public var applicationVersion: String?
    public var originalApplicationVersion: String?
    public var versionExternalIdentifier: Int64?
    /// Serves as the signing time.
    public var receiptCreationDate: Instant?
    public var originalPurchaseDate: Instant?
    public var preorderDate: Instant?
    public var device = DeviceProofPayload()
    /// Unique per customer account and app.
    public var appTransactionID: String?
    public var originalPlatform: Platform?
    /// Only in app transactions signed by Xcode; Apple's servers omit it.
    public var signedDate: Instant?
    /// Only in app transactions from Xcode: by its name, the time of the request.
    public var requestDate: Instant?

    package init() {}

    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("receiptType", &receiptType)
        try visitor.visit("appAppleId", &appAppleID)
        try visitor.visit("bundleId", &bundleID)
        try visitor.visit("applicationVersion", &applicationVersion)
        try visitor.visit("originalApplicationVersion", &originalApplicationVersion)
        try visitor.visit("versionExternalIdentifier", &versionExternalIdentifier)
        try visitor.visit("receiptCreationDate", &receiptCreationDate)
        try visitor.visit("originalPurchaseDate", &originalPurchaseDate)
        try visitor.visit("preorderDate", &preorderDate)
        try device.visitMembers(&visitor)
        try visitor.visit("appTransactionId", &appTransactionID)
        try visitor.visit("originalPlatform", &originalPlatform)
        try visitor.visit("signedDate", &signedDate)
        try visitor.visit("requestDate", &requestDate)
    }
}
