import TillBilling
import TillJSON

/// The payload of an AppTransaction (facts/jws §6): one customer's download of the app.
public struct AppTransactionPayload: Equatable, Sendable, WrittenPayload {
    let source: JSONObject?
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
    /// Only in what Xcode makes, by its name the moment it was asked for.
    public let requestDate: Instant?

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
        requestDate = try json.instant("requestDate")
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("receiptType", receiptType)
        members.add("appAppleId", appAppleID)
        members.add("bundleId", bundleID)
        members.add("applicationVersion", applicationVersion)
        members.add("originalApplicationVersion", originalApplicationVersion)
        members.add("versionExternalIdentifier", versionExternalIdentifier)
        members.add("receiptCreationDate", receiptCreationDate)
        members.add("originalPurchaseDate", originalPurchaseDate)
        members.add("preorderDate", preorderDate)
        members.add("deviceVerification", deviceVerification)
        members.add("deviceVerificationNonce", deviceVerificationNonce)
        members.add("appTransactionId", appTransactionID)
        members.add("originalPlatform", originalPlatform)
        members.add("signedDate", signedDate)
        members.add("requestDate", requestDate)
        return members
    }
}
