import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillSQLite
import TillStorage

/// A stand-in for Apple's App Store: customers who buy, the proofs Apple signs, the endpoints a server asks and the
/// notifications it is sent. It runs in process, or behind a listener; it touches the world only through the four
/// effects it is given.
public final class Emulator: Sendable {
    /// The Apple Account that buys when a request names none.
    public static let defaultAccount = "default"

    public let configuration: EmulatorConfiguration
    public let store: Store
    public let issuer: Issuer
    /// Apple's own paths and the control API. Put it behind a listener, or ask it with `respond(to:)`.
    public let router: Router

    private let control: ControlEndpoint
    /// Every route of the control API and of the page, as OpenAPI tells of it.
    let described: [ControlRoute]

    /// Opens the store in `database`, founding it with keys and products the first time.
    ///
    /// - Parameters:
    ///   - database: opened with `StoreSchema.migrations`; see `openDatabase`.
    ///   - clock: the time that is signed and that notifications are sent by.
    ///   - entropy: so many random bytes. Keys and signatures use OpenSSL's own randomness instead (DESIGN §5).
    ///   - send: how notifications leave.
    /// - Throws: `DatabaseFault`, or `IssuingFault` for keys that are none.
    public init(
        configuration: EmulatorConfiguration = EmulatorConfiguration(), database: any Database,
        clock: @escaping @Sendable () -> Instant, entropy: @escaping @Sendable (Int) -> [UInt8],
        send: @escaping HTTPSend
    ) async throws {
        let now = clock()
        let (issuer, apiKey, ahead) = try await database.write { session in
            let (issuer, apiKey) = try Self.found(configuration, at: now, entropy: entropy, session)
            return (issuer, apiKey, try SettingTable.value(.clockAhead, session).flatMap { Int64($0) } ?? 0)
        }
        let clock = StoreClock(clock, ahead: ahead)
        let notifications = NotificationSender(
            database: database, issuer: issuer, configuration: configuration, clock: clock, send: send)
        self.configuration = configuration
        self.issuer = issuer
        store = Store(
            database: database, configuration: configuration, clock: clock, entropy: entropy,
            notifications: notifications)
        control = ControlEndpoint(
            store: store, issuer: issuer, configuration: configuration, apiKey: apiKey, entropy: entropy)
        var router = Router { request, status, allowed in Self.refusal(of: request, status, allowed) }
        var routes = ControlRoutes(router)
        control.add(to: &routes)
        EmulatorPage(store: store, configuration: configuration, control: routes.router).add(to: &routes)
        router = routes.router
        ServerAPIEndpoint(store: store, issuer: issuer, apiKey: apiKey).add(to: &router)
        var trust = TrustPolicy(bundleID: nil, environments: nil, now: { clock.now })
        trust.roots = [issuer.rootCertificate]
        let control = control
        VerifyReceiptEndpoint(
            store: store, configuration: configuration, verifier: try SignedDataVerifier(policy: trust),
            makeReceipt: { try await control.makeReceipt(account: $0, bundleID: $1, device: nil) }
        ).add(to: &router)
        described = OpenAPI.serve(routes.described, on: &router)
        self.router = router
    }

    /// Opens the file that holds an emulated store: everything that outlives a restart, keys included. Its directory
    /// must exist; the file is readable by its owner only.
    ///
    /// A store that need not outlive its process takes a path in a temporary directory.
    public static func openDatabase(path: String) throws(DatabaseFault) -> SQLiteDatabase {
        try SQLiteDatabase.open(path: path, role: .server, options: databaseOptions)
    }

    /// What `openDatabase` opens with; a simulation adds its file system and threads.
    public static var databaseOptions: SQLiteDatabase.Options {
        var options = SQLiteDatabase.Options()
        options.migrations = StoreSchema.migrations
        // "TilE" in ASCII: an emulated store is never taken for a ledger, or the other way round.
        options.applicationID = 0x5469_6C45
        return options
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse { await router.respond(to: request) }

    // MARK: Notifications

    /// Sends notifications as they come, until its task is cancelled. The composition root starts it once.
    public func run() async { await store.notifications.run() }

    /// Makes `run` look for retries that have fallen due: call it now and then, twice a second say.
    public func wake() { store.notifications.wake() }

    /// Sends everything that is due now, for who wants no `run`.
    public func sendDueNotifications() async { await store.notifications.sendDue() }

    // MARK: In process, without HTTP

    /// The app receipt of an account, DER, as it is now.
    ///
    /// - Parameter device: the 16 bytes of the device's identifierForVendor, which the receipt's hash then binds it to.
    public func receipt(
        account: String = defaultAccount, bundleID: String, device: [UInt8]? = nil
    ) async throws -> [UInt8] {
        try await control.makeReceipt(account: account, bundleID: bundleID, device: device)
    }

    // MARK: Founding

    private static func found(
        _ configuration: EmulatorConfiguration, at now: Instant, entropy: (Int) -> [UInt8], _ session: any Session
    ) throws -> (Issuer, APIKey) {
        if let issuer = try IdentityTable.issuer(session), let key = try IdentityTable.apiKey(session),
            let keyID = try SettingTable.value(.apiKeyID, session),
            let issuerID = try SettingTable.value(.apiIssuerID, session).flatMap({ UniqueID($0) })
        {
            let founded = try SettingTable.value(.environment, session)
            guard founded == configuration.environment.rawValue else {
                throw DatabaseFault(
                    .other,
                    "this emulated store is \(founded ?? "unknown"), and the configuration wants "
                        + "\(configuration.environment.rawValue): give it a data directory of its own")
            }
            return (issuer, try APIKey(issuerID: issuerID, keyID: keyID, privateKey: key))
        }
        let issuer = try Issuer.found(at: now, keys: configuration.keys) { entropy(16) }
        try IdentityTable.store(issuer, session)
        let apiKey = try APIKey(
            issuerID: UniqueID(random: entropy(16)), keyID: APIKey.keyID(entropy(10)),
            privateKey: configuration.keys["apiKey"].map { try PrivateKey(pem: $0) } ?? .generate(.p256))
        try IdentityTable.store(apiKey: apiKey.privateKey, session)
        try SettingTable.set(.apiKeyID, to: apiKey.keyID, session)
        try SettingTable.set(.apiIssuerID, to: apiKey.issuerID.description, session)
        try SettingTable.set(.environment, to: configuration.environment.rawValue, session)
        try Counter.begin(environment: configuration.environment, entropy: entropy, session)
        let products = configuration.products ?? StoreProduct.sampleCatalogue(bundleID: configuration.app.bundleID)
        try ProductTable.replace(products, session)
        return (issuer, apiKey)
    }

    private static func refusal(of request: HTTPRequest, _ status: Int, _ allowed: [HTTPMethod]) -> HTTPResponse {
        let methods = allowed.map(\.rawValue).joined(separator: ", ")
        let problem =
            status == 405
            ? Problem(
                status: 405, code: "method_not_allowed", english: "This path takes \(methods) only.",
                chinese: "此路径只接受 \(methods)。")
            : Problem(
                status: 404, code: "not_found", english: "The emulator serves nothing at this path.",
                chinese: "模拟商店在此路径没有内容。")
        var response = problem.response(to: request)
        if status == 405 { response.headers.add("Allow", methods) }
        return response
    }
}
