import TillAppStore
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

/// The purchase backend: verifies, settles and answers. It owns no socket, no thread and no clock; those are passed
/// in, so that the same server runs behind a listener, in a test, and in a simulation (DESIGN §5).
public struct Server: Sendable {
    public typealias Clock = Ledger.Clock
    public typealias Entropy = Ledger.Entropy

    public let configuration: ServerConfiguration
    /// The books.
    public let ledger: Ledger
    /// What events are pushed through; nil pushes none, whatever the configuration says.
    let webhookSend: HTTPSend?
    let authentication: Authentication
    let idempotency: Idempotency
    let recordedCustomers = RecordedCustomers()
    let operators: OperatorAuthentication
    let receiptAnswers: ReceiptAnswers
    let heavy: HeavyDesk
    let unknownSigners = UnknownSigners()
    let readiness = ReadinessDesk()
    /// For new notifications about apps of others, from one address: Apple sends later what finds no room.
    let foreignPace = SourcePace(Pace(burst: 60, interval: 1_000))
    let strangersBodies = Quota(Server.strangersBodyLimits)
    let financeDesk = FinanceDesk()
    let jobRecord = JobRecord()

    /// - Parameters:
    ///   - appleEffects: what Apple is asked about its certificates through; nil asks nothing, whatever the
    ///     configuration says.
    ///   - serverAPI: what Apple is asked about purchases through; nil without an In-App Purchase key.
    ///   - webhookSend: what events are pushed through. It is the sender's to refuse addresses (`AddressRule`), to
    ///     follow no redirect, and to bound the time and the answer. Nil pushes none.
    ///   - heavyWork: where long computations run; unless told, where their callers are.
    /// - Throws: `bad_root` if a configured root certificate can't be read.
    public init(
        configuration: ServerConfiguration, database: any Database, clock: @escaping Clock, entropy: @escaping Entropy,
        appleEffects: AppleEffects? = nil, serverAPI: ServerAPI? = nil, webhookSend: HTTPSend? = nil,
        heavyWork: HeavyWork = HeavyWork()
    ) throws(VerificationFailure) {
        self.configuration = configuration
        ledger = try Ledger(
            settings: configuration.ledger, database: database, clock: clock, entropy: entropy,
            appleEffects: appleEffects, serverAPI: serverAPI)
        heavy = HeavyDesk(heavyWork)
        receiptAnswers = try ReceiptAnswers(trust: configuration.apple, clock: clock)
        self.webhookSend = webhookSend
        authentication = Authentication(configuration: configuration, clock: clock)
        idempotency = Idempotency(ledger: ledger, usualEnvironment: configuration.usualEnvironment)
        operators = OperatorAuthentication(configuration: configuration, clock: clock, entropy: entropy)
    }

    public var database: any Database { ledger.database }
    var clock: Clock { ledger.clock }
    var entropy: Entropy { ledger.entropy }
    var catalogs: CatalogHistory { ledger.catalogs }
    var verifier: ProofVerifier { ledger.verifier }

    /// Answers one request. Never throws: what goes wrong becomes a problem the caller can program against.
    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        await router.respond(to: request)
    }
}
