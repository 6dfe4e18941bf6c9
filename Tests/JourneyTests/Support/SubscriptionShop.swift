import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// A shop that sells subscriptions of two groups, and a customer who subscribes there. The server learns of it only by
/// Apple's notifications (U2).
struct SubscriptionShop {
    static let prefix = Shop.bundleID + "."

    /// id, group, level, period, cents
    private static let products: [(id: String, group: String, level: Int64, period: String, cents: Int64)] = [
        ("basic", "plans", 2, "P1M", 299), ("premium", "plans", 1, "P1M", 699),
        ("premium_annual", "plans", 1, "P1Y", 6_999), ("music", "music", 1, "P1W", 199),
    ]

    private static let catalog = Catalog(
        products: products.map { product in
            CatalogProduct(
                id: ProductID(prefix + product.id), type: .autoRenewable,
                names: LocalizedText(en: product.id, zh: "订阅 \(product.id)"),
                price: Money(amount: product.cents, currency: Currency("USD")),
                entitlement: product.id == "premium_annual" ? "premium" : product.id)
        })

    let shop: Shop
    private let start: Instant
    /// The original transaction by the product that was bought, and the newest of them.
    private var originals: [String: String] = [:]
    private(set) var newest = ""

    static func open(
        line: AppleProxy? = nil, _ journey: (inout SubscriptionShop) async throws -> Void
    ) async throws {
        try await Shop.open(change: { $0.catalog = catalog }, line: line) { shop in
            let listed = products.map { product -> JSONValue in
                let trial: JSONValue = [["kind": "introductory", "discount": "FREE_TRIAL", "period": "P1W"]]
                return [
                    "id": .string(prefix + product.id), "type": .string(TillBilling.ProductType.autoRenewable.rawValue),
                    "prices": ["USA": ["amount": .int(product.cents), "currency": "USD"]],
                    "subscriptionGroup": .string(product.group), "level": .int(product.level),
                    "period": .string(product.period), "familyShareable": .bool(product.id == "music"),
                    "offers": product.id == "music" ? trial : [],
                ]
            }
            let loaded = try await shop.ask(.put, "/emulator/products", ["products": .array(listed)])
            try #require(loaded.status == 200, "\(loaded.body)")
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            var subscriptions = SubscriptionShop(shop: shop, start: shop.time.now)
            try await journey(&subscriptions)
        }
    }

    private init(shop: Shop, start: Instant) {
        self.shop = shop
        self.start = start
    }

    // MARK: Actions

    mutating func act(_ line: String) async throws {
        let words = line.split(separator: " ").map(String.init)
        let argument = words.count > 1 ? words[1] : ""
        let original = originals[argument] ?? newest
        switch words[0] {
        case "buy": try await buy(argument)
        case "wait": shop.time.advance(seconds: (Int64(argument) ?? 0) * 86_400)
        case "grace": try await order(.put, "/emulator/subscriptions/grace", ["days": .int(Int64(argument) ?? 0)])
        case "change": try await change(original, "upgrade", ["productId": .string(Self.prefix + argument)], newest)
        case "raise":
            try await change(
                original, "priceIncrease",
                ["price": ["amount": .int(Int64(argument) ?? 0), "currency": "USD"], "needsConsent": true], newest)
        case "consent": try await change(original, "consent", ["accept": true])
        case "extend": try await change(newest, "extend", ["days": .int(Int64(argument) ?? 0)])
        case "refund", "reverse":
            let path = words[0] == "refund" ? "refund" : "refundReversal"
            let subscription = try await shop.ask(.get, "/emulator/subscriptions/\(newest)")
            let id = argument == "first" ? newest : subscription["currentTransactionId"].text
            try await order(.post, "/emulator/transactions/\(id)/\(path)", nil)
        default: try await change(original, words[0], nil)
        }
        try await doWhatIsDue()
        shop.time.advance(seconds: 1)
    }

    /// Any request makes the store do what is due; then it sends its notifications.
    func doWhatIsDue() async throws {
        _ = try await shop.ask(.get, "/emulator/subscriptions")
        await shop.emulator.sendDueNotifications()
    }

    private mutating func buy(_ product: String) async throws {
        let id = JSONValue.string(Self.prefix + product)
        let order = try await shop.send(.post, "/v1/orders", ["productId": id], as: .user("u1"))
        let paid = try await shop.ask(
            .post, "/emulator/purchases",
            [
                "bundleId": .string(Shop.bundleID), "productId": id, "storefront": "USA", "account": "u1",
                "appAccountToken": order["id"], "receipt": false,
            ])
        try #require(paid.status == 200, "\(paid.body)")
        newest = paid["originalTransactionId"].text
        originals[product] = newest
    }

    private func change(
        _ original: String, _ act: String, _ body: JSONValue?, _ instead: String? = nil
    ) async throws {
        try await order(.post, "/emulator/subscriptions/\(instead ?? original)/\(act)", body)
    }

    private func order(_ method: HTTPMethod, _ path: String, _ body: JSONValue?) async throws {
        let reply = try await shop.ask(method, path, body)
        try #require(reply.status == 200, "\(path): \(reply.body)")
    }

    // MARK: The server's answers

    /// Each current or past right with its reason: `basic:replaced premium:subscribed`.
    func rights(of user: String = "u1") async throws -> String {
        var reported: [String] = []
        let held = try await shop.send(.get, "/v1/users/\(user)/entitlements", as: .user(user))["data"].list
        for name in ["basic", "premium", "music"] {
            let answer = try await shop.send(.get, "/v1/users/\(user)/entitlements/\(name)", as: .user(user))
            #expect(answer.status == 200 && answer["entitlement"].text == name)
            let isHeld = held.contains { $0.at("entitlement").text == name }
            #expect(answer["allowed"] == .bool(isHeld), "\(answer.body)")
            let why = answer["why"].text
            #expect((why == "never_had") == answer["sources"].list.isEmpty)
            if why != "never_had" { reported.append("\(name):\(why)") }
        }
        return reported.joined(separator: " ")
    }

    /// Each subscription with its state, product, day of its end, and next product; the newest first.
    func subscriptions(of user: String = "u1") async throws -> String {
        let reply = try await shop.send(.get, "/v1/users/\(user)/subscriptions", as: .user(user))
        #expect(reply.status == 200)
        return reply["data"].list.map { held in
            let product = held.at("productId").text.dropFirst(Self.prefix.count)
            let end = Instant(rfc3339: held.at("expiresAt").text) ?? start
            var words = [held.at("state").text, String(product), "\((end.seconds - start.seconds) / 86_400)"]
            switch held.at("willRenew") {
            case .bool(true): words.append("renews \(held.at("renewalProductId").text.dropFirst(Self.prefix.count))")
            case .bool(false): words.append("ends")
            default: words.append("unknown")
            }
            for member in ["priceIncrease", "reason"] where !held.at(member).text.isEmpty {
                words.append(held.at(member).text)
            }
            if held.at("isFamilyShared") == .bool(true) { words.append("shared") }
            if held.at("offer").at("discount").text == "FREE_TRIAL" { words.append("trial") }
            return words.joined(separator: " ")
        }.joined(separator: ", ")
    }
}
