import TillAppStore
import TillBilling
import TillCrypto

/// Everything a server is told before it starts. Where it comes from (file, environment, flags) is the caller's
/// business.
public struct ServerConfiguration: Sendable {
    public var catalog: Catalog
    public var apple: AppleTrust
    public var secretKeys: [SecretKey]
    public var userTokens: [UserTokenKey]
    /// Who may see the dashboard, each by an operator token.
    public var operators: [SecretKey]
    /// Names under which the dashboard may be asked for beside this machine's own (`127.0.0.1`, `localhost`, `[::1]`),
    /// each for any port: `till.example.com`.
    public var dashboardHosts: [String]
    /// App Review's users: they see their sandbox purchases without asking for them.
    public var reviewUsers: Set<UserID>
    /// Signs offers. Without one they can't be had.
    public var inAppPurchaseKey: InAppPurchaseKey?
    /// What becomes of points that were spent before Apple took their purchase back.
    public var debt = DebtPolicy.owe
    /// How many refunds of one customer `forgive` writes off in 365 days; those that follow are owed.
    public var forgivenPerYear = 1
    /// What Apple is told before it decides about a refund.
    public var consumption = ConsumptionSettings()
    /// What becomes of another customer's purchase when somebody restores it.
    public var restore = RestoreTerms()
    /// Who is a guest, and how long becoming part of an account can be undone.
    public var guests = GuestTerms()
    /// What becomes of receipts whose signed copies Apple can't be asked for.
    public var receipts = ReceiptTerms()
    /// What Apple agreed on with the developer, for settlement reports.
    public var developerTerms = DeveloperTerms()
    /// When customers are reminded of what ends.
    public var reminders = ReminderPolicy.standard
    /// Which ids apps may choose for their orders.
    public var orders = OrderSettings()
    /// In which order purchases are delivered.
    public var delivery = DeliveryTerms()
    /// When and how much is compared with Apple's books.
    public var reconciliation = ReconciliationSettings()
    /// Where events are pushed to.
    public var webhooks = WebhookSettings()

    public init(
        catalog: Catalog, apple: AppleTrust, secretKeys: [SecretKey], userTokens: [UserTokenKey] = [],
        operators: [SecretKey] = [], dashboardHosts: [String] = [], reviewUsers: Set<UserID> = [],
        inAppPurchaseKey: InAppPurchaseKey? = nil
    ) {
        self.catalog = catalog
        self.apple = apple
        self.secretKeys = secretKeys
        self.userTokens = userTokens
        self.operators = operators
        self.dashboardHosts = dashboardHosts
        self.reviewUsers = reviewUsers
        self.inAppPurchaseKey = inAppPurchaseKey
    }

    /// The environment whose wallets and orders are meant when nobody says: production, unless only sandbox counts.
    public var usualEnvironment: Environment {
        apple.environments.contains(.production) ? .production : .sandbox
    }
}

/// What becomes of debts, and for how often.
struct DebtTerms: Sendable {
    let policy: DebtPolicy
    let forgivenPerYear: Int
}

/// Which ids apps may choose for their orders, and how many they may open.
public struct OrderSettings: Sendable {
    /// Until then an app may open an order under an id that commits to no user. For shops that ran Till before ids were
    /// commitments, until their apps are updated.
    public var acceptUnprovenIDsUntil: Instant?

    public init(acceptUnprovenIDsUntil: Instant? = nil) { self.acceptUnprovenIDsUntil = acceptUnprovenIDsUntil }

    /// How many open orders a user may have who opens them with a user token. A backend is not bounded.
    public var maximumOpen = 500
    /// How many orders such a user may open in an hour.
    public var perHour = 120

    func acceptsUnprovenIDs(at now: Instant) -> Bool { acceptUnprovenIDsUntil.map { now < $0 } ?? false }
}

/// Whose signatures count, for which app, in which environments.
public struct AppleTrust: Sendable {
    /// Root certificates, DER. Apple's own if empty.
    public var roots: [[UInt8]]
    public var bundleID: String
    /// The app's number in the App Store; needed for production.
    public var appAppleID: Int64?
    public var environments: Set<Environment>
    /// Whether Apple is asked if its certificates were revoked; takes effect where there is somebody to ask through.
    public var revocation: RevocationPolicy
    /// The app's shared secret, which a question to `/verifyReceipt` about subscriptions has to carry. Nil: it is not
    /// asked for.
    public var sharedSecret: String?
    /// Milliseconds for which a signer's chain need not be judged again; nil: as long as `TrustPolicy` says.
    public var chainLifetime: Int64?

    public init(
        roots: [[UInt8]] = [], bundleID: String, appAppleID: Int64?, environments: Set<Environment>,
        revocation: RevocationPolicy = .off
    ) {
        self.roots = roots
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environments = environments
        self.revocation = revocation
    }
}

/// A secret that is known only by its hash.
public struct SecretKey: Sendable, Hashable {
    /// Its name in logs and evidence.
    public let id: String
    /// SHA-256 of the key's text.
    public let sha256: [UInt8]

    public init(id: String, sha256: [UInt8]) {
        self.id = id
        self.sha256 = sha256
    }
}

/// How an app's user tokens are checked. One algorithm for a key: a token can't choose.
public struct UserTokenKey: Sendable {
    public enum Algorithm: Sendable {
        /// A shared secret of at least 32 bytes.
        case hs256(secret: [UInt8])
        /// A public key on P-256.
        case es256(PublicKey)
    }

    /// Also the `kid` a token may name.
    public let id: String
    public let algorithm: Algorithm
    public let issuer: String?
    public let audience: String?
    /// Seconds from `iat` to `exp` at most; then `iat` is needed. Nil: as long as the token says.
    public let maximumLifetime: Int64?

    public init(
        id: String, algorithm: Algorithm, issuer: String? = nil, audience: String? = nil,
        maximumLifetime: Int64? = nil
    ) {
        self.id = id
        self.algorithm = algorithm
        self.issuer = issuer
        self.audience = audience
        self.maximumLifetime = maximumLifetime
    }
}
