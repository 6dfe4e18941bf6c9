import Testing
import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillServer

/// Prices that change between order, preview and payment, at the store and in the catalogue.
@Suite("A plan is worth what was paid for it") struct PriceJourneys {
    private static let day: Int64 = 86_400

    private func reported(_ reply: Reply) -> JSONValue { ["at": reply["at"], "expiresAt": reply["expiresAt"]] }

    /// A sale at one cent, in the catalogue and at the store.
    private func beginSale(of plan: String, _ shop: Shop) async throws {
        shop.time.advance(seconds: 1)
        try shop.reprice([plan: 1])
        try await CloudShop.stock(shop, sale: [plan: 1])
    }

    private func endSale(of plan: String, _ shop: Shop) async throws {
        shop.time.advance(seconds: Self.day)
        try shop.reprice([plan: CloudShop.cents(of: plan)])
        try await CloudShop.stock(shop)
    }

    private func basics(of buyer: String, _ shop: Shop) async throws -> Int {
        for _ in 0..<6 { try await shop.buyPlan("basic_monthly", as: buyer) }
        return 6
    }

    @Test(
        "An order opened in a sale, cancelled or not, gives a full payment its id and never the sale's price",
        arguments: Reach.allCases)
    func staleOrder(_ reach: Reach) async throws {
        try await CloudShop.open(reach) { shop in
            try await beginSale(of: "premium_monthly", shop)
            var orders: [(buyer: String, order: Reply)] = []
            for (buyer, isCancelled, isPreviewed) in [
                ("open", false, false), ("cancelled", true, false), ("previewed", false, true), ("both", true, true),
            ] {
                let stated = try await shop.preview("premium_monthly", as: buyer)
                let order = try await shop.openPlan(
                    "premium_monthly", as: buyer, preview: isPreviewed ? reported(stated) : nil)
                #expect(order.status == 201 && order["price"].at("amount") == 1)
                if isCancelled {
                    let closed = try await shop.send(
                        .post, "/v1/orders/\(order["id"].text)/cancel", as: .user(buyer))
                    #expect(closed["status"] == "cancelled", "\(closed.body)")
                }
                orders.append((buyer, order))
            }
            try await endSale(of: "premium_monthly", shop)
            shop.time.advance(seconds: 700 * Self.day)
            for (buyer, order) in orders {
                let bought = try await basics(of: buyer, shop)
                let stated = try await shop.preview("premium_monthly", as: buyer)
                try await shop.payPlan(order, as: buyer)
                // 17.94 of Basic are 77 days of Premium at 6.99, and 1,474 years at one cent.
                #expect(stated["balance"].at("exact").text == "\(299 * bought)")
                let end = shop.time.now.adding(seconds: 6_652_430 + 30 * Self.day).rfc3339
                #expect(stated["expiresAt"].text == end)
                #expect(try await shop.rights(of: buyer) == ["service premium premium_monthly \(end)"], "\(buyer)")
            }
        }
    }

    @Test(
        "One cent paid in a sale is worth one cent, whatever the order's price and the currency of the payment",
        arguments: Reach.allCases)
    func salePrice(_ reach: Reach) async throws {
        try await CloudShop.open(reach) { shop in
            var orders: [(buyer: String, storefront: String, order: Reply)] = []
            for storefront in ["USA", "CHN"] {
                let buyer = "of \(storefront)"
                let order = try await shop.openPlan("premium_monthly", as: buyer)
                #expect(order["price"].at("amount") == 699)
                orders.append((buyer, storefront, order))
            }
            try await beginSale(of: "premium_monthly", shop)
            for (buyer, storefront, order) in orders {
                try await shop.payPlan(order, as: buyer, storefront: storefront)
            }
            try await endSale(of: "premium_monthly", shop)
            for (buyer, _, _) in orders {
                let stated = try await shop.preview("basic_monthly", as: buyer)
                #expect(stated["current"].list.first?.at("paid") == ["amount": 1, "currency": "USD"], "\(buyer)")
            }
        }
    }

    @Test("A receipt has no price, so it is worth the list price of the day of payment")
    func receipt() async throws {
        try await CloudShop.open { shop in
            let early = try await shop.openPlan("premium_monthly", as: "u1")
            try await beginSale(of: "premium_monthly", shop)
            let order = try #require(UniqueID(early["id"].text))
            let paid = try await shop.pay(CloudShop.prefix + "premium_monthly", token: nil)
            let reply = try await shop.send(
                .post, "/v1/transactions",
                [
                    "receipt": .string(paid.receipt), "transactionId": .string(paid.id),
                    "productId": .string(CloudShop.prefix + "premium_monthly"), "orderId": .string("\(order)"),
                ], as: .user("u1"))
            #expect(reply["outcome"].text == "granted", "\(reply.body)")
            try await endSale(of: "premium_monthly", shop)
            let stated = try await shop.preview("basic_monthly", as: "u1")
            #expect(stated["current"].list.first?.at("paid") == ["amount": 1, "currency": "USD"])
        }
    }

    @Test("A payment in a listed currency counts by its part of the list price, and no more")
    func otherCurrency() async throws {
        try await CloudShop.open { shop in
            shop.time.advance(seconds: 1)
            // The store sells Basic for 17.94 CNY; the list says 20.00.
            try shop.reprice([:], others: ["basic_monthly": ["CNY": 2_000]])
            try await shop.buyPlan("basic_monthly", as: "u1", storefront: "CHN", quantity: 2)
            let part = try await shop.preview("premium_monthly", as: "u1")
            #expect(part["current"].list.first?.at("paid") == ["amount": 536, "currency": "USD"])
            shop.time.advance(seconds: 1)
            try shop.reprice([:], others: ["basic_monthly": ["CNY": 1_000]])
            try await shop.buyPlan("basic_monthly", as: "u2", storefront: "CHN")
            let most = try await shop.preview("premium_monthly", as: "u2")
            #expect(most["current"].list.first?.at("paid") == ["amount": 299, "currency": "USD"])
            // The first one is unchanged.
            let again = try await shop.preview("premium_monthly", as: "u1")
            #expect(again["current"].list.first?.at("paid") == ["amount": 536, "currency": "USD"])
        }
    }

    @Test("A preview is honoured to the second although the price changes before the payment, for 24 hours only (C6)")
    func previewed() async throws {
        try await CloudShop.open { shop in
            for (buyer, wait, isKept) in [("u1", Self.day, true), ("u2", Self.day + 1, false)] {
                try shop.reprice(["premium_monthly": 699])
                _ = try await basics(of: buyer, shop)
                shop.time.advance(seconds: 15 * Self.day)
                let stated = try await shop.preview("premium_monthly", as: buyer)
                let order = try await shop.openPlan("premium_monthly", as: buyer, preview: reported(stated))
                shop.time.advance(seconds: wait - 1)
                try shop.reprice(["premium_monthly": 1_398])
                shop.time.advance(seconds: 1)
                let atPayment = try await shop.preview("premium_monthly", as: buyer)
                try await shop.payPlan(order, as: buyer)
                let end = (isKept ? stated : atPayment)["expiresAt"].text
                #expect(stated["expiresAt"] != atPayment["expiresAt"])
                #expect(try await shop.rights(of: buyer) == ["service premium premium_monthly \(end)"])
                shop.time.advance(seconds: 1)
            }
        }
    }

    @Test("No order is opened on a preview whose prices differ from the current catalogue")
    func agedPreview() async throws {
        try await CloudShop.open { shop in
            _ = try await basics(of: "u1", shop)
            let stated = try await shop.preview("premium_monthly", as: "u1")
            shop.time.advance(seconds: 60)
            try shop.reprice(["premium_monthly": 1_398])
            let order = try await shop.openPlan("premium_monthly", as: "u1", preview: reported(stated))
            #expect(order.status == 409 && order.code == "preview_changed", "\(order.body)")
        }
    }

    @Test("Each catalogue that a server starts with is recorded once, with its start, and is never edited")
    func versions() async throws {
        try await CloudShop.open { shop in
            let start = shop.time.now
            func kept() async throws -> [Int64] {
                _ = try await shop.server.ledger.recordCatalog()
                return try await shop.ledger.read { try CatalogVersionTable($0).list().map(\.since.seconds) }
                    .map { $0 - start.seconds }
            }
            #expect(try await kept() == [0])
            for cents: Int64 in [699, 1, 1, 699] {
                shop.time.advance(seconds: 10)
                try shop.reprice(["premium_monthly": cents])
                _ = try await kept()
            }
            #expect(try await kept() == [0, 20, 40])
            await #expect(throws: DatabaseError.self) {
                try await shop.ledger.write { try $0.execute("UPDATE catalog_versions SET since = 0", []) }
            }
            await #expect(throws: DatabaseError.self) {
                try await shop.ledger.write { try $0.execute("DELETE FROM catalog_versions", []) }
            }
        }
    }

    @Test("A start with a slow clock reprices no earlier purchase, and one with a fast clock freezes no price")
    func wrongClock() async throws {
        try await CloudShop.open { shop in
            _ = try await basics(of: "u1", shop)
            shop.time.advance(seconds: 15 * Self.day)
            try await shop.buyPlan("premium_monthly", as: "u1")
            shop.time.advance(seconds: 1)
            let before = try await shop.rights(of: "u1")
            shop.time.advance(seconds: -400 * Self.day)
            try shop.reprice(["premium_monthly": 1])
            _ = try await shop.server.ledger.recordCatalog()
            shop.time.advance(seconds: 400 * Self.day)
            #expect(try await shop.rights(of: "u1") == before)
        }
        try await CloudShop.open { shop in
            shop.time.advance(seconds: 400 * Self.day)
            try shop.reprice(["premium_monthly": 1])
            _ = try await shop.server.ledger.recordCatalog()
            shop.time.advance(seconds: -400 * Self.day)
            try shop.reprice(["premium_monthly": 1_398])
            _ = try await shop.server.ledger.recordCatalog()
            try await shop.buyPlan("basic_monthly", as: "u1")
            shop.time.advance(seconds: 1)
            let reported = try await shop.preview("premium_monthly", as: "u1")
            #expect(reported["price"].at("amount") == 1_398, "\(reported.body)")
            try await shop.buyPlan("premium_monthly", as: "u1")
            let end = reported["expiresAt"].text
            #expect(try await shop.rights(of: "u1") == ["service premium premium_monthly \(end)"])
        }
    }

    @Test("A sold plan keeps its length, whatever a later catalogue says")
    func length() async throws {
        try await CloudShop.open { shop in
            try await shop.buyPlan("basic_monthly", as: "u1")
            shop.time.advance(seconds: 1)
            let before = try await shop.rights(of: "u1")
            try shop.restart { configuration in
                configuration.catalog = Catalog(
                    products: configuration.catalog.products.map { product in
                        guard let plan = product.plan, plan.id == PlanID("basic_monthly"),
                            let week = PlanLength("P7D")
                        else { return product }
                        return CatalogProduct(
                            id: product.id, type: product.type, names: product.names, price: product.price,
                            plan: PlanTerms(id: plan.id, length: week, rank: plan.rank, scope: plan.scope))
                    })
            }
            _ = try await shop.server.ledger.recordCatalog()
            #expect(try await shop.rights(of: "u1") == before)
            shop.time.advance(seconds: Self.day)
            try await shop.buyPlan("basic_monthly", as: "u2")
            let end = shop.time.now.adding(seconds: 7 * Self.day).rfc3339
            #expect(try await shop.rights(of: "u2") == ["service basic basic_monthly \(end)"])
        }
    }

    @Test("A payment in an unlisted currency for a product listed as free is no trial")
    func paidForNothing() async throws {
        try await CloudShop.open { shop in
            _ = try await shop.server.ledger.recordCatalog()
            shop.time.advance(seconds: Self.day)
            try shop.reprice(["basic_monthly": 0])
            try await shop.buyPlan("basic_monthly", as: "u1", storefront: "CHN")
            shop.time.advance(seconds: 1)
            let reported = try await shop.preview("premium_monthly", as: "u1")
            #expect(
                reported["current"].list.first?.at("paid") == ["amount": 299, "currency": "USD"], "\(reported.body)")
        }
    }
}
