import TillAppStore
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

/// The purchase backend: verifies and processes purchases, and answers requests. Sockets, threads and the clock are
/// passed in, so that the same server runs behind a listener, in a test and in the simulation.
public struct Server: Sendable {
    public typealias Clock = Ledger.Clock
    public typealias Entropy = Ledger.Entropy

    public private(set) var configuration: ServerConfiguration
    /// The ledger: tables, intake, wallet, outbox and tasks for Apple.
    public private(set) var ledger: Ledger
    /// Sends the events of the outbox; nil sends none, regardless of the configuration.
    private(set) var webhookSend: HTTPSend?
    private(set) var authentication: Authentication
    let idempotency: Idempotency
    let recordedCustomers = RecordedCustomers()
    private(set) var operators: OperatorAuthentication
    let receiptResponses: ReceiptResponses
    let heavy: HeavyWorkLimiter
    let unknownSigners = UnknownSigners()
    let readiness = ReadinessCheck()
    private(set) var limiter: RequestLimiter
    /// The sizes of the tables that callers without a purchase add to.
    let unpaidRows = UnpaidRows()
    /// Whether the server is about to stop.
    public let drain = DrainState()
    /// Limits new notifications for other apps from one network. Apple resends a refused notification later.
    let foreignRateLimit = SourceRateLimit(RateLimit(burst: 60, interval: 1_000))
    let anonymousBodies = Quota(Server.anonymousBodyLimits)
    /// Limits the offers that one user has signed: every attempt to buy needs one.
    let offerRateLimit = SourceRateLimit(RateLimit(burst: 30, interval: 30_000))
    let reportLimiter = ReportLimiter()
    let jobHistory = JobHistory()
    /// When each key was last accepted.
    public let keyUses = KeyUses()
    private let startedAt: Instant
    /// When the configuration last changed without a restart; nil before the first change.
    private(set) var changedAt: Instant?
    let walletCheck = WalletCheck()
    let proofCompression = ProofCompressionJob()
    let sealing = SealJob()
    let jobLease = JobLease()
    let monitoring: Monitoring
    let requestFigures: RequestFigures
    let scrapes = BoundedWork(limit: 4)

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
        self.configuration = configuration
        self.monitoring = monitoring
        startedAt = clock()
        let requestFigures = RequestFigures()
        self.requestFigures = requestFigures
        ledger = try Ledger(
            settings: configuration.ledger, database: database, clock: clock, machineClock: machineClock,
            entropy: entropy, log: log, refusedProof: requestFigures.failedVerification, appleEffects: appleEffects,
            serverAPI: serverAPI, verifyReceipt: verifyReceipt)
        heavy = HeavyWorkLimiter(heavyWork, log: log)
        receiptResponses = try ReceiptResponses(trust: configuration.apple, clock: clock)
        self.webhookSend = webhookSend
        authentication = Authentication(configuration: configuration, clock: ledger.machineClock, uses: keyUses)
        limiter = RequestLimiter(configuration.limits, clock: ledger.machineClock, log: log)
        idempotency = Idempotency(
            ledger: ledger, usualEnvironment: configuration.usualEnvironment, clock: ledger.machineClock)
        operators = OperatorAuthentication(
            configuration: configuration, clock: ledger.machineClock, entropy: entropy, log: log, uses: keyUses,
            isShared: database.isShared)
    }

    /// The same server under another configuration. Both share everything that outlives a change: the ledger's
    /// database, limits, idempotency keys in flight, sessions of operators who stay, and the history of jobs. What
    /// concerns Apple does not change: its environments, roots and keys.
    ///
    /// - Throws: `DatabaseError` if the new catalogue can't be recorded. Nothing has changed then.
    public func changed(to wanted: ServerConfiguration) async throws -> Server {
        // Recorded first, so that requests in flight know their own catalogue by its number.
        try await ledger.recordCatalog()
        var server = self
        server.configuration = wanted
        server.configuration.apple = configuration.apple
        server.configuration.inAppPurchaseKey = configuration.inAppPurchaseKey
        server.configuration.erasure = configuration.erasure
        server.configuration.sealKey = configuration.sealKey
        server.ledger = ledger.with(server.configuration.ledger)
        try await server.ledger.recordCatalog()
        // Endpoints that the last pass of deliveries did not see yet keep their start.
        try await WebhookDeliveries(self, startedAt: changedAt ?? startedAt)
            .register(moves: !database.isShared)
        server.changedAt = clock()
        server.authentication = Authentication(
            configuration: server.configuration, clock: machineClock, uses: keyUses)
        if server.configuration.limits != configuration.limits {
            server.limiter = RequestLimiter(server.configuration.limits, clock: machineClock, log: log)
        }
        server.operators = operators.changed(to: server.configuration)
        return server
    }

    /// The same server through another database value.
    func with(_ database: any Database, webhookSend: HTTPSend?) -> Server {
        var server = self
        server.ledger = ledger.with(database)
        server.webhookSend = webhookSend
        return server
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
