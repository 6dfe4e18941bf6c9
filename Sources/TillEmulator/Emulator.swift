import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillSQL
import TillSQLite

/// A stand-in for Apple's App Store: customers who buy, the proofs Apple signs, Apple's server endpoints and the
/// notifications Apple sends. It runs in process or behind a listener. Clock, entropy, database and network are passed
/// in.
public final class Emulator: Sendable {
    /// The Apple Account that buys when a request names no account.
    public static let defaultAccount = "default"

    public let configuration: EmulatorConfiguration
    public let store: Store
    public let issuer: Issuer
    /// Routes Apple's own paths and the control API, without injected faults. A listener reads the limit of a body from
    /// it and passes requests to `respond(to:)`.
    public let router: Router

    private let control: ControlEndpoint
    private let faultInjector: FaultInjector
    private let send: HTTPSend
    /// Every route of the control API and of the page, as listed in the OpenAPI document.
    let described: [ControlRoute]

    /// Opens the store in `database`. A new database gets its keys and products first.
    ///
    /// - Parameters:
    ///   - database: opened with `StoreSchema.migrations`; see `openDatabase`.
    ///   - clock: the time that payloads are signed with and notifications are sent by.
    ///   - entropy: returns the requested number of random bytes. Keys and signatures use OpenSSL's own randomness
    ///     instead.
    ///   - send: delivers notifications.
    ///   - pause: returns after the given number of milliseconds, or at once when the calling task is cancelled.
    ///     Without it no request is delayed, whatever the fault rates are.
    /// - Throws: `DatabaseError`, or `SigningError` for invalid keys.
    public init(
        configuration: EmulatorConfiguration = EmulatorConfiguration(), database: any Database,
        clock: @escaping @Sendable () -> Instant, entropy: @escaping @Sendable (Int) -> [UInt8],
        send: @escaping HTTPSend, pause: (@Sendable (Int64) async -> Void)? = nil
    ) async throws {
        let now = clock()
        let (issuer, apiKey, savedState, faults) = try await database.write { connection in
            let (issuer, apiKey) = try Self.create(configuration, at: now, entropy: entropy, connection)
            try RenewalPace.begin(configuration.renewalPace, connection)
            return (issuer, apiKey, try StoreClock.SavedState(connection), try FaultSettings.reopened(connection))
        }
        let clock = StoreClock(clock, savedState)
        let faultInjector = FaultInjector(faults, clock: clock, pause: pause)
        var outgoing = issuer
        outgoing.clock = SkewedClock { faultInjector.skew(of: .notifications) }
        let notifications = NotificationSender(
            database: database, issuer: outgoing, configuration: configuration, clock: clock,
            send: faultInjector.injectingFaults(send))
        self.faultInjector = faultInjector
        self.send = send
        self.configuration = configuration
        self.issuer = issuer
        store = Store(
            database: database, configuration: configuration, clock: clock, entropy: entropy,
            notifications: notifications, faultInjector: faultInjector)
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
        VerifyReceiptEndpoint(
            store: store, configuration: configuration, verifier: try SignedDataVerifier(policy: trust),
            receipts: control.receipts
        ).add(to: &router)
        described = OpenAPI.serve(routes.described, on: &router)
        self.router = router
    }

    /// Opens the file that holds an emulated store: everything that outlives a restart, keys included. Its directory
    /// must exist; only the file's owner can read it.
    ///
    /// A store that ends with its process takes a path in a temporary directory.
    public static func openDatabase(path: String) throws(DatabaseError) -> SQLiteDatabase {
        try SQLiteDatabase.open(path: path, role: .server, options: databaseOptions)
    }

    /// The options that `openDatabase` uses; a simulation adds its file system and threads.
    public static var databaseOptions: SQLiteDatabase.Options {
        // "TilE" in ASCII: an emulated store is never mistaken for a ledger, or the other way round.
        SQLiteDatabase.Options(DatabaseSchema(migrations: StoreSchema.migrations, applicationID: 0x5469_6C45))
    }

    /// Answers as Apple does, or with the faults set by `PUT /emulator/faults`; a dropped answer is
    /// `HTTPResponse.hangUp`.
    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        var response = await faultInjector.respond(to: request, by: router.respond(to:))
        // Apple's answers carry Apple's time, by which a client finds that its own clock is wrong.
        if !response.isHangUp { response.headers.set("Date", ResponseDate.text(of: store.now)) }
        return response
    }

    /// Stops fault injection for shutdown: delayed requests continue at once.
    public func endFaults() { faultInjector.stop() }

    // MARK: Time

    /// Performs due store changes and sends notifications until its task is cancelled. The composition root starts it
    /// once.
    public func run() async {
        await withTaskGroup(of: Void.self) { jobs in
            jobs.addTask { await self.store.run() }
            jobs.addTask { await self.faultInjector.runLateDeliveries(by: self.send) }
        }
    }

    /// Makes `run` check for due work. Call it regularly, for example twice a second.
    public func wake() {
        store.notifications.wake()
        faultInjector.wakeLateDeliveries()
    }

    /// Sends everything that is due now, for callers that do not use `run`.
    public func sendDueNotifications() async {
        await store.notifications.sendDue()
        await faultInjector.deliverLate(by: send)
    }

    /// Ends a clock advance at the moment it has reached and sends nothing more. Call it when the process stops.
    public func stop() { store.clock.end() }

    // MARK: In process, without HTTP

    /// The app receipt of an account, DER, as it is now.
    ///
    /// - Parameter device: the 16 bytes of the device's identifierForVendor; the receipt's hash then binds it to that
    ///   device.
    public func receipt(
        account: String = defaultAccount, bundleID: String, device: [UInt8]? = nil
    ) async throws -> [UInt8] {
        try await control.receipts.appReceipt(account: account, bundleID: bundleID, device: device)
    }

    // MARK: New stores

    private static func create(
        _ configuration: EmulatorConfiguration, at now: Instant, entropy: (Int) -> [UInt8], _ connection: any Connection
    ) throws -> (Issuer, APIKey) {
        if let issuer = try IdentityTable.issuer(connection), let key = try IdentityTable.apiKey(connection),
            let keyID = try SettingTable.value(.apiKeyID, connection),
            let issuerID = try SettingTable.value(.apiIssuerID, connection).flatMap({ UniqueID($0) })
        {
            let founded = try SettingTable.value(.environment, connection)
            guard founded == configuration.environment.rawValue else {
                throw DatabaseError(
                    .other,
                    "this emulated store was created for \(founded ?? "unknown"), and the configuration says "
                        + "\(configuration.environment.rawValue): use another data directory")
            }
            return (issuer, try APIKey(issuerID: issuerID, keyID: keyID, privateKey: key))
        }
        let issuer = try Issuer.create(
            at: now, keys: configuration.keys, certificates: configuration.certificates
        ) { entropy(16) }
        try IdentityTable.store(issuer, connection)
        let apiKey = try APIKey(
            issuerID: UniqueID(random: entropy(16)), keyID: APIKey.keyID(entropy(10)),
            privateKey: configuration.keys["apiKey"].map { try PrivateKey(pem: $0) } ?? .generate(.p256))
        try IdentityTable.store(apiKey: apiKey.privateKey, connection)
        try SettingTable.set(.apiKeyID, to: apiKey.keyID, connection)
        try SettingTable.set(.apiIssuerID, to: apiKey.issuerID.description, connection)
        try SettingTable.set(.environment, to: configuration.environment.rawValue, connection)
        try Counter.begin(environment: configuration.environment, entropy: entropy, connection)
        let products = configuration.products ?? StoreProduct.sampleCatalog(bundleID: configuration.app.bundleID)
        // A new store has no products, so `replace` has no reason to refuse.
        _ = try ProductTable.replace(products, connection)
        return (issuer, apiKey)
    }

    private static func refusal(of request: HTTPRequest, _ status: Int, _ allowed: [HTTPMethod]) -> HTTPResponse {
        if request.path.hasPrefix("/inApps/") { return APIError.unserved(status) }
        let methods = allowed.map(\.rawValue).joined(separator: ", ")
        let problem =
            status == 405
            ? ControlError(
                status: 405, code: "method_not_allowed", english: "This path accepts \(methods) only.",
                chinese: "此路径只接受 \(methods)。")
            : ControlError(
                status: 404, code: "not_found", english: "The emulator has no such path.",
                chinese: "模拟商店没有此路径。")
        var response = problem.response(to: request)
        if status == 405 { response.headers.add("Allow", methods) }
        return response
    }
}
