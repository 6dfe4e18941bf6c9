import TillAppStore
import TillBilling
import TillCrypto
import TillLedger

/// The configuration of a server. The composition root reads it from files, the environment and flags. The ledger's
/// settings can be read as members: `configuration.catalog`.
@dynamicMemberLookup
public struct ServerConfiguration: Sendable {
    public var ledger: LedgerSettings
    public var secretKeys: [SecretKey]
    public var userTokens: [UserTokenKey]
    /// The operators who may open the dashboard, each with a token.
    public var operators: [SecretKey]
    /// Host names for the dashboard besides the local ones (`127.0.0.1`, `localhost`, `[::1]`), each for any port:
    /// `till.example.com`.
    public var dashboardHosts: [String]
    /// App Review's users: for them the default environment is the sandbox.
    public var reviewUsers: Set<UserID>
    /// Signs offers. Without a key, offers are unavailable.
    public var inAppPurchaseKey: InAppPurchaseKey?
    /// The developer's agreement with Apple, for settlement reports.
    public var developerTerms = DeveloperTerms()
    /// The ids that apps may choose for their orders.
    public var orders = OrderSettings()
    /// The endpoints that receive events.
    public var webhooks = WebhookSettings()
    /// The program's version, which `till doctor` compares with its own.
    public var version = ""

    public init(
        catalog: Catalog, apple: AppleTrust, secretKeys: [SecretKey], userTokens: [UserTokenKey] = [],
        operators: [SecretKey] = [], dashboardHosts: [String] = [], reviewUsers: Set<UserID> = [],
        inAppPurchaseKey: InAppPurchaseKey? = nil
    ) {
        ledger = LedgerSettings(catalog: catalog, apple: apple)
        self.secretKeys = secretKeys
        self.userTokens = userTokens
        self.operators = operators
        self.dashboardHosts = dashboardHosts
        self.reviewUsers = reviewUsers
        self.inAppPurchaseKey = inAppPurchaseKey
    }

    public subscript<Value>(dynamicMember setting: WritableKeyPath<LedgerSettings, Value>) -> Value {
        get { ledger[keyPath: setting] }
        set { ledger[keyPath: setting] = newValue }
    }

    public subscript<Value>(dynamicMember setting: KeyPath<LedgerSettings, Value>) -> Value {
        ledger[keyPath: setting]
    }
}

/// The ids that apps may choose for their orders, and the limits for open orders.
public struct OrderSettings: Sendable {
    /// Until this instant an app may open an order under an id that commits to no user. For shops that ran Till before
    /// ids were commitments, until their apps are updated.
    public var acceptUnprovenIDsUntil: Instant?

    public init(acceptUnprovenIDsUntil: Instant? = nil) { self.acceptUnprovenIDsUntil = acceptUnprovenIDsUntil }

    /// Maximum number of open orders for a user who opens them with a user token. Backends are not limited.
    public var maximumOpen = 500
    /// Maximum number of orders that such a user may open per hour.
    public var perHour = 120

    func acceptsUnprovenIDs(at now: Instant) -> Bool { acceptUnprovenIDsUntil.map { now < $0 } ?? false }
}

/// A secret that the configuration holds only as a hash.
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

/// How an app's user tokens are verified. Each key has one algorithm, so a token can't choose it.
public struct UserTokenKey: Sendable {
    public enum Algorithm: Sendable {
        /// A shared secret of at least 32 bytes.
        case hs256(secret: [UInt8])
        /// A public key on P-256.
        case es256(PublicKey)
    }

    /// Also the `kid` that a token may name.
    public let id: String
    public let algorithm: Algorithm
    public let issuer: String?
    public let audience: String?
    /// Maximum seconds from `iat` to `exp`; a token then needs `iat`. Nil sets no limit.
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
