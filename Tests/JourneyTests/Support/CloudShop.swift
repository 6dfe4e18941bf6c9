import Testing
import TillBilling
import TillJSON
import TillServer

/// A shop that sells the eight products of C4, a trial and a lasting right, in the same emulated store.
enum CloudShop {
    static let prefix = Shop.bundleID + "."

    static let catalog = catalog(scope: nil)

    static func catalog(scope: PlanScope?) -> Catalog {
        Catalog(products: kept(scope) + others(scope) + renewing(scope))
    }

    /// The products whose time the server keeps: the four plans as consumables, and one of them as a non-renewing
    /// subscription, too.
    private static func kept(_ scope: PlanScope?) -> [CatalogProduct] {
        plans.compactMap { id, cents, length, rank in
            CatalogProduct(
                id: ProductID(prefix + id), type: id == "basic_pass" ? .nonRenewing : .consumable,
                names: LocalizedText(en: id, zh: "套餐 \(id)"), price: Money(amount: cents, currency: Currency("USD")),
                plan: PlanLength(length).map {
                    PlanTerms(
                        id: PlanID(id == "basic_pass" ? "basic_monthly" : id), length: $0, rank: rank, scope: scope)
                })
        }
    }

    private static func others(_ scope: PlanScope?) -> [CatalogProduct] {
        [
            CatalogProduct(
                id: ProductID(prefix + "premium_monthly_auto"), type: .autoRenewable,
                names: LocalizedText(en: "Premium (renews)", zh: "高级版（续订）"),
                price: Money(amount: 699, currency: Currency("USD")),
                plan: PlanLength("P1M").map {
                    PlanTerms(id: PlanID("premium_monthly"), length: $0, rank: "premium", scope: scope)
                }),
            CatalogProduct(
                id: ProductID(prefix + "pro"), type: .nonConsumable, names: LocalizedText(en: "Pro", zh: "专业版"),
                price: Money(amount: 999, currency: Currency("USD")), entitlement: "pro"),
            CatalogProduct(
                id: ProductID(Shop.points60), type: .consumable, names: LocalizedText(en: "60 points", zh: "60 学点"),
                price: Money(amount: 99, currency: Currency("USD")), points: ["points": 60]),
        ]
    }

    /// The other plans as subscriptions, too.
    private static func renewing(_ scope: PlanScope?) -> [CatalogProduct] {
        plans.filter { ["basic_monthly", "basic_annual", "premium_annual"].contains($0.id) }.map { plan in
            CatalogProduct(
                id: ProductID(prefix + plan.id + "_auto"), type: .autoRenewable,
                names: LocalizedText(en: "\(plan.id) (renews)", zh: "套餐 \(plan.id)（续订）"),
                price: Money(amount: plan.cents, currency: Currency("USD")),
                plan: PlanLength(plan.length).map {
                    PlanTerms(id: PlanID(plan.id), length: $0, rank: plan.rank, scope: scope)
                })
        }
    }

    private static let plans: [(id: String, cents: Int64, length: String, rank: String)] = [
        ("basic_monthly", 299, "P1M", "basic"), ("basic_annual", 2_999, "P1Y", "basic"),
        ("premium_monthly", 699, "P1M", "premium"), ("premium_annual", 6_999, "P1Y", "premium"),
        ("basic_pass", 299, "P1M", "basic"), ("trial", 0, "P7D", "trial"),
    ]

    /// The list price of a plan.
    static func cents(of plan: String) -> Int64 { catalog[ProductID(prefix + plan)]?.price.amount ?? 0 }

    /// - Parameter scope: the scope of its plans.
    static func open(
        _ reach: Reach = .inProcess, environments: Set<TillBilling.StoreEnvironment> = [.sandbox],
        change other: @escaping (inout ServerConfiguration) -> Void = { _ in }, scope: PlanScope? = nil,
        _ journey: (Shop) async throws -> Void
    ) async throws {
        let change = { (configuration: inout ServerConfiguration) in
            configuration.catalog = catalog(scope: scope)
            other(&configuration)
        }
        try await Shop.open(reach, environments: environments, change: change) { shop in
            try await stock(shop)
            try await journey(shop)
        }
    }

    /// Puts the catalogue on sale at the store.
    ///
    /// - Parameter sale: prices that differ from the list, in cents; the price in fen is six times as much.
    static func stock(_ shop: Shop, sale: [String: Int64] = [:]) async throws {
        let products = catalog.products.map { product -> JSONValue in
            let cents = sale[String(product.id.text.dropFirst(prefix.count))] ?? product.price.amount
            var members: [String: JSONValue] = [
                "id": .string(product.id.text), "type": .string(product.type.rawValue),
                "prices": [
                    "USA": ["amount": .int(cents), "currency": "USD"],
                    "CHN": ["amount": .int(cents * 6), "currency": "CNY"],
                ],
            ]
            if product.type == .autoRenewable, let plan = product.plan {
                members["subscriptionGroup"] = "1"
                members["level"] = plan.rank == "premium" ? 1 : 2
                members["period"] = .string(plan.length.text)
            }
            return .object(members)
        }
        let loaded = try await shop.ask(.put, "/emulator/products", ["products": .array(products)])
        try #require(loaded.status == 200, "\(loaded.body)")
    }
}

extension Shop {
    /// Buys a plan from order to grant; returns the transaction's id.
    @discardableResult
    func buyPlan(
        _ plan: String, as buyer: String, device: String? = nil, storefront: String = "USA", quantity: Int64 = 1
    ) async throws -> String {
        let order = try await openPlan(plan, as: buyer, device: device, quantity: quantity)
        #expect(order.status == 201)
        return try await payPlan(order, as: buyer, storefront: storefront)
    }

    /// - Parameter preview: the preview in the order's body.
    func openPlan(
        _ plan: String, as buyer: String, order: ProvenOrder? = nil, device: String? = nil, quantity: Int64 = 1,
        preview: JSONValue? = nil
    ) async throws -> Reply {
        var body: [String: JSONValue] = [
            "productId": .string(CloudShop.prefix + plan), "quantity": .int(quantity),
        ]
        if let device { body["deviceId"] = .string(device) }
        if let preview { body["preview"] = preview }
        return try await send(.post, "/v1/orders", order?.opening(body) ?? .object(body), as: .user(buyer))
    }

    /// Pays an open order, and has it granted; returns the transaction's id.
    @discardableResult
    func payPlan(_ order: Reply, as buyer: String, storefront: String = "USA") async throws -> String {
        let paid = try await ask(
            .post, "/emulator/purchases",
            [
                "bundleId": .string(Self.bundleID), "productId": order["productId"], "quantity": order["quantity"],
                "storefront": .string(storefront), "account": .string(buyer), "appAccountToken": order["id"],
            ])
        #expect(paid.status == 200, "\(paid.body)")
        let reply = try await submit(paid["signedTransaction"].text, as: .user(buyer))
        #expect(reply["outcome"].text == "granted")
        return paid["transactionId"].text
    }

    func preview(
        _ plan: String, as buyer: String, at: Instant? = nil, device: String? = nil
    ) async throws -> Reply {
        var body: [String: JSONValue] = ["planId": .string(plan)]
        if let device { body["deviceId"] = .string(device) }
        if let at { body["at"] = .string(at.rfc3339) }
        return try await send(.post, "/v1/plans/preview", .object(body), as: .user(buyer))
    }

    /// Restarts the server with other list prices, in cents.
    ///
    /// - Parameter others: list prices in other currencies, for the products named there.
    func reprice(_ cents: [String: Int64], others: [String: [String: Int64]] = [:]) throws {
        try restart { configuration in
            configuration.catalog = Catalog(
                products: configuration.catalog.products.map { product in
                    let name = String(product.id.text.dropFirst(CloudShop.prefix.count))
                    return CatalogProduct(
                        id: product.id, type: product.type, names: product.names,
                        price: Money(amount: cents[name] ?? product.price.amount, currency: product.price.currency),
                        points: product.points, entitlement: product.entitlement, plan: product.plan,
                        prices: others[name] ?? product.prices)
                })
        }
    }

    /// The rights of a user: `kind entitlement plan expiry devices`.
    func rights(of user: String) async throws -> [String] {
        let reply = try await send(.get, "/v1/users/\(user)/entitlements", as: .user(user))
        #expect(reply.status == 200)
        return reply["data"].list.map { right in
            (["kind", "entitlement", "plan", "expiresAt"].map { right.at($0).text }
                + right.at("deviceIds").list.map(\.text)).filter { !$0.isEmpty }.joined(separator: " ")
        }
    }
}
