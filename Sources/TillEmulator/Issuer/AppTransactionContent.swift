import TillAppStore
import TillBilling

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

    func payload(signed now: Instant) -> AppTransactionPayload {
        let isProduction = environment == .production
        var payload = AppTransactionPayload()
        payload.receiptType = environment.rawValue
        payload.bundleID = download.bundleID
        payload.applicationVersion = app.version
        payload.originalApplicationVersion = isProduction ? download.originalVersion ?? app.originalVersion : "1.0"
        payload.receiptCreationDate = now
        // Every sandbox account got every app at one moment, in version 1.0, as its receipts say.
        payload.originalPurchaseDate = isProduction ? download.downloaded : EmulatedApp.sandboxFirstPurchase
        payload.preorderDate = download.preordered
        payload.appTransactionID = String(download.appTransaction)
        payload.originalPlatform = Platform(rawValue: download.platform)
        if isProduction {
            payload.appAppleID = app.appleID
            payload.versionExternalIdentifier = app.versionID
        }
        return payload
    }
}

extension Issuer {
    /// JWS of an AppTransaction, whose `receiptCreationDate` is `now`.
    public func signedAppTransaction(_ content: AppTransactionContent, at now: Instant) throws -> String {
        try sign(content.payload(signed: now), for: content.proof)
    }
}
