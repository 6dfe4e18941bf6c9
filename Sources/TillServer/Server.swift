import TillAppStore
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

/// The purchase backend: verifies and processes purchases, and answers requests. Sockets, threads and the clock are
/// passed in, so that the same server runs behind a listener, in a test and in the simulation.
///
/// A class, because every request passes it on several times, and it has three thousand bytes of references.
public final class Server: Sendable {
    public typealias Clock = Ledger.Clock
    public typealias Entropy = Ledger.Entropy

    public let configuration: ServerConfiguration
    /// The ledger: tables, intake, wallet, outbox and tasks for Apple.
    public let ledger: Ledger
    /// Sends the events of the outbox; nil sends none, regardless of the configuration.
    let webhookSend: HTTPSend?
    let authentication: Authentication
    let idempotency: Idempotency
    let recordedCustomers: RecordedCustomers
    let operators: OperatorAuthentication
    let receiptResponses: ReceiptResponses
    let heavy: HeavyWorkLimiter
    /// The purchases that are verified and committed at the same time. The others wait as requests, which takes less
    /// memory.
    let purchases: TaskLimit
    /// Twice what a commit of the ledger takes, so that the next one fills meanwhile.
    static let purchasesAtOnce = 128
    let unknownSigners: UnknownSigners
    let readiness: ReadinessCheck
    let limiter: RequestLimiter
    /// The sizes of the tables that callers without a purchase add to.
    let unpaidRows: UnpaidRows
    /// Whether the server is about to stop.
    public let drain: DrainState
    /// Limits new notifications for other apps from one network. Apple resends a refused notification later.
    let foreignRateLimit: SourceRateLimit
    let anonymousBodies: Quota
    /// Limits the offers that one user has signed: every attempt to buy needs one.
    let offerRateLimit: SourceRateLimit
    let reportLimiter: ReportLimiter
    let jobHistory: JobHistory
    /// When each key was last accepted.
    public let keyUses: KeyUses
    private let startedAt: Instant
    /// When the configuration last changed without a restart; nil before the first change.
    let changedAt: Instant?
    let walletCheck: WalletCheck
    let proofCompression: ProofCompressionJob
    let sealing: SealJob
    let jobLease: JobLease
    let monitoring: Monitoring
    let requestFigures: RequestFigures
    let scrapes: BoundedWork

    /// - Parameters:
    ///   - clock: the time of purchases; beside an emulated store, the store's.
    ///   - machineClock: the time of this machine, for rate limits, logins, user tokens and signatures of webhooks;
    ///     nil: `clock`.
    ///   - log: takes the server's log lines; by default it drops them.
    ///   - appleEffects: asks Apple about its certificates; nil asks nothing, regardless of the configuration.
    ///   - serverAPI: asks Apple about purchases; nil without an In-App Purchase key.
    ///   - verifyReceipt: asks Apple about receipts if `serverAPI` is nil; nil without a shared secret.
    ///   - webhookSend: sends events. The sender refuses addresses (`AddressRule`), follows no redirect, and bounds the
    ///     time and the size of the answer. Nil sends none.
    ///   - monitoring: what the metrics are made of besides the server itself.
    ///   - heavyWork: the executors for long computations; by default they run where their callers run.
    /// - Throws: `bad_root` if a configured root certificate can't be read.
    public init(
        configuration: ServerConfiguration, database: any Database, clock: @escaping Clock, machineClock: Clock? = nil,
        entropy: @escaping Entropy, log: Log = .none, appleEffects: AppleEffects? = nil, serverAPI: ServerAPI? = nil,
        verifyReceipt: VerifyReceiptClient? = nil, webhookSend: HTTPSend? = nil,
        monitoring: Monitoring = Monitoring(), heavyWork: HeavyWork = HeavyWork()
    ) throws(VerificationError) {
        let (requestFigures, keyUses) = (RequestFigures(), KeyUses())
        let ledger = try Ledger(
            settings: configuration.ledger, database: database, clock: clock, machineClock: machineClock,
            entropy: entropy, log: log, refusedProof: requestFigures.failedVerification, appleEffects: appleEffects,
            serverAPI: serverAPI, verifyReceipt: verifyReceipt)
        let machineClock = ledger.machineClock
        self.configuration = configuration
        self.ledger = ledger
        self.webhookSend = webhookSend
        self.monitoring = monitoring
        self.requestFigures = requestFigures
        self.keyUses = keyUses
        startedAt = clock()
        changedAt = nil
        receiptResponses = try ReceiptResponses(trust: configuration.apple, clock: clock)
        authentication = Authentication(configuration: configuration, clock: machineClock, uses: keyUses)
        operators = OperatorAuthentication(
            configuration: configuration, clock: machineClock, entropy: entropy, log: log, uses: keyUses,
            isShared: database.isShared)
        idempotency = Idempotency(
            ledger: ledger, usualEnvironment: configuration.usualEnvironment, clock: machineClock)
        limiter = RequestLimiter(configuration.limits, clock: machineClock, log: log)
        heavy = HeavyWorkLimiter(heavyWork, log: log)
        purchases = TaskLimit(Self.purchasesAtOnce)
        recordedCustomers = RecordedCustomers()
        unknownSigners = UnknownSigners()
        readiness = ReadinessCheck()
        unpaidRows = UnpaidRows()
        drain = DrainState()
        foreignRateLimit = SourceRateLimit(RateLimit(burst: 60, interval: 1_000))
        anonymousBodies = Quota(Server.anonymousBodyLimits)
        offerRateLimit = SourceRateLimit(RateLimit(burst: 30, interval: 30_000))
        reportLimiter = ReportLimiter()
        jobHistory = JobHistory()
        walletCheck = WalletCheck()
        proofCompression = ProofCompressionJob()
        sealing = SealJob()
        jobLease = JobLease()
        scrapes = BoundedWork(limit: 4)
    }

    /// What differs between two values of one server.
    private struct Changes {
        var configuration: ServerConfiguration
        var ledger: Ledger
        var webhookSend: HTTPSend?
        var authentication: Authentication
        var operators: OperatorAuthentication
        var limiter: RequestLimiter
        var changedAt: Instant?

        init(_ server: Server) {
            configuration = server.configuration
            ledger = server.ledger
            webhookSend = server.webhookSend
            authentication = server.authentication
            operators = server.operators
            limiter = server.limiter
            changedAt = server.changedAt
        }
    }

    private init(_ server: Server, _ changes: Changes) {
        configuration = changes.configuration
        ledger = changes.ledger
        webhookSend = changes.webhookSend
        authentication = changes.authentication
        operators = changes.operators
        limiter = changes.limiter
        changedAt = changes.changedAt
        monitoring = server.monitoring
        requestFigures = server.requestFigures
        keyUses = server.keyUses
        startedAt = server.startedAt
        receiptResponses = server.receiptResponses
        idempotency = server.idempotency
        heavy = server.heavy
        purchases = server.purchases
        recordedCustomers = server.recordedCustomers
        unknownSigners = server.unknownSigners
        readiness = server.readiness
        unpaidRows = server.unpaidRows
        drain = server.drain
        foreignRateLimit = server.foreignRateLimit
        anonymousBodies = server.anonymousBodies
        offerRateLimit = server.offerRateLimit
        reportLimiter = server.reportLimiter
        jobHistory = server.jobHistory
        walletCheck = server.walletCheck
        proofCompression = server.proofCompression
        sealing = server.sealing
        jobLease = server.jobLease
        scrapes = server.scrapes
    }

    /// The same server under another configuration. Both share everything that outlives a change: the ledger's
    /// database, limits, idempotency keys in flight, sessions of operators who stay, and the history of jobs. What
    /// concerns Apple does not change: its environments, roots and keys.
    ///
    /// - Throws: `DatabaseError` if the new catalogue can't be recorded. Nothing has changed then.
    public func changed(to wanted: ServerConfiguration) async throws -> Server {
        // Recorded first, so that requests in flight know their own catalogue by its number.
        try await ledger.recordCatalog()
        var changes = Changes(self)
        changes.configuration = wanted
        changes.configuration.apple = configuration.apple
        changes.configuration.inAppPurchaseKey = configuration.inAppPurchaseKey
        changes.configuration.erasure = configuration.erasure
        changes.configuration.sealKey = configuration.sealKey
        changes.ledger = ledger.with(changes.configuration.ledger)
        try await changes.ledger.recordCatalog()
        // Endpoints that the last pass of deliveries did not see yet keep their start.
        try await WebhookDeliveries(self, startedAt: changedAt ?? startedAt)
            .register(moves: !database.isShared)
        changes.changedAt = clock()
        changes.authentication = Authentication(
            configuration: changes.configuration, clock: machineClock, uses: keyUses)
        if changes.configuration.limits != configuration.limits {
            changes.limiter = RequestLimiter(changes.configuration.limits, clock: machineClock, log: log)
        }
        changes.operators = operators.changed(to: changes.configuration)
        return Server(self, changes)
    }

    /// The same server through another database value.
    func with(_ database: any Database, webhookSend: HTTPSend?) -> Server {
        var changes = Changes(self)
        changes.ledger = ledger.with(database)
        changes.webhookSend = webhookSend
        return Server(self, changes)
    }

    public var database: any Database { ledger.database }
    /// Where log lines go.
    public var log: Log { ledger.log }
    var clock: Clock { ledger.clock }
    var machineClock: Clock { ledger.machineClock }
    var entropy: Entropy { ledger.entropy }
    var catalogs: CatalogHistory { ledger.catalogs }
    var verifier: ProofVerifier { ledger.verifier }

    /// Answers one request. Never throws: an error becomes a problem with a stable code.
    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        await router.respond(to: request)
    }
}
