import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// LearnPoints' shop for the demo: an emulated App Store and a purchase server in this process, each with a listener on
/// 127.0.0.1.
struct DemoShop: Sendable {
    static let bundleID = SampleShop.learnPoints.bundleID

    let store: RunningEmulator
    let server: RunningServer
    let catalog: Catalog
    /// The storefront of the buyers, whose language and currency its products have.
    let storefront: String
    let secretKey: String
    let operatorToken: String
    /// Signs the buyers' tokens, in place of the app's own backend.
    let userTokenSecret: String
    private let fetch: Fetch
    private let clock: @Sendable () -> Instant

    /// - Throws: `CommandError` with the reason.
    static func open(
        in directory: String, port: UInt16, language: Language, process: ProcessEffects
    ) async throws -> DemoShop {
        let storefront = language == .chinese ? "CHN" : "USA"
        let catalog = SampleShop.learnPoints.catalog
        let fetch = try Fetch()
        var selling = EmulatorConfiguration()
        selling.app = EmulatedApp(bundleID: bundleID)
        selling.products = SampleShop.learnPoints.products()
        selling.storefront = storefront
        let store = try await RunningEmulator(selling, directory: directory, port: 0, process: process)
        let keys = InitialFiles(directory: directory, entropy: process.entropy)
        // The emulator's root is trusted only here, with the sandbox as the only environment.
        var configuration = Configuration(
            listen: ListenAddress(host: "127.0.0.1", port: port),
            database: .sqlite(path: resolve("till.db", from: directory)), catalog: catalog,
            apple: AppleSettings(
                bundleID: bundleID, appAppleID: nil, environments: [.sandbox],
                roots: [store.emulator.issuer.rootCertificate]),
            appleService: .none,
            secretKeys: [SecretKey(id: "demo", sha256: Digest.sha256.hash(keys.secretKey.utf8))],
            userTokens: [UserTokenKey(id: "app", algorithm: .hs256(secret: Array(keys.userTokenSecret.utf8)))],
            operators: [SecretKey(id: "demo", sha256: Digest.sha256.hash(keys.operatorToken.utf8))],
            dashboardHosts: [], reviewUsers: [])
        // The second buyer uses StoreKit 1, and this server has no key to request signed transactions.
        configuration.receipts = ReceiptTerms(policy: .provisional)
        do {
            return DemoShop(
                store: store,
                server: try await RunningServer(
                    configuration, process: process, storeClock: { store.emulator.store.now }), catalog: catalog,
                storefront: storefront, secretKey: keys.secretKey, operatorToken: keys.operatorToken,
                userTokenSecret: keys.userTokenSecret,
                fetch: fetch, clock: process.clock)
        } catch {
            await store.stop()
            throw error
        }
    }

    var serverURL: String { "http://127.0.0.1:\(server.port)" }
    var storeURL: String { "http://127.0.0.1:\(store.port)" }
    var dashboard: String { serverURL + "/dashboard" }

    /// The price that the buyers see.
    func price(of product: CatalogProduct) -> Money {
        let currency = Currency(storefront == "CHN" ? "CNY" : "USD")
        return product.prices[currency.text].map { Money(amount: $0, currency: currency) } ?? product.price
    }

    /// Runs the jobs of both sides until its task is cancelled.
    func work() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await store.runJobs() }
            group.addTask { await server.runJobs() }
        }
    }

    /// The server stops first: the store can send its remaining notifications later.
    func close() async {
        await server.stop(.demo)
        await store.stop()
        fetch.stop()
    }

    /// A user token, HS256.
    func token(of user: UserID, hours: Int64 = 1) -> String {
        let header = Base64.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8), .url)
        let claims: JSONValue = ["sub": .string(user.text), "exp": .int(clock().seconds + hours * 3_600)]
        let message = "\(header).\(Base64.encode(claims.encodedBytes(), .url))"
        let code = HMACSHA256.code(for: message.utf8, key: userTokenSecret.utf8)
        return "\(message).\(Base64.encode(code, .url))"
    }

    // MARK: Requests of the app's backend

    func points(of user: UserID) async throws -> Int64 {
        let path = "/v1/users/\(user)/wallet"
        let wallet = try await JSONCall(fetch).get(serverURL + path, bearer: secretKey)
        return wallet["balances"]?["points"]?.int ?? 0
    }

    /// The number of purchases that put points into the wallet.
    func grants(of user: UserID) async throws -> Int {
        let path = "/v1/users/\(user)/wallet/postings?limit=100"
        let postings = try await JSONCall(fetch).get(serverURL + path, bearer: secretKey)
        return (postings["data"]?.array ?? []).filter { $0["kind"]?.string == "purchase" }.count
    }

    func status(of order: OrderID) async throws -> String {
        try await JSONCall(fetch).get(serverURL + "/v1/orders/\(order)", bearer: secretKey)["status"]?.string ?? ""
    }

    // MARK: The store's notifications

    func setNotifications(on isOn: Bool) async throws {
        try await store.emulator.store.setNotificationURL(isOn ? serverURL + "/v1/notifications/apple" : nil)
    }

    /// Waits up to five seconds until the store has sent all notifications.
    /// - Returns: whether all were sent.
    func notificationsArrived() async throws -> Bool {
        for _ in 0..<100 {
            let state = try await JSONCall(fetch).get(storeURL + "/emulator/state")
            if state["notifications"]?["pending"]?.int == 0 { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }
}
