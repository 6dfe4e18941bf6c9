import TillAppStore
import TillBilling

/// How an emulated App Store is set up. Everything has a value that suits a first try.
public struct EmulatorConfiguration: Sendable {
    /// What the store signs into its payloads. One emulator is one environment.
    public var environment = Environment.sandbox
    /// Which of Apple's two hosts `/verifyReceipt` plays: a proof of the other environment gets 21007 or 21008. Nil:
    /// the environment's own. `/production/verifyReceipt` and `/sandbox/verifyReceipt` are there beside it.
    public var verifyReceiptFace: Environment?
    /// Where accounts are opened, ISO 3166-1 alpha-3.
    public var storefront = "CHN"
    /// The app behind `GET /emulator/api-key` and the sample catalogue; other bundle ids may be used all the same.
    public var app = EmulatedApp(bundleID: "com.example.learnpoints")
    /// What a new store sells. Nil: the sample catalogue.
    public var products: [StoreProduct]?
    /// The app's own secret of `/verifyReceipt`. With neither secret none is asked for.
    public var sharedSecret: String?
    /// The account's secret, which works as long as the app has none of its own (facts/verify-receipt §2).
    public var primarySecret: String?
    /// Milliseconds between one failed attempt to deliver a notification and the next. Nil: Apple's, which is no
    /// second attempt in sandbox and 1, 12, 24, 48 and 72 hours in production (facts/notifications §2).
    public var notificationRetries: [Int64]?
    /// More notifications waiting than this, and the next ones are recorded but never sent.
    public var notificationLimit: Int64 = 100_000
    /// How often the App Store Server API may be asked. Nil: as often as Apple's (facts/server-api §7).
    public var rateLimits: RequestQuotas?
    /// How fast subscriptions run in a new store, until it is told otherwise.
    public var renewalPace = RenewalPace.real
    /// What subscribers have when a renewal can't be charged, until the store is told otherwise; nil: the service
    /// stops.
    public var billingGracePeriod: BillingGracePeriod?
    /// PEM private keys by name (`root`, `intermediate`, `signer`, `receiptIntermediate`, `receiptSigner`,
    /// `purchaseSigner`, `apiKey`)
    /// for a new store whose keys must be the same every time. Missing ones are generated.
    public var keys: [String: String] = [:]

    public init() {}

    var retries: [Int64] {
        let hour: Int64 = 3_600_000
        let apple = environment == .sandbox ? [] : [hour, 12 * hour, 24 * hour, 48 * hour, 72 * hour]
        return notificationRetries ?? apple
    }

    /// The app of a bundle id: numbers and versions are the configured app's.
    func app(_ bundleID: String) -> EmulatedApp {
        var app = app
        app.bundleID = bundleID
        return app
    }
}
