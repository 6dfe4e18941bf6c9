import Foundation
import StoreKit
import Testing
import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillSQL
import TillSQLite
import TillServer
import TillTestDatabases
import TillThreads

@testable import till

/// How a journey reaches the server and the store: the same test body runs both ways.
enum Reach: String, CaseIterable, Sendable {
    case inProcess = "in process"
    case socket = "over a socket"
}

/// The environment of one app: an emulated App Store, a server with its own ledger, and buyers.
final class Shop: Sendable {
    static let bundleID = "com.example.learn"
    static let points60 = "com.example.learn.points60"
    static let points300 = "com.example.learn.points300"
    static let secretKey = "sk_journey_0123456789abcdef"
    static let sealKey = SealKey("a key of seals, at least thirty-two bytes")
    static let tokenSecret = Array("q7Zk2TmXv9RbL4WnJ8sYd3HcP6uFe1Ga".utf8)

    /// The server that answers; `restart` replaces it.
    var server: Server { running.withLock { $0 } }
    private let running: Locked<Server>
    private let start: @Sendable (ServerConfiguration) throws -> Server
    let emulator: Emulator
    let ledger: any Database
    private let place: LedgerPlace?
    let time: TestClock
    private let toServer: HTTPSend
    private let toEmulator: HTTPSend
    /// The connection of phones to the store.
    let storeConnection: StoreConnection
    private let relay: Relay
    let (sealer, changesRows) = (Sealer(), Locked(false))
    private let stops: [@Sendable () async -> Void]

    private init(
        running: Locked<Server>, start: @escaping @Sendable (ServerConfiguration) throws -> Server,
        emulator: Emulator, ledger: (database: any Database, place: LedgerPlace?), time: TestClock,
        toServer: @escaping HTTPSend,
        toEmulator: @escaping HTTPSend, storeConnection: StoreConnection, relay: Relay,
        stops: [@Sendable () async -> Void]
    ) {
        self.relay = relay
        self.running = running
        self.start = start
        self.emulator = emulator
        (self.ledger, place) = ledger
        self.time = time
        self.toServer = toServer
        self.toEmulator = toEmulator
        self.storeConnection = storeConnection
        self.stops = stops
    }

    /// Opens a shop, runs a journey in it, and closes it in every case.
    ///
    /// - Parameters:
    ///   - ledger: opens a ledger on SQLite in this way, perhaps on a VFS. Nil: on the database of this test run.
    ///   - change: changes the server's usual configuration. Roots named here are trusted besides its store's.
    ///   - time: the shared clock.
    ///   - appleEffects: the effects by which the server asks Apple about certificates.
    ///   - line: the line on which it asks the store about purchases; nil if it has no key.
    ///   - store: the store's Apple environment.
    ///   - log: takes the server's log lines.
    ///   - monitoring: what the server measures itself with.
    ///   - webhookSend: the server's connection to webhook endpoints.
    static func open(
        _ reach: Reach = .inProcess, environments: Set<TillBilling.StoreEnvironment> = [.sandbox],
        ledger: SQLiteDatabase.Options? = nil,
        change: (inout ServerConfiguration) -> Void = { _ in }, time: TestClock = TestClock(),
        appleEffects: AppleEffects? = nil, line: AppleProxy? = nil, store: TillBilling.StoreEnvironment = .sandbox,
        log: LogRecorder = LogRecorder(), monitoring: Monitoring = Monitoring(), webhookSend: HTTPSend? = nil,
        _ journey: (Shop) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = usualConfiguration
        configuration.apple.environments = environments
        change(&configuration)
        line?.figures = monitoring.apple
        let shop = try await create(
            reach, configuration, ledger, folder, time, (appleEffects, line), store, (log, monitoring, webhookSend))
        do {
            try await journey(shop)
            try await shop.checkTheBooks()
        } catch {
            await shop.close()
            throw error
        }
        await shop.close()
    }

    /// RSA keys take a second to make, so all shops share theirs; each still has its own root.
    static let receiptKeys: [String: String] = {
        let keys = ["receiptIntermediate", "receiptSigner"].compactMap { name in
            (try? PrivateKey.generate(.rsa2048).pem()).map { (name, $0) }
        }
        return Dictionary(uniqueKeysWithValues: keys)
    }()

    /// A server's usual configuration; its store adds the root that it trusts.
    static var usualConfiguration: ServerConfiguration {
        var configuration = ServerConfiguration(
            catalog: catalog, apple: AppleTrust(bundleID: bundleID, appAppleID: nil, environments: [.sandbox]),
            secretKeys: [SecretKey(id: "backend", sha256: Digest.sha256.hash(secretKey.utf8))],
            userTokens: [UserTokenKey(id: "app", algorithm: .hs256(secret: tokenSecret))])
        // Most shops here have no key for Apple's API, and grant by the order id beside a receipt.
        configuration.receipts = ReceiptTerms(policy: .provisional)
        configuration.sealKey = sealKey
        return configuration
    }

    private static func create(
        _ reach: Reach, _ configured: ServerConfiguration, _ options: SQLiteDatabase.Options?, _ folder: URL,
        _ time: TestClock, _ apple: (effects: AppleEffects?, line: AppleProxy?), _ face: TillBilling.StoreEnvironment,
        _ own: (log: LogRecorder, monitoring: Monitoring, webhookSend: HTTPSend?)
    ) async throws -> Shop {
        let relay = Relay()
        var store = EmulatorConfiguration()
        store.app = EmulatedApp(bundleID: bundleID)
        store.environment = face
        store.products = sampleProducts
        store.keys = receiptKeys
        store.sharedSecret = apple.line?.secret
        let storeFile = try Emulator.openDatabase(path: folder.appendingPathComponent("store.db").path)
        let emulator = try await Emulator(
            configuration: store, database: storeFile, clock: { time.now }, entropy: RandomBytes.make,
            send: { url, request async throws(HTTPError) in try await relay.send(url, request) })
        let (ledger, place) = try open(options, folder, own.monitoring)
        var configuration = configured
        configuration.apple.roots.append(emulator.issuer.rootCertificate)
        let asks = try await apple.line?.clients(of: emulator, time: time, log: own.log.log)
        let start: @Sendable (ServerConfiguration) throws -> Server = { configuration in
            try Server(
                configuration: configuration, database: ledger, clock: { time.now }, entropy: RandomBytes.make,
                log: own.log.log, appleEffects: apple.effects, serverAPI: asks?.0, verifyReceipt: asks?.1,
                webhookSend: own.webhookSend, monitoring: own.monitoring)
        }
        let running = Locked(try start(configuration))
        let answer: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            await running.withLock({ $0 }).respond(to: request)
        }
        let closeFiles: @Sendable () async -> Void = {
            await ledger.close()
            await storeFile.close()
            #expect(throws: Never.self) { try place?.remove() }
        }
        switch reach {
        case .inProcess:
            relay.target = answer
            return Shop(
                running: running, start: start, emulator: emulator, ledger: (ledger, place), time: time,
                toServer: { _, request in await answer(request) },
                toEmulator: { _, request in await emulator.respond(to: request) },
                storeConnection: .inProcess { request in await emulator.respond(to: request) }, relay: relay,
                stops: [closeFiles])
        case .socket:
            let serverListener = try listener(running, answer)
            let storeListener = try Listener(
                configuration: ListenerConfiguration(), bodyLimit: emulator.router.bodyLimit(method:path:),
                handler: emulator.respond(to:))
            let fetch = try Fetch(configuration: FetchConfiguration())
            let serverURL = "http://127.0.0.1:\(serverListener.port)"
            let storeURL = "http://127.0.0.1:\(storeListener.port)"
            apple.line?.toStore = fetch.to(storeURL)
            relay.target = { (try? await fetch.send(serverURL + $0.path, $0)) ?? HTTPResponse(status: 599) }
            return Shop(
                running: running, start: start, emulator: emulator, ledger: (ledger, place), time: time,
                toServer: fetch.to(serverURL),
                toEmulator: fetch.to(storeURL),
                storeConnection: try .http(storeURL), relay: relay,
                // The client stops first: a listener without connections stops at once.
                stops: [
                    { fetch.stop() }, { await serverListener.stop(grace: 5) }, { await storeListener.stop(grace: 5) },
                    closeFiles,
                ])
        }
    }

    private static func open(
        _ options: SQLiteDatabase.Options?, _ folder: URL, _ monitoring: Monitoring
    ) throws -> (any Database, LedgerPlace?) {
        guard var options else {
            let place = try LedgerPlace(in: folder)
            return (try place.open(commitWatch: monitoring.commitWatch), place)
        }
        options.commitWatch = monitoring.commitWatch
        let path = options.vfs == nil ? folder.appendingPathComponent("till.db").path : "till.db"
        return (try SQLiteDatabase.open(path: path, role: .server, options: options), nil)
    }

    private static func listener(
        _ running: Locked<Server>, _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) throws -> Listener {
        let router = running.withLock { $0.router }
        var settings = ListenerConfiguration()
        settings.refusal = { refusal, language in
            running.withLock({ $0 }).response(to: refusal, acceptLanguage: language)
        }
        return try Listener(configuration: settings, bodyLimit: router.bodyLimit(method:path:), handler: answer)
    }

    /// Stops the server and starts one with a changed configuration, on the same ledger.
    func restart(_ change: (inout ServerConfiguration) -> Void) throws {
        var configuration = server.configuration
        change(&configuration)
        let next = try start(configuration)
        running.withLock { $0 = next }
    }

    /// Changes the running server's configuration, as a reload does.
    func reload(_ change: (inout ServerConfiguration) -> Void) async throws {
        var configuration = server.configuration
        change(&configuration)
        let next = try await server.changed(to: configuration)
        running.withLock { $0 = next }
    }

    /// Changes the schema beside the server, for faults in the middle of a commit.
    func change(sqlite: SQL, postgres: String) async throws {
        if let session = try place?.session() {
            try session.run(postgres)
        } else {
            try await ledger.write { _ = try $0.execute(sqlite, []) }
        }
    }

    private func close() async {
        for stop in stops { await stop() }
    }

    /// After every journey: each balance is the sum of its postings (DESIGN §4, invariant 4).
    // MARK: Requests

    /// Sends a request to the server.
    func send(
        _ method: HTTPMethod, _ target: String, _ body: JSONValue? = nil, as party: Party = .backend,
        headers extra: [(String, String)] = []
    ) async throws -> Reply {
        // A ledger whose disk fails seals later, as a server's job does.
        try? await seal()
        return try await Reply(toServer(target, made(method, target, body, as: party, headers: extra)))
    }

    /// A request to the server, as it would be sent.
    func made(
        _ method: HTTPMethod, _ target: String, _ body: JSONValue?, as party: Party,
        headers extra: [(String, String)] = []
    ) -> HTTPRequest {
        var headers = HTTPHeaders(extra.map { (name: $0.0, value: $0.1) })
        if let authorization = party.authorization(now: time.now) { headers.add("Authorization", authorization) }
        if body != nil { headers.add("Content-Type", "application/json") }
        return Self.request(method, target, headers, body)
    }

    /// Only the status of the answer: pages are no JSON.
    func status(
        _ method: HTTPMethod, _ target: String, _ body: JSONValue? = nil, as party: Party
    ) async throws -> Int {
        var headers = HTTPHeaders([(name: "Host", value: "127.0.0.1")])
        if let authorization = party.authorization(now: time.now) { headers.add("Authorization", authorization) }
        return try await toServer(target, Self.request(method, target, headers, body)).status
    }

    /// Sends a request to the emulated App Store.
    func ask(_ method: HTTPMethod, _ target: String, _ body: JSONValue? = nil) async throws -> Reply {
        let headers = HTTPHeaders(body == nil ? [] : [(name: "Content-Type", value: "application/json")])
        return try await Reply(toEmulator(target, Self.request(method, target, headers, body)))
    }

    /// Sends a request to the server unchanged.
    func deliver(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        try await toServer(request.path, request)
    }

    private static func request(
        _ method: HTTPMethod, _ target: String, _ headers: HTTPHeaders, _ body: JSONValue?
    ) -> HTTPRequest {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        let query = parts.count == 2 ? (try? PercentEncoding.items(parts[1].utf8)) ?? [] : []
        return HTTPRequest(
            method: method, path: parts[0], query: query, headers: headers,
            body: body.map { Array($0.encoded().utf8) } ?? [],
            peer: "127.0.0.1")
    }

    /// Catches the emulator's notifications on their way; nil lets them through again.
    func intercept(_ catcher: (@Sendable (HTTPRequest) async -> HTTPResponse)?) { relay.interceptor = catcher }

    // MARK: Buyers' actions

    /// Opens an order at the server; returns its id.
    func openOrder(_ product: String = points60, as buyer: String, quantity: Int = 1) async throws -> OrderID {
        let reply = try await send(
            .post, "/v1/orders", ["productId": .string(product), "quantity": .int(Int64(quantity))], as: .user(buyer))
        #expect(reply.status == 201)
        return try #require(UniqueID(reply["id"].text))
    }

    /// Pays in the emulated App Store.
    func pay(
        _ product: String = points60, token: OrderID?, quantity: Int = 1, account: String = "default",
        storefront: String? = nil
    ) async throws -> Payment {
        var body: [String: JSONValue] = [
            "bundleId": .string(Self.bundleID), "productId": .string(product), "quantity": .int(Int64(quantity)),
            "account": .string(account),
        ]
        if let token { body["appAccountToken"] = .string(token.description) }
        if let storefront { body["storefront"] = .string(storefront) }
        let reply = try await ask(.post, "/emulator/purchases", .object(body))
        #expect(reply.status == 200, "\(reply.body)")
        return Payment(
            id: reply["transactionId"].text, signed: reply["signedTransaction"].text, receipt: reply["receipt"].text)
    }

    /// Pays for an order, and returns the store's notification about it, which is not delivered.
    func notification(of order: OrderID) async throws -> String {
        let recorder = RequestRecorder()
        _ = try await ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
        intercept { request in
            recorder.take(request)
            return HTTPResponse(status: 200)
        }
        _ = try await pay(token: order)
        await emulator.sendDueNotifications()
        intercept(nil)
        _ = try await ask(.put, "/emulator/notifications", ["url": .null])
        return try #require(recorder.payloads.last)
    }

    func submit(
        _ signed: String, as party: Party, orderID: OrderID? = nil, userID: String? = nil
    ) async throws -> Reply {
        var body: [String: JSONValue] = ["signedTransaction": .string(signed)]
        if let orderID { body["orderId"] = .string(orderID.description) }
        if let userID { body["userId"] = .string(userID) }
        return try await send(.post, "/v1/transactions", .object(body), as: party)
    }

    func points(of user: String, environment: String = "sandbox") async throws -> Int64 {
        let reply = try await send(.get, "/v1/users/\(user)/wallet?environment=\(environment)")
        #expect(reply.status == 200)
        return reply["balances"].at("points").int ?? 0
    }

    func status(of order: OrderID) async throws -> String {
        try await send(.get, "/v1/orders/\(order)")["status"].text
    }

    /// The number of grants in the ledger.
    func grantCount() async throws -> Int64 {
        try await ledger.read { connection in
            try connection.first("SELECT count(*) AS count FROM grants", []) { $0.integer("count") }
        } ?? 0
    }
}

struct Payment: Sendable {
    let id: String
    let signed: String
    /// Base64.
    let receipt: String
}

/// The sender of a request.
enum Party: Sendable {
    case backend
    case user(String)
    /// Any text in the header.
    case bearer(String)
    case anonymous

    func authorization(now: Instant) -> String? {
        switch self {
        case .backend: "Bearer \(Shop.secretKey)"
        case .user(let id):
            "Bearer "
                + UserToken.hs256(subject: id, expires: now.seconds + 600, extra: UserToken.guestClaim(id))
        case .bearer(let text): "Bearer \(text)"
        case .anonymous: nil
        }
    }
}
