import TillAppStore
import TillBilling

extension Issuer {
    /// The app transaction of a download, as Apple would sign it now (facts/jws §6).
    func signedAppTransaction(
        _ download: AppDownload, configuration: EmulatorConfiguration, at now: Instant
    ) throws -> String {
        let app = configuration.app(download.bundleID)
        return try sign([
            "receiptType": .string(configuration.environment.rawValue), "bundleId": .string(download.bundleID),
            "appAppleId": .int(app.appleID), "applicationVersion": .string(app.version),
            "originalApplicationVersion": .string(download.originalVersion ?? app.version),
            "originalPurchaseDate": .int(download.downloaded.milliseconds),
            "receiptCreationDate": .int(now.milliseconds),
            "appTransactionId": .string(String(download.appTransaction)),
            "originalPlatform": .string(download.platform),
        ])
    }
}
