import TillAppStore
import TillBilling
import TillCrypto

/// What Apple says of a customer's download of an app: the AppTransaction payload (facts/jws §6).
public struct AppTransactionContent: Sendable {
    public var download: AppDownload
    public var app: EmulatedApp
    public var environment: Environment
    /// The device that asks, if one does, and a nonce of this one answer.
    public var device: (id: UniqueID, nonce: UniqueID)?

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
        if let device {
            members["deviceVerification"] = .string(Self.verification(device.id, device.nonce))
            members["deviceVerificationNonce"] = .string(device.nonce.description)
        }
        return members
    }

    /// SHA-384 over both texts in lower case, the nonce first (facts/jws §2).
    static func verification(_ device: UniqueID, _ nonce: UniqueID) -> String {
        Base64.encode(Digest.sha384.hash((nonce.description + device.description).utf8))
    }
}

extension Issuer {
    /// JWS of an AppTransaction, whose `receiptCreationDate` is `now`.
    public func signedAppTransaction(_ content: AppTransactionContent, at now: Instant) throws -> String {
        try sign(content.members(signed: now))
    }
}
