import TillBilling

/// Where Apple's services are asked, for each environment. URLs without a final `/`.
public struct AppleHosts: Sendable, Hashable {
    /// What the paths `/inApps/v1/…` and `/inApps/v2/…` are put behind.
    public let serverAPI: [Environment: String]
    /// The whole URL of verifyReceipt.
    public let verifyReceipt: [Environment: String]

    init(serverAPI: [Environment: String], verifyReceipt: [Environment: String]) {
        self.serverAPI = serverAPI
        self.verifyReceipt = verifyReceipt
    }

    /// Apple's (facts/server-api §1, facts/verify-receipt §1): the API's names since May 2026.
    public static let apple = AppleHosts(
        serverAPI: [
            .production: "https://api.storekit.apple.com", .sandbox: "https://api.storekit-sandbox.apple.com",
        ],
        verifyReceipt: [
            .production: "https://buy.itunes.apple.com/verifyReceipt",
            .sandbox: "https://sandbox.itunes.apple.com/verifyReceipt",
        ])

    /// An emulated App Store: one origin (`http://127.0.0.1:8788`) that plays both environments.
    public static func emulator(at origin: String) -> AppleHosts {
        AppleHosts(
            serverAPI: [.production: origin, .sandbox: origin],
            verifyReceipt: [
                .production: origin + "/production/verifyReceipt", .sandbox: origin + "/sandbox/verifyReceipt",
            ])
    }
}
