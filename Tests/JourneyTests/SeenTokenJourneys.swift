import Testing
import TillBilling
import TillJSON
import TillLedger
import TillServer

/// A UUID that was seen in a payment before an order had it: the conclusions that are allowed from that (R4).
@Suite("Tokens that were seen before their order") struct SeenTokenJourneys {
    private static let token = UniqueID(high: 0x4E1D_2B3A_0F4E_4A6B, low: 0x8C9D_0E1F_2A3B_4C5D)

    private static func signed(
        _ id: String, by shop: Shop, _ environment: String = "Sandbox", ownership: String = "PURCHASED"
    ) throws -> String {
        let payload: JSONValue = [
            "transactionId": .string(id), "originalTransactionId": .string(id), "bundleId": .string(Shop.bundleID),
            "productId": .string(Shop.points60), "purchaseDate": .int(1_790_000_000_000), "quantity": 1,
            "type": "Consumable", "signedDate": .int(1_790_000_000_000), "environment": .string(environment),
            "inAppOwnershipType": .string(ownership), "price": 6_000, "currency": "CNY", "storefront": "CHN",
            "appAccountToken": .string(token.description),
        ]
        return try shop.emulator.issuer.sign(payload: Array(payload.encoded().utf8))
    }

    private static func open(for user: String, in shop: Shop) async throws {
        let reply = try await shop.send(
            .post, "/v1/orders",
            ["id": .string(token.description), "productId": .string(Shop.points60), "userId": .string(user)])
        #expect(reply.status == 201, "\(reply.body)")
    }

    private static func register(_ token: UniqueID, for user: String, in shop: Shop) async throws -> Reply {
        try await shop.send(.put, "/v1/users/\(user)/account-tokens/\(token)")
    }

    @Test("A free sandbox payment does not keep an order from its production payments", arguments: Reach.allCases)
    func sandbox(_ reach: Reach) async throws {
        try await Shop.open(reach, environments: [.production, .sandbox]) { shop in
            let free = try await shop.submit(try Self.signed("100", by: shop), as: .user("eve"))
            #expect(free.status == 202 && free["reason"].text == "unknown_token", "\(free.body)")
            try await Self.open(for: "ann", in: shop)
            let paid = try await shop.submit(try Self.signed("200", by: shop, "Production"), as: .user("ann"))
            #expect(paid["outcome"].text == "granted", "\(paid.body)")
            #expect(paid["orderId"].text == Self.token.description)
            #expect(try await shop.points(of: "ann", environment: "production") == 60)
            // In the sandbox the token was seen before the order.
            let later = try await shop.submit(try Self.signed("101", by: shop), as: .user("ann"))
            #expect(later["reason"].text == "unknown_token", "\(later.body)")
        }
    }

    @Test("A copy that another customer pays for, a family's or a seat, does not mark its token as seen")
    func shared() async throws {
        for ownership in ["FAMILY_SHARED", "ASSIGNED"] {
            try await Shop.open { shop in
                let copy = try Self.signed("100", by: shop, ownership: ownership)
                #expect(try await shop.submit(copy, as: .user("eve")).status == 202)
                try await Self.open(for: "ann", in: shop)
                let paid = try await shop.submit(try Self.signed("200", by: shop), as: .user("ann"))
                #expect(paid["outcome"].text == "granted", "\(ownership): \(paid.body)")
                #expect(try await shop.points(of: "ann") == 60)
            }
        }
    }

    @Test("An order whose id was seen before is repaired by registering the id as its own user's account token")
    func repair() async throws {
        try await Shop.open(.socket) { shop in
            let first = try Self.signed("100", by: shop)
            _ = try await shop.submit(first, as: .user("eve"))
            try await Self.open(for: "ann", in: shop)
            let second = try Self.signed("101", by: shop)
            #expect(try await shop.submit(second, as: .user("ann"))["reason"].text == "unknown_token")
            let others = try await Self.register(Self.token, for: "eve", in: shop)
            #expect(others.status == 409 && others.code == "token_in_use")
            let own = try await Self.register(Self.token, for: "ann", in: shop)
            #expect(own.status == 201, "\(own.body)")
            #expect(try await shop.points(of: "ann") == 120)
            let third = try await shop.submit(try Self.signed("102", by: shop), as: .user("ann"))
            #expect(third["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 180)
            #expect(try await shop.points(of: "eve") == 0)
        }
    }

    @Test("An order that was paid, or whose id can't be forged, stays the only one its id names")
    func noRepair() async throws {
        try await Shop.open { shop in
            let own = try await shop.openOrder(as: "ann")
            #expect(try await Self.register(own, for: "ann", in: shop).code == "token_in_use")
            try await Self.open(for: "ann", in: shop)
            let paid = try await shop.submit(try Self.signed("100", by: shop), as: .user("ann"))
            #expect(paid["outcome"].text == "granted")
            #expect(try await Self.register(Self.token, for: "ann", in: shop).code == "token_in_use")
        }
    }

    @Test("A user who opens an order under a seen id gives no consent for the payment, and gets no event of it (U5)")
    func consent() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            let payment = try await shop.pay(token: Self.token, account: "ann")
            await shop.emulator.sendDueNotifications()
            try await Self.open(for: "eve", in: shop)
            let agreed = try await shop.send(
                .put, "/v1/users/eve/consents/consumption", ["given": true], as: .user("eve"))
            #expect(agreed.status == 200)
            shop.time.advance(seconds: 60)
            let asked = try await shop.ask(
                .post, "/emulator/transactions/\(payment.id)/consumptionRequest", ["reason": "UNINTENDED_PURCHASE"])
            #expect(asked.status == 200, "\(asked.body)")
            await shop.emulator.sendDueNotifications()
            #expect(try await ConsumptionAnswers(shop.server.ledger).answerAll() == 0)
            #expect(!line.asked.contains { $0.hasSuffix("consumption/\(payment.id)") })
            #expect(try await shop.events().filter { $0.hasPrefix("consumption") } == ["consumption.requested -"])
            let row = try #require(try await shop.send(.get, "/v1/consumption-requests")["data"].list.first)
            #expect(row.at("userId").isNull && row.at("detail").text.hasPrefix("unknown_owner"), "\(row)")
        }
    }
}
