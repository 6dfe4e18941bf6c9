import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillSQL
import TillServer
import TillTestDatabases

@Suite("What a request reads, however much its customer owns") struct PurchaseCostTests {
    @Test("The start of a subscription reads as much for a customer who owns twenty others as for one who owns two")
    func start() async throws {
        try await CountedShop.open { shop in
            for number in 1...20 { try await shop.buy(CountedShop.points, number) }
            for number in 101...102 { try await shop.subscribe(number) }
            let early = try await shop.database.count { try await shop.subscribe(103) }
            for number in 104...120 { try await shop.subscribe(number) }
            let late = try await shop.database.count { try await shop.subscribe(121) }
            #expect(late == early)
            #expect(try await shop.entitlements().count == 21)
            // Each of them has a reminder of its own, and keeps it.
            let reminders = try await shop.database.read { connection in
                try connection.query("SELECT subject FROM reminders", []) { $0.text("subject") }
            }
            #expect(Set(reminders).count == 21)
        }
    }

    @Test("A customer's entitlements are one statement, and a grant is in the next answer")
    func entitlements() async throws {
        try await CountedShop.open { shop in
            for number in 1...3 {
                try await shop.subscribe(number)
                #expect(try await shop.entitlements().count == number)
            }
            let few = try await shop.database.count { _ = try await shop.entitlements() }
            for number in 4...20 { try await shop.subscribe(number) }
            let many = try await shop.database.count { _ = try await shop.entitlements() }
            #expect(few == CountingDatabase.Count(statements: 1, rows: 3))
            #expect(many == CountingDatabase.Count(statements: 1, rows: 20))
        }
    }

    @Test("A customer's entitlements read none of their consumables, where the catalogue gives no right for one")
    func pointsAreNotRead() async throws {
        try await CountedShop.open(badges: false) { shop in
            try await shop.subscribe(1)
            for number in 2...9 { try await shop.buy(CountedShop.points, number) }
            #expect(try await shop.entitlements() == ["pro"])
            let count = try await shop.database.count { _ = try await shop.entitlements() }
            #expect(count == CountingDatabase.Count(statements: 1, rows: 1))
        }
    }

    @Test("A consumable keeps the entitlement of its grant when the catalogue gives it no more")
    func keptEntitlement() async throws {
        try await CountedShop.open { shop in
            try await shop.buy(CountedShop.points, 1)
            try await shop.buy(CountedShop.badge, 2)
            let later = try shop.with(badges: false)
            #expect(try await later.entitlements() == ["badge"])
            #expect(try await later.database.count { _ = try await later.entitlements() }.rows == 1)
        }
    }

    @Test("A consumable that gives an entitlement is among a customer's entitlements, and one of points is not")
    func consumables() async throws {
        try await CountedShop.open { shop in
            try await shop.buy(CountedShop.points, 1)
            try await shop.buy(CountedShop.badge, 2)
            #expect(try await shop.entitlements() == ["badge"])
        }
    }
}

/// A server on a ledger whose statements are counted, and one customer.
private struct CountedShop {
    static let (points, badge, monthly) = ("com.example.learn.points", "com.example.learn.badge", "com.example.learn.m")
    private static let bundleID = "com.example.learn"
    private static let (secretKey, user) = ("sk_cost_0123456789abcdef", "u1")

    let database: CountingDatabase
    private let server: Server
    private let issuer: Issuer
    private let time: TestClock

    /// - Parameter badges: whether the badge, a consumable, gives an entitlement.
    static func open(badges: Bool = true, _ use: (CountedShop) async throws -> Void) async throws {
        try await withLedger { ledger in
            let time = TestClock()
            let issuer = try Issuer.create(at: time.now, keys: Shop.receiptKeys) { RandomBytes.make(16) }
            try await use(CountedShop(ledger, time, issuer, badges: badges))
        }
    }

    /// Another server on the same ledger.
    func with(badges: Bool) throws -> CountedShop { try CountedShop(database.base, time, issuer, badges: badges) }

    private init(_ ledger: any Database, _ time: TestClock, _ issuer: Issuer, badges: Bool) throws {
        database = CountingDatabase(ledger)
        (self.time, self.issuer) = (time, issuer)
        func product(_ id: String, _ type: TillBilling.ProductType) -> CatalogProduct {
            CatalogProduct(
                id: ProductID(id), type: type, names: LocalizedText(en: id, zh: id),
                price: Money(amount: 600, currency: Currency("CNY")), points: id == Self.points ? ["points": 60] : [:],
                entitlement: id == Self.monthly ? "pro" : id == Self.badge && badges ? "badge" : nil)
        }
        let configuration = ServerConfiguration(
            catalog: Catalog(products: [
                product(Self.points, .consumable), product(Self.badge, .consumable),
                product(Self.monthly, .autoRenewable),
            ]),
            apple: AppleTrust(
                roots: [issuer.rootCertificate], bundleID: Self.bundleID, appAppleID: nil, environments: [.sandbox]),
            secretKeys: [SecretKey(id: "backend", sha256: Digest.sha256.hash(Self.secretKey.utf8))])
        server = try Server(
            configuration: configuration, database: database, clock: { [time] in time.now }, entropy: RandomBytes.make)
    }

    private func order(_ number: Int) -> UniqueID {
        UniqueID(high: 0x7111_0000_0000_4000, low: 1 << 63 | UInt64(number))
    }

    private func ask(_ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        let answer = await server.respond(
            to: HTTPRequest(
                method: method, path: path,
                headers: HTTPHeaders([
                    (name: "Authorization", value: "Bearer \(Self.secretKey)"),
                    (name: "Content-Type", value: "application/json"),
                ]), body: body.map { Array($0.encoded().utf8) } ?? []))
        let json = try JSONValue(decoding: answer.body)
        try #require((200...201).contains(answer.status), "\(json.encoded())")
        return json
    }

    private func open(_ product: String, _ number: Int) async throws {
        _ = try await ask(
            .post, "/v1/orders",
            ["id": .string(order(number).description), "userId": .string(Self.user), "productId": .string(product)])
    }

    private func signed(_ product: String, _ number: Int) throws -> String {
        let (id, bought) = (String(2_000_000_000_000_000 + number), time.now.milliseconds - 60_000)
        var payload: [String: JSONValue] = [
            "transactionId": .string(id), "originalTransactionId": .string(id), "bundleId": .string(Self.bundleID),
            "productId": .string(product), "purchaseDate": .int(bought), "originalPurchaseDate": .int(bought),
            "quantity": 1, "type": "Consumable", "appAccountToken": .string(order(number).description),
            "inAppOwnershipType": "PURCHASED", "signedDate": .int(bought + 500), "environment": "Sandbox",
            "transactionReason": "PURCHASE", "storefront": "CHN", "storefrontId": "143465", "price": 6_000,
            "currency": "CNY",
        ]
        if product == Self.monthly {
            payload["type"] = "Auto-Renewable Subscription"
            payload["expiresDate"] = .int(bought + 30 * 86_400_000)
            payload["subscriptionGroupIdentifier"] = "21000001"
        }
        return try sign(.object(payload))
    }

    private func sign(_ payload: JSONValue) throws -> String {
        try issuer.sign(payload: Array(payload.encoded().utf8))
    }

    func buy(_ product: String, _ number: Int) async throws {
        try await open(product, number)
        let reply = try await ask(
            .post, "/v1/transactions", ["signedTransaction": .string(try signed(product, number))])
        try #require(reply["outcome"] == "granted")
    }

    /// The server learns of it by Apple's notification.
    func subscribe(_ number: Int) async throws {
        try await open(Self.monthly, number)
        let transaction = try signed(Self.monthly, number)
        let renewal = try sign([
            "originalTransactionId": .string(String(2_000_000_000_000_000 + number)),
            "autoRenewProductId": .string(Self.monthly), "productId": .string(Self.monthly), "autoRenewStatus": 1,
            "environment": "Sandbox", "signedDate": .int(time.now.milliseconds - 59_000),
        ])
        let id = UniqueID(high: 0x7333_0000_0000_4000, low: 1 << 63 | UInt64(number))
        let payload: JSONValue = [
            "notificationType": "SUBSCRIBED", "subtype": "INITIAL_BUY", "notificationUUID": .string(id.description),
            "version": "2.0", "signedDate": .int(time.now.milliseconds - 58_000),
            "data": [
                "bundleId": .string(Self.bundleID), "bundleVersion": "1", "environment": "Sandbox",
                "signedTransactionInfo": .string(transaction), "signedRenewalInfo": .string(renewal),
            ],
        ]
        _ = try await ask(.post, "/v1/notifications/apple", ["signedPayload": .string(try sign(payload))])
    }

    /// The customer's entitlements.
    func entitlements() async throws -> [String] {
        try await ask(.get, "/v1/users/\(Self.user)/entitlements")["data"]?.array?.compactMap {
            $0["entitlement"]?.string
        } ?? []
    }
}
