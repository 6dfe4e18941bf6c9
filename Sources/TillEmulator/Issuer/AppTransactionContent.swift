import TillAppStore
import TillBilling

extension Issuer {
    /// The app transaction of a download, as Apple would sign it now (facts/jws §6).
    func signedAppTransaction(
        _ download: AppDownload, configuration: EmulatorConfiguration, at now: Instant
    ) throws -> String {
        try sign(["bundleId": .string(download.bundleID), "signedDate": .int(now.milliseconds)])
    }
}
