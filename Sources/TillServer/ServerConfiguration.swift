import TillAppStore
import TillBilling
import TillCrypto
import TillLedger

/// Everything a server is told before it starts. Where it comes from (file, environment, flags) is the caller's
/// business. The ledger's settings read as members of it: `configuration.catalog`.
@dynamicMemberLookup
public struct ServerConfiguration: Sendable {
    public var ledger: LedgerSettings
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
    /// What Apple agreed on with the developer, for settlement reports.
    public var developerTerms = DeveloperTerms()
    /// Which ids apps may choose for their orders.
    public var orders = OrderSettings()
    /// Where events are pushed to.
    public var webhooks = WebhookSettings()

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
