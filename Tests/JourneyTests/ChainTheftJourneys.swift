import Testing
import TillBilling
import TillJSON
import TillServer

/// Thefts without forgery: by an earlier customer of the same Apple Account, through a chain whose beginning the ledger
/// does not know, and by a tester who pays nothing.
@Suite("Chains and orders of other customers give a thief nothing (V3, V4, T8)") struct ChainTheftJourneys {
    private static let renewing = CloudShop.prefix + "premium_monthly_auto"

    private func open(
        _ reach: Reach = .inProcess, _ policy: ReceiptPolicy = .provisional, restore: RestoreTerms = RestoreTerms(),
        environments: Set<TillBilling.StoreEnvironment> = [.sandbox], _ journey: (Shop) async throws -> Void
    ) async throws {
        try await Shop.open(
            reach, environments: environments,
            change: { configuration in
                configuration.catalog = CloudShop.catalog
                configuration.receipts = ReceiptTerms(policy: policy)
                configuration.restore = restore
            }
        ) { shop in
            try await CloudShop.stock(shop)
            try await journey(shop)
        }
    }

    private func post(receiptOf payment: Payment, as user: String, _ shop: Shop) async throws -> Reply {
        try await shop.send(
            .post, "/v1/transactions",
            [
                "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                "productId": .string(Self.renewing),
            ], as: .user(user))
    }

    /// The thief subscribed with this Apple Account earlier; the buyer subscribes with it now.
    private func resubscribe(_ shop: Shop) async throws -> (payment: Payment, chain: String) {
        let first = try await shop.purchase(Self.renewing, as: "thief", account: "family")
        #expect(try await shop.ask(.post, "/emulator/subscriptions/\(first.id)/cancel").status == 200)
        shop.time.advance(seconds: 40 * 86_400)
        let order = try await shop.openOrder(Self.renewing, as: "buyer")
        let payment = try await shop.pay(Self.renewing, token: order, account: "family")
        #expect(payment.id != first.id)
        return (payment, first.id)
    }

    @Test(
        "A receipt of another customer's new subscription gives an earlier subscriber nothing",
        arguments: Reach.allCases)
    func resubscription(_ reach: Reach) async throws {
        try await open(reach, .quarantine) { shop in
            let (payment, _) = try await resubscribe(shop)
            let taken = try await post(receiptOf: payment, as: "thief", shop)
            #expect(taken.status == 202 && taken["reason"].text == "receipt_needs_signed_copy", "\(taken.body)")
            let reply = try await shop.submit(payment.signed, as: .user("buyer"))
            #expect(reply["outcome"].text == "granted" && reply["userId"].text == "buyer", "\(reply.body)")
        }
    }

    @Test("A period granted to an earlier subscriber by a receipt moves to the buyer whom Apple's signed copy names")
    func provisionalResubscription() async throws {
        try await open { shop in
            let (payment, chain) = try await resubscribe(shop)
            let taken = try await post(receiptOf: payment, as: "thief", shop)
            #expect(taken["outcome"].text == "granted", "\(taken.body)")
            let reply = try await shop.submit(payment.signed, as: .user("buyer"))
            #expect(reply["outcome"].text == "granted" && reply["userId"].text == "buyer", "\(reply.body)")
            #expect(try await shop.rights(of: "thief").isEmpty)
            #expect(try await shop.rights(of: "buyer").count == 1)
            // The same attempt again: receipts of a customer who lost a purchase wait.
            #expect(try await shop.ask(.post, "/emulator/subscriptions/\(chain)/cancel").status == 200)
            shop.time.advance(seconds: 40 * 86_400)
            let order = try await shop.openOrder(Self.renewing, as: "thief")
            let next = try await shop.pay(Self.renewing, token: order, account: "family")
            let again = try await shop.post(receiptOf: next, Self.renewing, order: order, as: "thief")
            #expect(again["reason"].text == "receipt_needs_signed_copy", "\(again.body)")
        }
    }

    /// Ann's subscription ended, Eve returned with her own order, and Eve's receipt gave the period to Ann.
    private func framed(_ shop: Shop) async throws -> (chain: String, payment: Payment) {
        let first = try await shop.purchase(Self.renewing, as: "ann", account: "family")
        #expect(try await shop.ask(.post, "/emulator/subscriptions/\(first.id)/cancel").status == 200)
        shop.time.advance(seconds: 40 * 86_400)
        let order = try await shop.openOrder(Self.renewing, as: "eve")
        let hers = try await shop.pay(Self.renewing, token: order, account: "family")
        let reply = try await post(receiptOf: hers, as: "eve", shop)
        #expect(reply["outcome"].text == "granted", "\(reply.body)")
        #expect(try await shop.rights(of: "ann").count == 1)
        #expect(try await shop.ask(.post, "/emulator/subscriptions/\(first.id)/cancel").status == 200)
        return (first.id, hers)
    }

    @Test("A buyer's receipt granted to an earlier subscriber makes none of that subscriber's later receipts wait")
    func framedSubscriber() async throws {
        try await open { shop in
            let (_, hers) = try await framed(shop)
            #expect(try await shop.submit(hers.signed, as: .user("eve"))["userId"].text == "eve")
            shop.time.advance(seconds: 40 * 86_400)
            let next = try await shop.openOrder(Self.renewing, as: "ann")
            let payment = try await shop.pay(Self.renewing, token: next, account: "family")
            let reply = try await shop.post(receiptOf: payment, Self.renewing, order: next, as: "ann")
            #expect(reply["outcome"].text == "granted", "\(reply.body)")
        }
    }

    @Test("A customer who lost a period keeps what they paid later in the same chain")
    func laterPurchase() async throws {
        try await open { shop in
            let (_, hers) = try await framed(shop)
            shop.time.advance(seconds: 100 * 86_400)
            let order = try await shop.openOrder(Self.renewing, as: "ann")
            let paid = try await shop.pay(Self.renewing, token: order, account: "family")
            let reply = try await shop.post(receiptOf: paid, Self.renewing, order: order, as: "ann")
            #expect(reply["outcome"].text == "granted", "\(reply.body)")
            #expect(try await shop.submit(hers.signed, as: .user("eve"))["userId"].text == "eve")
            #expect(try await shop.rights(of: "ann").count == 1)
            #expect(try await shop.rights(of: "eve").isEmpty)
        }
    }

    @Test("A buyer's own order beside the receipt comes before the earlier subscriber of its chain")
    func ownOrder() async throws {
        try await open { shop in
            let first = try await shop.purchase(Self.renewing, as: "ann", account: "family")
            #expect(try await shop.ask(.post, "/emulator/subscriptions/\(first.id)/cancel").status == 200)
            shop.time.advance(seconds: 40 * 86_400)
            let order = try await shop.openOrder(Self.renewing, as: "ben")
            let payment = try await shop.pay(Self.renewing, token: order, account: "family")
            let reply = try await shop.post(receiptOf: payment, Self.renewing, order: order, as: "ben")
            #expect(reply["outcome"].text == "granted" && reply["userId"].text == "ben", "\(reply.body)")
        }
    }

    /// A period that Apple signed, in a chain whose first period this server never saw.
    private func period(
        _ id: String, token: OrderID?, _ environment: String = "Sandbox", product: String = renewing,
        chain: String? = nil, refundOf paidAt: Instant? = nil, _ shop: Shop
    ) throws -> String {
        let now = shop.time.now
        let bought = paidAt ?? now
        var members: [String: JSONValue] = [
            "transactionId": .string(id), "originalTransactionId": .string(chain ?? id),
            "bundleId": .string(Shop.bundleID), "productId": .string(product),
            "type": .string(product == Self.renewing ? "Auto-Renewable Subscription" : "Consumable"),
            "purchaseDate": .int(bought.milliseconds), "originalPurchaseDate": .int(bought.milliseconds), "quantity": 1,
            "environment": .string(environment), "transactionReason": "PURCHASE", "inAppOwnershipType": "PURCHASED",
            "signedDate": .int(now.milliseconds), "price": 6_990, "currency": "USD",
        ]
        if product == Self.renewing {
            members["expiresDate"] = .int(now.adding(milliseconds: 30 * 86_400_000).milliseconds)
        }
        if let token { members["appAccountToken"] = .string(token.description) }
        if paidAt != nil {
            members["revocationDate"] = .int(now.milliseconds)
            members["revocationReason"] = 0
        }
        return try shop.emulator.issuer.sign(payload: Array(JSONValue.object(members).encoded().utf8))
    }

    @Test("A chain whose first purchase was never seen can't be claimed", arguments: Reach.allCases)
    func unseenBeginning(_ reach: Reach) async throws {
        try await open(reach) { shop in
            let order = try await shop.openOrder(Self.renewing, as: "victim")
            let known = try period("7002", token: order, chain: "7001", shop)
            #expect(try await shop.submit(known, as: .user("victim"))["outcome"].text == "granted")
            shop.time.advance(seconds: 86_400)
            let tokenless = try period("7003", token: nil, chain: "7001", shop)
            #expect(try await shop.submit(tokenless, as: .user("victim"))["outcome"].text == "quarantined")
            let stolen = try await shop.restore([tokenless], as: .user("thief"))
            #expect(shop.outcomes(stolen).allSatisfy { !$0.hasPrefix("claimed") }, "\(stolen.body)")
            #expect(try await shop.rights(of: "thief").isEmpty)
            let own = try await shop.restore([tokenless], as: .user("victim"))
            #expect(shop.outcomes(own) == ["claimed finish"], "\(own.body)")
        }
    }

    @Test("A tester's sandbox purchase does not use up an order that a customer pays", arguments: Reach.allCases)
    func sandboxSquatter(_ reach: Reach) async throws {
        try await open(reach, environments: [.sandbox, .production]) { shop in
            let order = try await shop.openOrder(as: "victim")
            let bought = shop.time.now
            let free = try period("8001", token: order, product: Shop.points60, shop)
            _ = try await shop.submit(free, as: .user("tester"))
            #expect(try await shop.status(of: order) == "completed")
            shop.time.advance(seconds: 60)
            let paid = try period("9001", token: order, "Production", product: Shop.points60, shop)
            let reply = try await shop.submit(paid, as: .user("victim"))
            #expect(reply["outcome"].text == "granted" && reply["orderId"].text == order.description, "\(reply.body)")
            let reported = try await shop.send(.get, "/v1/orders/\(order)")
            #expect(reported["transactionId"].text == "9001" && reported["sandbox"] == .null, "\(reported.body)")
            // A refund of the sandbox purchase is no refund of the order.
            shop.time.advance(seconds: 60)
            let refund = try period("8001", token: order, product: Shop.points60, refundOf: bought, shop)
            #expect(try await shop.submit(refund, as: .backend)["outcome"].text == "revoked")
            #expect(try await shop.status(of: order) == "completed")
        }
    }

    @Test("An order that only a sandbox purchase paid and lost is paid by the customer's own payment")
    func refundedSandbox() async throws {
        try await open(environments: [.sandbox, .production]) { shop in
            let order = try await shop.openOrder(as: "victim")
            let bought = shop.time.now
            _ = try await shop.submit(try period("8001", token: order, product: Shop.points60, shop), as: .backend)
            shop.time.advance(seconds: 60)
            let refund = try period("8001", token: order, product: Shop.points60, refundOf: bought, shop)
            _ = try await shop.submit(refund, as: .backend)
            #expect(try await shop.status(of: order) == "refunded")
            let paid = try period("9001", token: nil, "Production", product: Shop.points60, shop)
            let reply = try await shop.send(
                .post, "/v1/transactions",
                ["signedTransaction": .string(paid), "orderId": .string(order.description)], as: .user("victim"))
            #expect(reply["outcome"].text == "granted" && reply["orderId"].text == order.description, "\(reply.body)")
            #expect(try await shop.status(of: order) == "completed")
        }
    }
}
