import TillAppStore
import TillBilling

/// The configuration of an emulated App Store. Every setting has a default that suits a first try.
public struct EmulatorConfiguration: Sendable {
    /// The environment that the store signs into its payloads. One emulator serves one environment.
    public var environment = StoreEnvironment.sandbox
    /// Which of Apple's two hosts `/verifyReceipt` plays: a receipt of the other environment gets 21007 or 21008. Nil:
    /// the environment's own host. `/production/verifyReceipt` and `/sandbox/verifyReceipt` are always served.
    public var verifyReceiptFace: StoreEnvironment?
    /// The storefront of new accounts, ISO 3166-1 alpha-3.
    public var storefront = "CHN"
    /// The app of `GET /emulator/api-key` and of the sample catalogue. Other bundle ids work too.
    public var app = EmulatedApp(bundleID: "com.example.learnpoints")
    /// The products of a new store. Nil: the sample catalogue.
    public var products: [StoreProduct]?
    /// The app-specific shared secret of `/verifyReceipt`. With neither secret set, none is required.
    public var sharedSecret: String?
    /// The account's primary secret. It works only while the app has no secret of its own (facts/verify-receipt §2).
    public var primarySecret: String?
    /// Milliseconds between one failed delivery of a notification and the next attempt. Nil: Apple's schedule, which is
    /// no retry in sandbox and 1, 12, 24, 48 and 72 hours in production (facts/notifications §2).
    public var notificationRetries: [Int64]?
    /// When more notifications than this are waiting, further ones are recorded and never sent.
    public var notificationLimit: Int64 = 100_000
    /// The rate limits of the App Store Server API. Nil: Apple's (facts/server-api §7).
    public var rateLimits: RequestQuotas?
    /// How fast subscriptions run in a new store; the control API or a product file sets another pace.
    public var renewalPace = RenewalPace.real
    /// The grace period when a renewal can't be charged, until the control API sets another; nil: the service stops.
    public var billingGracePeriod: BillingGracePeriod?
    /// PEM private keys by name (`root`, `intermediate`, `signer`, `receiptIntermediate`, `receiptSigner`,
    /// `purchaseSigner`, `apiKey`) for a new store whose keys must be reproducible. Missing ones are generated.
    public var keys: [String: String] = [:]
    /// DER certificates of these keys by name. A store that has them all issues none.
    public var certificates: [String: [UInt8]] = [:]

    public init() {}

    var retries: [Int64] {
        let hour: Int64 = 3_600_000
        let apple = environment == .sandbox ? [] : [hour, 12 * hour, 24 * hour, 48 * hour, 72 * hour]
        return notificationRetries ?? apple
    }

    /// The app with a bundle id; numbers and versions are the configured app's.
    func app(_ bundleID: String) -> EmulatedApp {
        var app = app
        app.bundleID = bundleID
        return app
    }
}
