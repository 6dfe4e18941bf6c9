import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillServer
import TillThreads

@testable import TillEmulator
@testable import TillSQLite

/// A server that gets a year in some order, with its own ledger and clock.
final class YearServer: Sendable {
    /// What arrived, for the explanation of a failure.
    enum Arrival: Sendable {
        case notification(String)
        /// A transaction submitted by an app.
        case proof(String)
        /// The body of Apple's answer to one of the server's requests.
        case answer([UInt8])
    }

    let name: String
    let ledger: SQLiteDatabase
    let lived: LivedYear
    private let server: Server
    /// Created once, as by a listener.
    private let router: Router
    private let api: ServerAPI
    private let folder: URL
    private let time: Locked<Instant>
    private let arrived: Locked<[Arrival]>

    var arrivals: [Arrival] { arrived.withLock { $0 } }

    init(_ name: String, _ lived: LivedYear, seed: UInt64) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-year-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // The test compares decisions, not the effects of power cuts.
        var options = SQLiteDatabase.Options(.ledger)
        options.synchronous = "OFF"
        options.threads = .inline
        ledger = try SQLiteDatabase.open(
            path: folder.appendingPathComponent("till.db").path, role: .server, options: options)
        let (time, arrived) = (Locked(YearWorld.start), Locked<[Arrival]>([]))
        let emulator = lived.world.emulator
        var configuration = Shop.usualConfiguration
        configuration.catalog = YearProducts.catalog
        configuration.apple = AppleTrust(
            roots: [emulator.issuer.rootCertificate], bundleID: YearCatalogue.bundleID,
            appAppleID: emulator.configuration.app.appleID, environments: [.production])
        let entropy = SeededEntropy(seed)
        server = try Server(
            configuration: configuration, database: ledger, clock: { time.withLock { $0 } },
            entropy: { entropy.bytes($0) })
        router = server.router
        api = try await Self.api(of: emulator, arrived, time)
        (self.name, self.lived, self.folder, self.time, self.arrived) = (name, lived, folder, time, arrived)
    }

    func close() async {
        await ledger.close()
        try? FileManager.default.removeItem(at: folder)
    }

    // MARK: Arrivals

    func send(
        _ method: HTTPMethod, _ path: String, query: [(name: String, value: String)] = [], _ body: [UInt8] = [],
        as party: Party = .backend, accepting type: String = "application/json"
    ) async -> HTTPResponse {
        let now = time.withLock { $0 }
        var headers = HTTPHeaders([
            (name: "Content-Type", value: "application/json"), (name: "Accept", value: type),
        ])
        if let authorization = party.authorization(now: now) { headers.add("Authorization", authorization) }
        return await router.respond(
            to: HTTPRequest(
                method: method, path: path, query: query, headers: headers, body: body, peer: "127.0.0.1"))
    }

    func open(_ orders: some Sequence<LivedYear.Order>) async throws {
        for order in orders {
            time.withLock { $0 = order.at }
            let body = order.proven.opening([
                "productId": .string(order.product.text), "quantity": .int(order.quantity),
            ])
            let response = await send(.post, "/v1/orders", Array(body.encoded().utf8), as: .user(order.user))
            try #require(response.status == 201, "\(String(decoding: response.body, as: UTF8.self))")
        }
    }

    /// - Parameter now: the server's time of arrival.
    func post(_ signedPayload: String, at now: Instant) async throws {
        time.withLock { $0 = now }
        arrived.withLock { $0.append(.notification(signedPayload)) }
        let response = await send(
            .post, "/v1/notifications/apple", Array(#"{"signedPayload":"\#(signedPayload)"}"#.utf8), as: .anonymous)
        try #require(response.status == 200, "\(String(decoding: response.body, as: UTF8.self))")
    }

    /// An app submits the transaction of a notification, as the user signed in there (P8).
    func submitTransaction(of signedPayload: String, as user: String) async throws {
        guard let signed = try ArrivedCopy.payload(of: signedPayload).at("data").at("signedTransactionInfo").string
        else { return }
        arrived.withLock { $0.append(.proof(signed)) }
        let response = await send(
            .post, "/v1/transactions", Array(#"{"signedTransaction":"\#(signed)"}"#.utf8), as: .user(user))
        try #require([200, 202].contains(response.status), "\(String(decoding: response.body, as: UTF8.self))")
    }

    /// Sets the server's clock to the store's.
    func passTime() {
        let now = lived.world.store.now
        time.withLock { $0 = now }
    }

    /// - Returns: the number of Apple's notifications that had not arrived.
    @discardableResult
    func catchUp() async throws -> Int64 {
        passTime()
        let reconciliations = Reconciliations(server.ledger, asking: api)
        let run = try await reconciliations.request(by: "test", since: YearWorld.start)
        let ended = try await reconciliations.advance()
        try #require(ended?.state == .finished, "\(String(describing: ended))")
        let counts = try await ledger.read { try ReconciliationTable($0).counts(of: run.rowID) }
        return counts.first { $0.name == "new_notifications" }?.count ?? 0
    }

    /// The differences that another reconciliation finds between Apple and the ledger.
    func drift() async throws -> [String] {
        let reconciliations = Reconciliations(server.ledger, asking: api)
        let run = try await reconciliations.request(by: "test", since: YearWorld.start)
        let ended = try await reconciliations.advance()
        try #require(ended?.state == .finished, "\(String(describing: ended))")
        return try await ledger.read { connection in
            try DifferenceTable(connection).list(run: run.rowID, after: 0, limit: 1_000).map(\.difference)
                .filter(\.kind.isDrift).map {
                    "\($0.kind.rawValue) \($0.transactionID?.text ?? "") \($0.was): \($0.now)"
                }
        }
    }

    // MARK: Apple's service

    private static func api(
        of emulator: Emulator, _ arrived: Locked<[Arrival]>, _ time: Locked<Instant>
    ) async throws -> ServerAPI {
        let key = try await Reply(emulator.respond(to: HTTPRequest(method: .get, path: "/emulator/api-key")))
        let host = "http://store.test"
        let effects = AppleEffects(
            exchange: { request async throws(AppleConnectionError) in
                let parts = request.url.dropFirst(host.count).split(separator: "?", maxSplits: 1)
                guard let method = HTTPMethod(rawValue: request.method.rawValue),
                    let path = try? PercentEncoding.decode(parts[0].utf8),
                    let query = try? PercentEncoding.items((parts.count > 1 ? String(parts[1]) : "").utf8)
                else { throw AppleConnectionError(.unreachable) }
                let response = await emulator.respond(
                    to: HTTPRequest(
                        method: method, path: path, query: query,
                        headers: HTTPHeaders(request.headers.map { ($0.name, $0.value) }), body: request.body))
                arrived.withLock { $0.append(.answer(response.body)) }
                return AppleResponse(
                    status: response.status, headers: response.headers.fields.map { .init($0.name, $0.value) },
                    body: response.body)
            },
            clock: { time.withLock { $0 } }, entropy: RandomBytes.make,
            pause: { pause in time.withLock { $0 = $0.adding(milliseconds: pause) } })
        var quotas = RequestQuotas()
        for endpoint in ServerAPI.Endpoint.allCases { quotas[endpoint, .production] = RequestQuota(10_000) }
        return ServerAPI(
            key: try InAppPurchaseKey(
                issuerID: key["issuerId"].text, keyID: key["keyId"].text,
                privateKey: PrivateKey(pem: key["privateKey"].text)),
            bundleID: YearCatalogue.bundleID, hosts: .emulator(at: host), environments: [.production],
            effects: effects, budget: RequestBudget(effects: effects, quotas: quotas))
    }
}
