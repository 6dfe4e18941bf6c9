import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillPostgres
import TillSQL
import TillServer
import TillTestDatabases
import TillThreads

/// One ledger on PostgreSQL, two pairs of servers on it, and the store that signs what their customers pay.
final class SharedLedgerWorld: Sendable {
    static let bundleID = "com.example.learn"
    static let secretKey = "sk_interleaving_0123456789"
    private static let userSecret = Array("a secret of the interleavings' own, long".utf8)

    /// Two servers with four connections each, and two with one: there, bodies share transactions.
    let pairs: [[Server]]
    let issuer: Issuer
    let stepper: Stepper
    private let databases: [PostgresDatabase]
    private let place: LedgerPlace
    private let session: Locked<PostgresSession>
    private let time: Locked<Instant>
    private let sent = Locked<[String]>([])

    var now: Instant { time.withLock { $0 } }

    private init(_ place: LedgerPlace, hasKeys: Bool) async throws {
        self.place = place
        let session = try #require(try place.session(), "a ledger on PostgreSQL")
        // Deadlocks between bodies are ended at once.
        let name = try session.run("SELECT current_database()")[0][0] ?? ""
        try session.run("ALTER DATABASE \(name) SET deadlock_timeout = '5ms'")
        self.session = Locked(try #require(try place.session()))
        let stepper = Stepper(session)
        self.stepper = stepper
        let start = Instant(seconds: 1_790_000_000)
        let time = Locked(start)
        self.time = time
        issuer = try Issuer.create(at: start) { RandomBytes.make(16) }
        let sent = sent
        var configuration = Self.configuration(root: issuer.rootCertificate)
        configuration.webhooks = try Self.webhooks()
        var (pairs, databases): ([[Server]], [PostgresDatabase]) = ([], [])
        for writers in [4, 1] {
            var pair: [Server] = []
            for _ in 0..<2 {
                var options = PostgresDatabase.Options(.ledger)
                (options.connections, options.readers) = (writers, 8)
                (options.lockMilliseconds, options.statementMilliseconds) = (120_000, 120_000)
                options.step = { backend, statement in stepper.step(backend, statement) }
                let base = try PostgresDatabase.open(address: place.address, role: .server, options: options)
                databases.append(base)
                let stepped = SteppedDatabase(base: base, stepper: stepper, writers: writers)
                let database: any Database = hasKeys ? stepped : KeylessDatabase(base: stepped)
                pair.append(
                    try Server(
                        configuration: configuration, database: database, clock: { time.withLock { $0 } },
                        entropy: RandomBytes.make,
                        webhookSend: { _, request in
                            sent.withLock { $0.append(request.headers["webhook-id"] ?? "") }
                            return HTTPResponse(status: 200)
                        }))
            }
            pairs.append(pair)
        }
        (self.pairs, self.databases) = (pairs, databases)
        for server in pairs.joined() {
            _ = try await server.ledger.recordCatalog()
            _ = try await server.ledger.identity()
        }
    }

    /// Opens a world, and closes it in every case.
    static func open(hasKeys: Bool = true, _ body: (SharedLedgerWorld) async throws -> Void) async throws {
        try await withLedgerPlace(on: .postgres) { place in
            let world = try await SharedLedgerWorld(place, hasKeys: hasKeys)
            do {
                try await body(world)
            } catch {
                await world.close()
                throw error
            }
            await world.close()
        }
    }

    private func close() async { for database in databases { await database.close() } }

    /// Statements beside the servers; each value as text.
    @discardableResult
    func sql(_ script: String) throws -> [[String?]] {
        try session.withLock { try $0.run(script) }
    }

    func count(_ query: String) throws -> Int { Int(try sql(query).first?.first.flatMap { $0 } ?? "") ?? -1 }

    func openDatabase() throws -> any Database { try place.open() }

    func advance(seconds: Int64) { time.withLock { $0 = $0.adding(seconds: seconds) } }

    /// The ids of the events that were sent to the endpoint.
    var sentEvents: [String] { sent.withLock { $0 } }

    // MARK: Configuration

    static let points60 = "com.example.learn.points60"
    static let pro = "com.example.learn.pro"
    static let monthly = "com.example.learn.monthly"
    static let course = "com.example.learn.course"

    static func configuration(root: [UInt8]) -> ServerConfiguration {
        func product(
            _ id: String, _ type: ProductType, _ cents: Int64, points: [String: Int64] = [:],
            entitlement: String? = nil, plan: PlanTerms? = nil
        ) -> CatalogProduct {
            CatalogProduct(
                id: ProductID(id), type: type, names: LocalizedText(en: id, zh: "商品"),
                price: Money(amount: cents, currency: Currency("CNY")), points: points, entitlement: entitlement,
                plan: plan)
        }
        let year = PlanLength("P1Y").map { PlanTerms(id: PlanID("course"), length: $0, rank: "course") }
        let catalog = Catalog(products: [
            product(points60, .consumable, 600, points: ["points": 60]),
            product(pro, .nonConsumable, 9_800, entitlement: "pro"),
            product(monthly, .autoRenewable, 1_200, entitlement: "member"),
            product(course, .nonRenewing, 4_800, plan: year),
        ])
        var configuration = ServerConfiguration(
            catalog: catalog,
            apple: AppleTrust(roots: [root], bundleID: bundleID, appAppleID: nil, environments: [.sandbox]),
            secretKeys: [SecretKey(id: "backend", sha256: Digest.sha256.hash(secretKey.utf8))],
            userTokens: [UserTokenKey(id: "app", algorithm: .hs256(secret: userSecret))])
        configuration.restore = RestoreTerms(policy: .move)
        configuration.debt = .forgive
        // As in production: each commit leaves its mark.
        configuration.sealKey = SealKey("a key of seals, at least thirty-two bytes")
        return configuration
    }

    private static func webhooks() throws -> WebhookSettings {
        var settings = WebhookSettings()
        settings.allowsPrivate = true
        let secret = WebhookSecret("whsec_" + Base64.encode([UInt8](repeating: 7, count: 32)))
        let url = try WebhookURL("http://127.0.0.1:9/events", allowsPlain: true)
        settings.endpoints = secret.map { [WebhookEndpoint(id: "shop", url: url, secrets: [$0])] } ?? []
        return settings
    }

    // MARK: Requests

    enum Party: Sendable {
        case backend
        case user(String)
        case apple
    }

    func request(
        _ method: HTTPMethod, _ path: String, as party: Party = .backend, key: String? = nil, _ body: JSONValue? = nil
    ) -> HTTPRequest {
        var headers: [(name: String, value: String)] = []
        switch party {
        case .backend: headers.append(("Authorization", "Bearer \(Self.secretKey)"))
        case .user(let user): headers.append(("Authorization", "Bearer \(token(of: user))"))
        case .apple: break
        }
        if let key { headers.append(("Idempotency-Key", key)) }
        if body != nil { headers.append(("Content-Type", "application/json")) }
        return HTTPRequest(
            method: method, path: path, headers: HTTPHeaders(headers),
            body: body.map { Array($0.encoded().utf8) } ?? [], peer: "127.0.0.1")
    }

    private func token(of user: String) -> String {
        var claims: [String: JSONValue] = ["sub": .string(user), "exp": .int(now.seconds + 600)]
        if user.hasSuffix("-g") { claims["guest"] = true }
        let parts: [JSONValue] = [["alg": "HS256", "typ": "JWT"], .object(claims)]
        let message = parts.map { Base64.encode(Array($0.encoded().utf8), .url) }
            .joined(separator: ".")
        let code = Base64.encode(HMACSHA256.code(for: message.utf8, key: Self.userSecret), .url)
        return "\(message).\(code)"
    }
}
