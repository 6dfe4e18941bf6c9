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

    public let configuration: ServerConfiguration
    /// The ledger: tables, intake, wallet, outbox and tasks for Apple.
    public let ledger: Ledger
    /// Sends the events of the outbox; nil sends none, regardless of the configuration.
    let webhookSend: HTTPSend?
    let authentication: Authentication
    let idempotency: Idempotency
    let recordedCustomers = RecordedCustomers()
    let operators: OperatorAuthentication
    let receiptResponses: ReceiptResponses
    let heavy: HeavyWorkLimiter
    let unknownSigners = UnknownSigners()
    let readiness = ReadinessCheck()
    /// Whether the server is about to stop.
    public let drain = DrainState()
    /// Limits new notifications for other apps from one network. Apple resends a refused notification later.
    let foreignRateLimit = SourceRateLimit(RateLimit(burst: 60, interval: 1_000))
    let anonymousBodies = Quota(Server.anonymousBodyLimits)
    /// Limits the offers that one user has signed: every attempt to buy needs one.
    let offerRateLimit = SourceRateLimit(RateLimit(burst: 30, interval: 30_000))
    let reportLimiter = ReportLimiter()
    let jobHistory = JobHistory()

    /// - Parameters:
    ///   - log: takes the server's log lines; by default it drops them.
    ///   - appleEffects: asks Apple about its certificates; nil asks nothing, regardless of the configuration.
    ///   - serverAPI: asks Apple about purchases; nil without an In-App Purchase key.
    ///   - verifyReceipt: asks Apple about receipts if `serverAPI` is nil; nil without a shared secret.
    ///   - webhookSend: sends events. The sender refuses addresses (`AddressRule`), follows no redirect, and bounds the
    ///     time and the size of the answer. Nil sends none.
    ///   - heavyWork: the executors for long computations; by default they run where their callers run.
    /// - Throws: `bad_root` if a configured root certificate can't be read.
    public init(
        configuration: ServerConfiguration, database: any Database, clock: @escaping Clock, entropy: @escaping Entropy,
        log: Log = .none, appleEffects: AppleEffects? = nil, serverAPI: ServerAPI? = nil,
        verifyReceipt: VerifyReceiptClient? = nil, webhookSend: HTTPSend? = nil, heavyWork: HeavyWork = HeavyWork()
    ) throws(VerificationError) {
        self.configuration = configuration
        ledger = try Ledger(
            settings: configuration.ledger, database: database, clock: clock, entropy: entropy,
            log: log, appleEffects: appleEffects, serverAPI: serverAPI, verifyReceipt: verifyReceipt)
        heavy = HeavyWorkLimiter(heavyWork, log: log)
        receiptResponses = try ReceiptResponses(trust: configuration.apple, clock: clock)
        self.webhookSend = webhookSend
        authentication = Authentication(configuration: configuration, clock: clock)
        idempotency = Idempotency(ledger: ledger, usualEnvironment: configuration.usualEnvironment)
        operators = OperatorAuthentication(configuration: configuration, clock: clock, entropy: entropy, log: log)
    }

    public var database: any Database { ledger.database }
    /// Where log lines go.
    public var log: Log { ledger.log }
    var clock: Clock { ledger.clock }
    var entropy: Entropy { ledger.entropy }
    var catalogs: CatalogHistory { ledger.catalogs }
    var verifier: ProofVerifier { ledger.verifier }

    /// Answers one request. Never throws: an error becomes a problem with a stable code.
    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        await router.respond(to: request)
    }
}
