import TillAppStore
import TillBilling
import TillSQL
import TillThreads

/// The database with the code that reads and writes purchases in it. It does not depend on HTTP; a server, a job or a
/// test holds one value of it.
public struct Ledger: Sendable {
    /// The current time of this ledger.
    public typealias Clock = @Sendable () -> Instant
    /// Returns the requested number of unpredictable bytes.
    public typealias Entropy = @Sendable (Int) -> [UInt8]

    package private(set) var settings: LedgerSettings
    package private(set) var database: any Database
    package let clock: Clock
    /// For rate limits and what meets clocks outside: user tokens, sessions, signatures of webhooks. It differs from
    /// `clock` only beside an emulated store whose clock was advanced.
    package let machineClock: Clock
    package let entropy: Entropy
    /// Where log lines go.
    package let log: Log
    package private(set) var catalogs: CatalogHistory
    package let verifier: ProofVerifier
    /// The single entry point for purchases.
    package private(set) var intake: PurchaseIntake
    /// Apple's API for reading and for tasks; nil without an In-App Purchase Key.
    package let serverAPI: ServerAPI?
    package let dryRuns = DryRunQueue()
    /// How many customers this process erased: what is cached about customers is then read again.
    package let erasedCustomers = Locked<Int>(0)
    let proofHeaders: KnownProofHeaders

    /// - Parameters:
    ///   - log: takes the lines about purchases, jobs and requests to Apple; by default it drops them.
    ///   - machineClock: the time of this machine, where `clock` is an emulated store's; nil: `clock`.
    ///   - refusedProof: is told the code of every proof that fails verification.
    ///   - appleEffects: used to check whether Apple's certificates were revoked; nil skips the check.
    ///   - serverAPI: used to read purchases from Apple; nil without an In-App Purchase Key.
    ///   - verifyReceipt: asks Apple about receipts if `serverAPI` is nil; nil without a shared secret.
    /// - Throws: `bad_root` if a configured root certificate can't be read.
    package init(
        settings: LedgerSettings, database: any Database, clock: @escaping Clock, machineClock: Clock? = nil,
        entropy: @escaping Entropy, log: Log = .none, refusedProof: @escaping @Sendable (Refusal) -> Void = { _ in },
        appleEffects: AppleEffects? = nil, serverAPI: ServerAPI? = nil, verifyReceipt: VerifyReceiptClient? = nil
    ) throws(VerificationError) {
        self.settings = settings
        self.database = database
        self.clock = clock
        self.machineClock = machineClock ?? clock
        self.entropy = entropy
        self.log = log
        self.serverAPI = serverAPI
        if let key = settings.sealKey { database.markCommits(key.commitMark) }
        verifier = try ProofVerifier(trust: settings.apple, clock: clock, effects: appleEffects, refused: refusedProof)
        catalogs = CatalogHistory(settings.catalog, since: clock())
        proofHeaders = KnownProofHeaders(of: database)
        let terms = PurchaseTerms(
            settings: settings, catalogs: catalogs, asksApple: serverAPI != nil, proofHeaders: proofHeaders)
        let processor = PurchaseProcessor(
            database: database, clock: clock, entropy: entropy, log: log, terms: terms)
        let byAPI = serverAPI.map { [verifier] in
            SignedTransactionLookup($0, verifier: verifier, sharing: SharedLookups(clock: machineClock ?? clock))
        }
        intake = PurchaseIntake(
            processor: processor, machineClock: self.machineClock, verifier: verifier,
            lookup: byAPI ?? verifyReceipt.map { SignedTransactionLookup($0, clock: clock) })
    }

    /// The same ledger under other settings: database, verifier, limits and dry runs are shared. Work that has begun
    /// continues under the settings it began with. What Apple's proofs must satisfy does not change.
    package func with(_ changed: LedgerSettings) -> Ledger {
        var ledger = self
        ledger.settings = changed
        ledger.settings.apple = settings.apple
        if !catalogs.isOf(changed.catalog) { ledger.catalogs = CatalogHistory(changed.catalog, since: clock()) }
        let terms = PurchaseTerms(
            settings: ledger.settings, catalogs: ledger.catalogs, asksApple: serverAPI != nil,
            proofHeaders: proofHeaders)
        ledger.intake = intake.with(terms)
        return ledger
    }

    /// The same ledger through another database value, such as one whose writes need a lease.
    package func with(_ database: any Database) -> Ledger {
        var ledger = self
        ledger.database = database
        ledger.intake = intake.with(database)
        return ledger
    }

    /// The customers' reminders, for use inside a write.
    package func reminders(_ connection: any Connection) -> Reminders {
        Reminders(connection: connection, catalogs: catalogs, policy: settings.reminders)
    }
}

/// The terms under which purchases are processed. A class: each step of a purchase refers to them.
final class PurchaseTerms: Sendable {
    let settings: LedgerSettings
    let catalogs: CatalogHistory
    /// The policy for tasks for Apple; nil without an In-App Purchase Key.
    let tasks: AppleTasks.Policy?
    let proofHeaders: KnownProofHeaders

    init(settings: LedgerSettings, catalogs: CatalogHistory, asksApple: Bool, proofHeaders: KnownProofHeaders) {
        self.proofHeaders = proofHeaders
        self.settings = settings
        self.catalogs = catalogs
        tasks = asksApple ? AppleTasks.Policy(finishAfter: settings.delivery.finishAfter) : nil
    }
}

/// The settings that a ledger needs. The caller reads them from its own source.
public struct LedgerSettings: Sendable {
    public var catalog: Catalog
    public var apple: AppleTrust
    /// What happens to points that were spent before Apple revoked their purchase.
    public var debt = DebtPolicy.owe
    /// How many refunds of one customer `forgive` writes off in 365 days; further ones are owed.
    public var forgivenPerYear = 1
    /// The configured part of the answers to Apple's refund requests.
    public var consumption = ConsumptionSettings()
    /// What happens when a customer restores another customer's purchase.
    public var restore = RestoreTerms()
    /// Which users are guests, and for how long a merge into an account can be undone.
    public var guests = GuestTerms()
    /// What happens to receipts whose signed copies cannot be requested from Apple.
    public var receipts = ReceiptTerms()
    /// When customers are reminded of an end of service.
    public var reminders = ReminderPolicy.standard
    /// The order of granting and finishing.
    public var delivery = DeliveryTerms()
    /// When reconciliations run and how much they read.
    public var reconciliation = ReconciliationSettings()
    /// How customers are erased; nil refuses to.
    public var erasure: ErasureTerms?
    /// The key of the ledger's seals; nil seals nothing.
    public var sealKey: SealKey?

    public init(catalog: Catalog, apple: AppleTrust) {
        self.catalog = catalog
        self.apple = apple
    }

    /// The environment of wallets and orders when a caller names none: production, unless only sandbox is accepted, or
    /// Xcode's local tests.
    public var usualEnvironment: StoreEnvironment {
        apple.environments.contains(.production) ? .production : apple.acceptsXcode ? .xcode : .sandbox
    }
}

/// The accepted signers, app and environments.
public struct AppleTrust: Sendable {
    /// Root certificates, DER. Apple's own if empty.
    public var roots: [[UInt8]]
    public var bundleID: String
    /// The certificates by which Xcode signs local tests, DER: the only signers of a server that accepts `xcode`.
    public var testCertificates: [[UInt8]] = []
    /// The app's number in the App Store; required for production.
    public var appAppleID: Int64?
    public var environments: Set<StoreEnvironment>
    /// Whether the revocation of Apple's certificates is checked; effective only if `appleEffects` are given.
    public var revocation: RevocationPolicy
    /// Whether the server is a developer's own, for purchases in Xcode, where nothing is paid.
    public var acceptsXcode: Bool { environments.contains(.xcode) }
    /// The app's shared secret, which requests to `/verifyReceipt` about subscriptions must carry. Nil: not required.
    /// Without an In-App Purchase key, the server sends it to Apple's verifyReceipt.
    public var sharedSecret: String?
    /// Milliseconds for which a verified signer chain is cached; nil: the default of `TrustPolicy`.
    public var chainLifetime: Int64?

    public init(
        roots: [[UInt8]] = [], bundleID: String, appAppleID: Int64?, environments: Set<StoreEnvironment>,
        revocation: RevocationPolicy = .off
    ) {
        self.roots = roots
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environments = environments
        self.revocation = revocation
    }
}
