import TillBilling
import TillJSON

/// The `receipt` object of an app receipt (facts/verify-receipt §5).
public struct AnsweredReceipt: Sendable, Equatable {
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

    init(_ object: [String: JSONValue]) throws(UnusableAnswer) {
        var members = AnswerMembers(object)
        receiptType = try members.text("receipt_type")
        adamID = try members.number("adam_id")
        appItemID = try members.number("app_item_id")
        bundleID = try members.text("bundle_id")
        applicationVersion = try members.text("application_version")
        originalApplicationVersion = try members.text("original_application_version")
        downloadID = try members.number("download_id")
        versionExternalIdentifier = try members.number("version_external_identifier")
        creationDate = try members.instant("receipt_creation_date")
        requestDate = try members.instant("request_date")
        originalPurchaseDate = try members.instant("original_purchase_date")
        preorderDate = try members.instant("preorder_date")
        expirationDate = try members.instant("expiration_date")
        inApp = try members.objects("in_app")?.map(AnsweredPurchase.init)
        other = members.rest
    }

    var json: JSONValue {
        var members = other
        members.putText("receipt_type", receiptType)
        members.putNumber("adam_id", adamID)
        members.putNumber("app_item_id", appItemID)
        members.putText("bundle_id", bundleID)
        members.putText("application_version", applicationVersion)
        members.putText("original_application_version", originalApplicationVersion)
        members.putNumber("download_id", downloadID)
        members.putNumber("version_external_identifier", versionExternalIdentifier)
        members.putInstant("receipt_creation_date", creationDate)
        members.putInstant("request_date", requestDate)
        members.putInstant("original_purchase_date", originalPurchaseDate)
        members.putInstant("preorder_date", preorderDate)
        members.putInstant("expiration_date", expirationDate)
        if let inApp { members["in_app"] = .array(inApp.map(\.json)) }
        return .object(members)
    }
}
