import Foundation
import Testing
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillServer

/// A server with operators, an emulated App Store beside it, and visitors of the dashboard.
final class DashboardServer: Sendable {
    static let host = "127.0.0.1:8787"
    static let secretKey = "sk_office_0123456789abcdef"
    /// Signs user tokens.
    static let userSecret = Array("a user token's secret of 32 bytes".utf8)
    static let operatorToken = "op_office_fedcba9876543210"
    static let bundleID = "com.example.learn"
    static let points60 = "com.example.learn.points60"
    static let unlisted = "com.example.learn.unlisted"

    /// The server that answers; `reload` replaces it.
    var server: Server { running.withLock { $0 } }
    private let running: Locked<Server>
    let ledger: any Database
    let emulator: Emulator
    let time: StandingClock

    private init(server: Server, ledger: any Database, emulator: Emulator, time: StandingClock) {
        running = Locked(server)
        self.ledger = ledger
        self.emulator = emulator
        self.time = time
    }

    /// Changes the running server's configuration, as a reload does.
    func reload(_ change: (inout ServerConfiguration) -> Void) async throws {
        var configuration = server.configuration
        change(&configuration)
        let next = try await server.changed(to: configuration)
        running.withLock { $0 = next }
    }

    /// Lets another server answer, as a balancer in front of several does.
    func turn(to server: Server) { running.withLock { $0 = server } }

    static func open(
        operators: [String] = [operatorToken], hosts: [String] = [],
        change: (inout ServerConfiguration) -> Void = { _ in }, _ visit: (DashboardServer) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let time = StandingClock()
        var store = EmulatorConfiguration()
        store.app = EmulatedApp(bundleID: bundleID)
        store.products = [sold(points60), sold(unlisted)]
        store.keys = receiptKeys
        let storeFile = try Emulator.openDatabase(path: folder.appendingPathComponent("store.db").path)
        let emulator = try await Emulator(
            configuration: store, database: storeFile, clock: { time.now }, entropy: RandomBytes.make,
            send: { _, _ async throws(HTTPError) in throw HTTPError(.cannotConnect, "no server listens") })
        let place = try LedgerPlace(in: folder)
        let ledger = try place.open()
        var configuration = ServerConfiguration(
            catalog: catalog,
            apple: AppleTrust(
                roots: [emulator.issuer.rootCertificate], bundleID: bundleID, appAppleID: nil,
                environments: [.sandbox]),
            secretKeys: [SecretKey(id: "backend", sha256: Digest.sha256.hash(secretKey.utf8))],
            userTokens: [UserTokenKey(id: "app", algorithm: .hs256(secret: userSecret))],
            operators: operators.map { SecretKey(id: "anna", sha256: Digest.sha256.hash($0.utf8)) },
            dashboardHosts: hosts)
        // There is no key for Apple's API, so receipts are granted by the order id beside them.
        configuration.receipts = ReceiptTerms(policy: .provisional)
        change(&configuration)
        let server = try Server(
            configuration: configuration, database: ledger, clock: { time.now }, entropy: RandomBytes.make)
        let dashboardServer = DashboardServer(server: server, ledger: ledger, emulator: emulator, time: time)
        func close() async throws {
            await ledger.close()
            await storeFile.close()
            try place.remove()
        }
        do {
            try await visit(dashboardServer)
        } catch {
            try await close()
            throw error
        }
        try await close()
    }

    private static let catalog = Catalog(products: [
        CatalogProduct(
            id: ProductID(points60), type: .consumable, names: LocalizedText(en: "60 points", zh: "60 学点"),
            price: Money(amount: 600, currency: Currency("CNY")), points: ["points": 60])
    ])

    private static func sold(_ id: String) -> StoreProduct {
        StoreProduct(
            id: ProductID(id), kind: .consumable, name: id,
            prices: ["CHN": Money(amount: 600, currency: Currency("CNY"))])
    }

    /// RSA keys take a second to make, so all offices share theirs.
    private static let receiptKeys: [String: String] = {
        let keys = ["receiptIntermediate", "receiptSigner"].compactMap { name in
            (try? PrivateKey.generate(.rsa2048).pem()).map { (name, $0) }
        }
        return Dictionary(uniqueKeysWithValues: keys)
    }()

    // MARK: Purchases

    /// Calls Till's own API as the app's backend.
    func call(_ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        var request = HTTPRequest(method: method, path: path)
        request.headers.add("Authorization", "Bearer \(Self.secretKey)")
        request.body = body.map { Array($0.encoded().utf8) } ?? []
        return try JSONValue(decoding: await server.respond(to: request).body)
    }

    @discardableResult
    func openOrder(user: String, quantity: Int64 = 1, device: String? = nil, metadata: JSONValue? = nil) async throws
        -> OrderID
    {
        var body: [String: JSONValue] = [
            "userId": .string(user), "productId": .string(Self.points60), "quantity": .int(quantity),
        ]
        if let device { body["deviceId"] = .string(device) }
        if let metadata { body["metadata"] = metadata }
        return try #require(UniqueID(try await call(.post, "/v1/orders", .object(body))["id"]?.string ?? ""))
    }

    func close(_ order: OrderID, as action: String, reason: String) async throws {
        let reply = try await call(.post, "/v1/orders/\(order)/\(action)", ["reason": .string(reason)])
        #expect(reply["status"]?.string != nil)
    }

    /// Pays in the emulated App Store; returns the transaction that the store signed.
    func pay(_ product: String = points60, token: OrderID?) async throws -> (id: String, signed: String) {
        var body: [String: JSONValue] = ["bundleId": .string(Self.bundleID), "productId": .string(product)]
        if let token { body["appAccountToken"] = .string(token.description) }
        let request = HTTPRequest(
            method: .post, path: "/emulator/purchases", headers: HTTPHeaders([("Content-Type", "application/json")]),
            body: Array(JSONValue.object(body).encoded().utf8))
        let reply = try JSONValue(decoding: await emulator.respond(to: request).body)
        return (try #require(reply["transactionId"]?.string), try #require(reply["signedTransaction"]?.string))
    }

    @discardableResult
    func submit(_ signed: String, order: OrderID? = nil) async throws -> JSONValue {
        var body: [String: JSONValue] = ["signedTransaction": .string(signed)]
        if let order { body["orderId"] = .string(order.description) }
        return try await call(.post, "/v1/transactions", .object(body))
    }

    /// Creates an order that is paid and granted.
    @discardableResult
    func sell(to user: String) async throws -> (order: OrderID, transaction: String) {
        let order = try await openOrder(user: user)
        let payment = try await pay(token: order)
        #expect(try await submit(payment.signed)["outcome"]?.string == "granted")
        return (order, payment.id)
    }

    /// Submits a proof that Apple did not sign, with an order id beside it.
    func forge(beside order: OrderID) async throws -> [UInt8] {
        let payment = try await pay(token: order)
        let forged = try #require(try Issuer.forged(payment.signed, at: time.now) { RandomBytes.make(16) })
        #expect(try await submit(forged, order: order)["code"]?.string == "chain_untrusted")
        return Digest.sha256.hash(forged.utf8)
    }
}

/// A clock that changes only when a test moves it.
final class StandingClock: Sendable {
    private let instant = Locked(Instant(seconds: 1_790_000_000))
    var now: Instant { instant.withLock { $0 } }
    func advance(seconds: Int64) { instant.withLock { $0 = $0.adding(seconds: seconds) } }
}
