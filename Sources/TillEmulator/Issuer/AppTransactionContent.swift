import TillBilling
import TillJSON

/// What Apple says of a customer's download of an app: the AppTransaction payload (facts/jws §6).
public struct AppTransactionContent: Sendable {
    public var download: AppDownload
    public var app: EmulatedApp
    public var environment: Environment
    /// For the device that asks, if one does.
    var proof: DeviceProof?

    public init(download: AppDownload, app: EmulatedApp, environment: Environment) {
        self.download = download
        self.app = app
        self.environment = environment
    }

    func members(signed now: Instant) -> [String: JSONValue] {
        let isProduction = environment == .production
        // Every sandbox account got every app at one moment, in version 1.0, as its receipts say.
        let bought = isProduction ? download.downloaded : EmulatedApp.sandboxFirstPurchase
        var members: [String: JSONValue] = [
            "receiptType": .string(environment.rawValue),
            "bundleId": .string(download.bundleID),
            "applicationVersion": .string(app.version),
            "originalApplicationVersion": .string(
                isProduction ? download.originalVersion ?? app.originalVersion : "1.0"),
            "receiptCreationDate": .int(now.milliseconds),
            "originalPurchaseDate": .int(bought.milliseconds),
            "appTransactionId": .string(String(download.appTransaction)),
            "originalPlatform": .string(download.platform),
        ]
        if isProduction {
            members["appAppleId"] = .int(app.appleID)
            members["versionExternalIdentifier"] = .int(app.versionID)
        }
        members["preorderDate"] = download.preordered.map { .int($0.milliseconds) }
        if let proof { members.merge(proof.members) { _, new in new } }
        return members
    }
}

extension Issuer {
    /// JWS of an AppTransaction, whose `receiptCreationDate` is `now`.
    public func signedAppTransaction(_ content: AppTransactionContent, at now: Instant) throws -> String {
        try sign(content.members(signed: now))
    }
}
