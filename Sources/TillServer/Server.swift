import TillAppStore
import TillBilling
import TillHTTP
import TillSQL

/// The purchase backend: verifies, settles and answers. It owns no socket, no thread and no clock; those are passed
/// in, so that the same server runs behind a listener, in a test, and in a simulation (DESIGN §5).
public struct Server: Sendable {
    /// The time now, as this server sees it.
    public typealias Clock = @Sendable () -> Instant
    /// As many unpredictable bytes as asked for.
    public typealias Entropy = @Sendable (Int) -> [UInt8]

    public let configuration: ServerConfiguration
    public let database: any Database
    let clock: Clock
    let entropy: Entropy
    let verifier: ProofVerifier
    let catalogs: CatalogHistory
    let settle: Settle
    let settleReceipt: SettleReceipt
    /// What Apple is asked and told through; nil without an In-App Purchase key.
    let serverAPI: ServerAPI?
    /// What events are pushed through; nil pushes none, whatever the configuration says.
    let webhookSend: HTTPSend?
    let authentication: Authentication
    let idempotency: Idempotency
    let recordedCustomers = RecordedCustomers()
    let dashboard: Dashboard
    let receiptDesk: ReceiptDesk
    let heavy: HeavyDesk
    let refusalPace = RefusalPace()
    let unknownSigners = UnknownSigners()
    let readiness = ReadinessDesk()
    /// For new notifications about apps of others, from one address: Apple sends later what finds no room.
    let foreignPace = SourcePace(Pace(burst: 60, interval: 1_000))
    let strangersBodies = Quota(Server.strangersBodyLimits)
    let financeDesk = FinanceDesk()
    let dryRuns = DryRunDesk()
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
        self.database = database
        self.clock = clock
        self.entropy = entropy
        verifier = try ProofVerifier(trust: configuration.apple, clock: clock, effects: appleEffects)
        heavy = HeavyDesk(heavyWork)
        receiptDesk = try ReceiptDesk(trust: configuration.apple, clock: clock)
        catalogs = CatalogHistory(configuration.catalog, since: clock())
        settle = Settle(
            database: database, catalogs: catalogs, clock: clock, entropy: entropy,
            debt: DebtTerms(policy: configuration.debt, forgivenPerYear: configuration.forgivenPerYear),
            reminders: configuration.reminders, receipts: configuration.receipts,
            guests: configuration.guests,
            errands: serverAPI.map { _ in ErrandBook.Policy(finishAfter: configuration.delivery.finishAfter) })
        self.serverAPI = serverAPI
        self.webhookSend = webhookSend
        settleReceipt = SettleReceipt(
            settle: settle,
            lookup: serverAPI.map { [verifier] in
                SignedTransactionLookup($0, verifier: verifier, sharing: SharedQuestions(clock: clock))
            }, verifier: verifier)
        authentication = Authentication(configuration: configuration, clock: clock)
        idempotency = Idempotency(
            database: database, clock: clock, entropy: entropy, usualEnvironment: configuration.usualEnvironment)
        dashboard = Dashboard(configuration: configuration, clock: clock, entropy: entropy)
    }

    /// A customer's reminders before an open ledger.
    func reminders(_ session: any Connection) -> ReminderBook {
        ReminderBook(session: session, catalogs: catalogs, policy: configuration.reminders)
    }

    /// Answers one request. Never throws: what goes wrong becomes a problem the caller can program against.
    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        await router.respond(to: request)
    }
}
