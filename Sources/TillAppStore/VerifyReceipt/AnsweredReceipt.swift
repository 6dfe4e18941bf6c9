import TillBilling
import TillJSON

/// The `receipt` object of an app receipt (facts/verify-receipt §5).
public struct AnsweredReceipt: AnswerObject {
    /// `Production`, `ProductionSandbox`, `ProductionVPP`, `ProductionVPPSandbox`; others survive.
    public var receiptType: String?
    /// The app's number in the App Store; 0 outside production.
    public var adamID: Int64?
    /// The same once more.
    public var appItemID: Int64?
    public var bundleID: String?
    public var applicationVersion: String?
    public var originalApplicationVersion: String?
    /// 0 or absent in the sandbox.
    public var downloadID: Int64?
    /// 0 or absent in the sandbox.
    public var versionExternalIdentifier: Int64?
    public var creationDate: Instant?
    /// When Apple answered.
    public var requestDate: Instant?
    /// When the customer first got the app.
    public var originalPurchaseDate: Instant?
    public var preorderDate: Instant?
    /// Volume purchases only.
    public var expirationDate: Instant?
    /// In no order. Finished consumables are missing; none at all is no error.
    public var inApp: [AnsweredPurchase]?
    /// Members that no version of this page knew.
    public var other: [String: JSONValue] = [:]

    public init() {}

    package mutating func visitMembers<V: AnswerVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.text("receipt_type", &receiptType)
        try visitor.number("adam_id", &adamID)
        try visitor.number("app_item_id", &appItemID)
        try visitor.text("bundle_id", &bundleID)
        try visitor.text("application_version", &applicationVersion)
        try visitor.text("original_application_version", &originalApplicationVersion)
        try visitor.number("download_id", &downloadID)
        try visitor.number("version_external_identifier", &versionExternalIdentifier)
        try visitor.instant("receipt_creation_date", &creationDate)
        try visitor.instant("request_date", &requestDate)
        try visitor.instant("original_purchase_date", &originalPurchaseDate)
        try visitor.instant("preorder_date", &preorderDate)
        try visitor.instant("expiration_date", &expirationDate)
        try visitor.objects("in_app", &inApp)
    }
}
