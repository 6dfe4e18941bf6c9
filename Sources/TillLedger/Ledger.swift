import TillAppStore
import TillBilling
import TillSQL

/// The books: the database with everything that reads and writes purchases in it. It knows no HTTP; a server, a job
/// and a test hold one value of it.
public struct Ledger: Sendable {
    /// The time now, as this ledger sees it.
    public typealias Clock = @Sendable () -> Instant
    /// As many unpredictable bytes as asked for.
    public typealias Entropy = @Sendable (Int) -> [UInt8]

    package let settings: LedgerSettings
    package let database: any Database
    package let clock: Clock
    package let entropy: Entropy
    package let catalogs: CatalogHistory
    package let verifier: ProofVerifier
    /// The one entrance for purchases.
    package let intake: PurchaseIntake
    /// What Apple is asked and told through; nil without an In-App Purchase key.
    package let serverAPI: ServerAPI?
    package let dryRuns = DryRunQueue()

    /// - Parameters:
    ///   - appleEffects: what Apple is asked about its certificates through; nil asks nothing.
    ///   - serverAPI: what Apple is asked about purchases through; nil without an In-App Purchase key.
    /// - Throws: `bad_root` if a configured root certificate can't be read.
    package init(
        settings: LedgerSettings, database: any Database, clock: @escaping Clock, entropy: @escaping Entropy,
        appleEffects: AppleEffects? = nil, serverAPI: ServerAPI? = nil
    ) throws(VerificationFailure) {
        self.settings = settings
        self.database = database
        self.clock = clock
        self.entropy = entropy
        self.serverAPI = serverAPI
        verifier = try ProofVerifier(trust: settings.apple, clock: clock, effects: appleEffects)
        catalogs = CatalogHistory(settings.catalog, since: clock())
        let terms = PurchaseTerms(
            settings: settings, catalogs: catalogs,
            tasks: serverAPI.map { _ in AppleTasks.Policy(finishAfter: settings.delivery.finishAfter) })
        let processor = PurchaseProcessor(database: database, clock: clock, entropy: entropy, terms: terms)
        intake = PurchaseIntake(
            processor: processor, verifier: verifier,
            lookup: serverAPI.map { [verifier] in
                SignedTransactionLookup($0, verifier: verifier, sharing: SharedQuestions(clock: clock))
            })
    }

    /// A customer's reminders before an open ledger.
    package func reminders(_ connection: any Connection) -> Reminders {
        Reminders(connection: connection, catalogs: catalogs, policy: settings.reminders)
    }
}

/// The terms under which purchases are processed.
struct PurchaseTerms: Sendable {
    let settings: LedgerSettings
    let catalogs: CatalogHistory
    /// What Apple is told by ourselves; nil where there is no key to tell it with.
    let tasks: AppleTasks.Policy?
}

/// What the books have to be told before they open. Where it comes from is the caller's business.
public struct LedgerSettings: Sendable {
    public var catalog: Catalog
    public var apple: AppleTrust
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
    /// When customers are reminded of what ends.
    public var reminders = ReminderPolicy.standard
    /// In which order purchases are delivered.
    public var delivery = DeliveryTerms()
    /// When and how much is compared with Apple's books.
    public var reconciliation = ReconciliationSettings()

    public init(catalog: Catalog, apple: AppleTrust) {
        self.catalog = catalog
        self.apple = apple
    }

    /// The environment whose wallets and orders are meant when a caller names none: production, unless only sandbox
    /// counts.
    public var usualEnvironment: Environment {
        apple.environments.contains(.production) ? .production : .sandbox
    }
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
