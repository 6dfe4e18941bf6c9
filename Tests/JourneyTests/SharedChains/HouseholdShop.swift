import Testing
import TillAppStore
import TillBilling
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillServer

/// A shop whose customers share one Apple Account. Purchases come from the emulated store, or are signed in Apple's
/// formats under the store's root. The server gets what a test submits, and may ask the store.
struct HouseholdShop: Sendable {
    static let account = "family"
    static let basicYear = Shop.bundleID + ".basic_annual"
    static let premium = Shop.bundleID + ".premium_monthly"
    /// Gives 365 points for each year.
    static let lessonYear = Shop.bundleID + ".lessons_annual"
    private static let products: [(id: String, level: Int64, period: String, cents: Int64, right: String)] = [
        (basicYear, 2, "P1Y", 2_999, "basic"), (premium, 1, "P1M", 699, "premium"),
        (lessonYear, 3, "P1Y", 3_650, "lessons"),
    ]

    private static let catalog = Catalog(
        products: products.map { product in
            CatalogProduct(
                id: ProductID(product.id), type: .autoRenewable, names: LocalizedText(en: product.right, zh: "订阅"),
                price: Money(amount: product.cents, currency: Currency("USD")),
                points: product.id == lessonYear ? ["points": 365] : [:], entitlement: product.right)
        })

    let shop: Shop
    private let line: AppleProxy
    private let start: Instant

    static func open(
        _ reach: Reach = .inProcess, hasKey: Bool = true, policy: ReceiptPolicy = .provisional,
        _ journey: (HouseholdShop) async throws -> Void
    ) async throws {
        let line = AppleProxy()
        try await Shop.open(
            reach,
            change: { configuration in
                configuration.catalog = catalog
                configuration.receipts = ReceiptTerms(policy: policy)
            }, line: hasKey ? line : nil
        ) { shop in
            let listed = products.map { product -> JSONValue in
                [
                    "id": .string(product.id), "type": .string(TillBilling.ProductType.autoRenewable.rawValue),
                    "prices": ["USA": ["amount": .int(product.cents), "currency": "USD"]],
                    "subscriptionGroup": "plans", "level": .int(product.level), "period": .string(product.period),
                ]
            }
            let loaded = try await shop.ask(.put, "/emulator/products", ["products": .array(listed)])
            try #require(loaded.status == 200, "\(loaded.body)")
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            try await journey(HouseholdShop(shop: shop, line: line, start: shop.time.now))
        }
    }

    // MARK: At the store

    /// Opens an order and pays it with the family's Apple Account.
    func buy(_ product: String, as user: String) async throws -> Payment {
        let order = try await shop.openOrder(product, as: user)
        return try await pay(product, token: order)
    }

    func pay(_ product: String, token: OrderID?) async throws -> Payment {
        try await shop.pay(product, token: token, account: Self.account, storefront: "USA")
    }

    func act(_ path: String) async throws {
        let reply = try await shop.ask(.post, "/emulator/" + path)
        try #require(reply.status == 200, "\(path): \(reply.body)")
    }

    /// Time passes, the store does what is due, and sends its notifications.
    func pass(days: Int64) async throws {
        shop.time.advance(seconds: days * 86_400)
        _ = try await shop.ask(.get, "/emulator/subscriptions")
        await shop.emulator.sendDueNotifications()
    }

    /// The differences between Apple's records and the ledger, after one reconciliation.
    func driftAfterReconciliation() async throws -> [Difference] {
        let api = try await line.serverAPI(of: shop.emulator, time: shop.time)
        return try await shop.server.ledger.compareWithApple(asking: api).differences.filter { $0.kind.isDrift }
    }

    /// Whether a reconciliation leaves each customer's subscriptions and rights unchanged. Apple's answers about
    /// payloads that a test signed itself are empty.
    func isUnchangedByReconciliation(_ users: [String]) async throws -> Bool {
        let before = (try await states(users), try await rights(users))
        _ = try await driftAfterReconciliation()
        return before == (try await states(users), try await rights(users))
    }

    // MARK: In Apple's formats

    /// - Parameter days: the days of the purchase and of the end.
    func period(
        _ id: String, _ product: String, _ days: Range<Int64>, of chain: String = "7001", token: OrderID? = nil,
        renews: Bool = false, signed day: Int64? = nil, revoked: Int64? = nil
    ) throws -> String {
        var members: [String: JSONValue] = [
            "transactionId": .string(id), "originalTransactionId": .string(chain),
            "bundleId": .string(Shop.bundleID), "productId": .string(product),
            "type": "Auto-Renewable Subscription", "purchaseDate": at(days.lowerBound),
            "originalPurchaseDate": at(0), "expiresDate": at(days.upperBound), "quantity": 1,
            "environment": "Sandbox", "transactionReason": renews ? "RENEWAL" : "PURCHASE",
            "inAppOwnershipType": "PURCHASED", "signedDate": at(day ?? days.lowerBound), "price": 6_990,
            "currency": "USD",
        ]
        if let token { members["appAccountToken"] = .string(token.description) }
        if let revoked {
            members["revocationDate"] = at(revoked)
            members["revocationReason"] = 0
        }
        return try sign(.object(members))
    }

    /// The notification that Apple posts when it can't charge the next period.
    func failure(on day: Int64, grace: Int64, about signed: String, of chain: String = "7001") throws -> String {
        let word = try sign([
            "originalTransactionId": .string(chain), "environment": "Sandbox", "autoRenewStatus": 1,
            "autoRenewProductId": .string(Self.premium), "productId": .string(Self.premium), "signedDate": at(day),
            "isInBillingRetryPeriod": true, "gracePeriodExpiresDate": at(grace), "expirationIntent": 2,
            "renewalDate": at(day),
        ])
        return try sign([
            "notificationType": "DID_FAIL_TO_RENEW", "subtype": "GRACE_PERIOD", "version": "2.0",
            "notificationUUID": .string("00000000-0000-4000-8000-00000000000\(day % 10)"), "signedDate": at(day),
            "data": [
                "bundleId": .string(Shop.bundleID), "environment": "Sandbox", "status": 4,
                "signedTransactionInfo": .string(signed), "signedRenewalInfo": .string(word),
            ],
        ])
    }

    private func sign(_ payload: JSONValue) throws -> String {
        try shop.emulator.issuer.sign(payload: Array(payload.encoded().utf8))
    }

    private func at(_ day: Int64) -> JSONValue { .int(start.adding(seconds: day * 86_400).milliseconds) }

    /// Sets the clock to a day.
    func go(to day: Int64) {
        let left = start.seconds + day * 86_400 + 1 - shop.time.now.seconds
        if left > 0 { shop.time.advance(seconds: left) }
    }

    // MARK: At the server

    /// `granted`, `quarantined reason` and so on, with `finish` if the device may finish.
    @discardableResult
    func submit(_ signed: String, as user: String) async throws -> String {
        let reply = try await shop.submit(signed, as: .user(user))
        return [reply["outcome"].text, reply["reason"].text, reply["finish"] == true ? "finish" : ""]
            .filter { !$0.isEmpty }.joined(separator: " ")
    }

    func post(_ notification: String) async throws {
        let reply = try await shop.send(
            .post, "/v1/notifications/apple", ["signedPayload": .string(notification)], as: .anonymous)
        #expect(reply.status == 200, "\(reply.body)")
    }

    /// An operator decides the owner of a purchase in quarantine.
    func decide(_ transaction: String, for user: String) async throws -> Int {
        try await shop.send(
            .post, "/v1/quarantine/\(transaction)/claims",
            ["userId": .string(user), "reason": "called and showed the mail", "operator": "li"]
        ).status
    }

    /// `state product` of each user's one subscription; empty for a user without one.
    func states(_ users: [String]) async throws -> [String] {
        var reported: [String] = []
        for user in users {
            let reply = try await shop.send(.get, "/v1/users/\(user)/subscriptions", as: .user(user))
            reported.append(
                reply["data"].list.map {
                    "\($0.at("state").text) \($0.at("productId").text.dropFirst(Shop.bundleID.utf8.count + 1))"
                }.joined(separator: ", "))
        }
        return reported
    }

    /// The current rights of each user.
    func rights(_ users: [String]) async throws -> [String] {
        var reported: [String] = []
        for user in users {
            let reply = try await shop.send(.get, "/v1/users/\(user)/entitlements", as: .user(user))
            reported.append(reply["data"].list.map { $0.at("entitlement").text }.joined(separator: " "))
        }
        return reported
    }

    /// The states in the events of a user, in order.
    func received(_ user: String) async throws -> [String] {
        try await shop.ledger.read { connection in
            try connection.query(
                """
                SELECT body FROM outbox WHERE type = 'subscription.updated' AND customer_id = \(customer: 1) ORDER BY \
                row_id
                """,
                [.text(user)]
            ) { try JSONValue(decoding: Array($0.text("body").utf8)).at("state").text }
        }
    }
}
