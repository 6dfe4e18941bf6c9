import Testing
import TillBilling
import TillJSON
import TillServer

/// Any customer can pay under an order's id that they know. An order is granted for what it ordered, and its user
/// decides about any other purchase.
@Suite("Purchases under an order that did not order them") struct PresentJourneys {
    private static let premium = "premium_annual"

    private func claimable(_ shop: Shop, by user: String) async throws -> [JSONValue] {
        let reply = try await shop.send(.get, "/v1/users/\(user)/claimable", as: .user(user))
        #expect(reply.status == 200, "\(reply.body)")
        return reply["data"].list
    }

    private func accept(_ id: String, in shop: Shop, as user: String) async throws -> Reply {
        try await shop.send(.post, "/v1/users/\(user)/claims", ["transactionId": .string(id)], as: .user(user))
    }

    @Test(
        "A stranger's cheap plan under a paid order's id leaves the buyer's premium alone, until she accepts it",
        arguments: Reach.allCases)
    func cheapPlan(_ reach: Reach) async throws {
        try await CloudShop.open(reach) { shop in
            let opened = try await shop.openPlan(Self.premium, as: "ann")
            try await shop.payPlan(opened, as: "ann")
            let before = try await shop.rights(of: "ann")
            let order = try #require(UniqueID(opened["id"].text))
            let cheap = try await shop.pay(
                CloudShop.prefix + "basic_monthly", token: order, account: "eve", storefront: "USA")
            let reply = try await shop.submit(cheap.signed, as: .user("eve"))
            #expect(reply.status == 202 && reply["reason"].text == "contradicts_order" && reply["finish"] == false)
            #expect(try await shop.rights(of: "ann") == before)

            let waiting = try await claimable(shop, by: "ann")
            #expect(waiting.map { $0.at("transactionId").text } == [cheap.id])
            #expect(waiting.first?.at("orderId").text == order.description)
            #expect(waiting.first?.at("productId").text == CloudShop.prefix + "basic_monthly")
            #expect(waiting.first?.at("orderedProductId").text == CloudShop.prefix + Self.premium)
            #expect(try await claimable(shop, by: "eve").isEmpty)
            let stranger = try await accept(cheap.id, in: shop, as: "eve")
            let invented = try await accept("2000000999999999", in: shop, as: "eve")
            #expect(stranger.status == 404 && stranger.code == "unknown_transaction")
            #expect(stranger["detail"] == invented["detail"] && stranger["title"] == invented["title"])

            let yes = try await accept(cheap.id, in: shop, as: "ann")
            #expect(yes.status == 200 && yes["data"].list.map { $0.at("outcome").text } == ["granted"])
            #expect(yes["data"].list.first?.at("orderId").text != order.description)
            #expect(try await accept(cheap.id, in: shop, as: "ann").body == yes.body)
            #expect(try await shop.rights(of: "ann") != before)
            #expect(try await claimable(shop, by: "ann").isEmpty)
            let claims = try await shop.send(.get, "/v1/users/ann/claims", as: .user("ann"))
            #expect(claims["data"].list.map { $0.at("id") } == [yes["id"]])
            #expect(try await shop.decisions(on: cheap.id).map(\.ground) == ["contradicts_order", "acceptance"])
        }
    }

    @Test(
        "A refunded present of points takes nothing from points that were paid later",
        arguments: Reach.allCases)
    func refundedPoints(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let order = try await shop.openOrder(as: "ann")
            let paid = try await shop.pay(token: order)
            _ = try await shop.submit(paid.signed, as: .user("ann"))
            let present = try await shop.pay(Shop.points300, token: order, account: "eve")
            #expect(try await shop.submit(present.signed, as: .user("eve"))["reason"].text == "contradicts_order")
            _ = try await shop.debit(60, from: "ann", "spent")
            _ = try await shop.ask(.post, "/emulator/transactions/\(present.id)/refund")
            let copy = try await shop.ask(.get, "/emulator/transactions/\(present.id)")["signedTransaction"].text
            if !copy.isEmpty { #expect(try await shop.submit(copy, as: .user("eve"))["outcome"].text == "revoked") }
            let next = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            _ = try await shop.submit(next.signed, as: .user("ann"))
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("Another quantity waits like another product, under an open order and under a paid one")
    func quantity() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "ann", quantity: 2)
            let three = try await shop.pay(token: order, quantity: 3, account: "eve")
            #expect(try await shop.submit(three.signed, as: .user("eve"))["reason"].text == "contradicts_order")
            let two = try await shop.pay(token: order, quantity: 2)
            let granted = try await shop.submit(two.signed, as: .user("ann"))
            #expect(granted["outcome"].text == "granted" && granted["orderId"].text == order.description)
            let one = try await shop.pay(token: order, account: "eve")
            #expect(try await shop.submit(one.signed, as: .user("eve"))["reason"].text == "contradicts_order")
            #expect(try await shop.points(of: "ann") == 120)
            // Exactly the ordered purchase once more gets an order of its own, as before.
            let again = try await shop.pay(token: order, quantity: 2)
            let second = try await shop.submit(again.signed, as: .user("ann"))
            #expect(second["outcome"].text == "granted" && second["orderId"].text != order.description)
            #expect(try await shop.points(of: "ann") == 240)
            #expect(try await claimable(shop, by: "ann").map { $0.at("quantity").int } == [1, 3])
        }
    }

    @Test("The present comes first and the order is opened later: it waits for the same acceptance")
    func presentFirst() async throws {
        try await Shop.open { shop in
            let order = ProvenOrder(of: "ann")
            let present = try await shop.pay(Shop.points300, token: order.id, account: "eve")
            #expect(try await shop.submit(present.signed, as: .user("eve"))["reason"].text == "unknown_token")
            let opened = try await shop.send(
                .post, "/v1/orders", order.opening(["productId": .string(Shop.points60)]), as: .user("ann"))
            #expect(opened.status == 201)
            #expect(try await shop.points(of: "ann") == 0)
            #expect(try await claimable(shop, by: "ann").map { $0.at("transactionId").text } == [present.id])
            let paid = try await shop.pay(token: order.id)
            let granted = try await shop.submit(paid.signed, as: .user("ann"))
            #expect(granted["orderId"].text == order.id.description)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await accept(present.id, in: shop, as: "ann").status == 200)
            #expect(try await shop.points(of: "ann") == 360)
        }
    }

    @Test(
        "A receipt beside an order's id is no present either: Apple's signed copy states what was paid (StoreKit 1)",
        arguments: [true, false])
    func receipt(_ hasKey: Bool) async throws {
        try await Shop.open(line: hasKey ? AppleProxy() : nil) { shop in
            let order = try await shop.openOrder(as: "ann")
            let present = try await shop.pay(Shop.points300, token: order, account: "eve")
            for user in ["eve", "ann"] {
                let reply = try await shop.post(receiptOf: present, Shop.points300, order: order, as: user)
                #expect(reply.status == 202, "\(reply.body)")
                let expected = hasKey ? "contradicts_order" : user == "eve" ? "claimed_order_of_another" : nil
                #expect(reply["reason"].text == expected ?? "claimed_order_differs")
            }
            #expect(try await shop.points(of: "ann") == 0)
            #expect(try await shop.status(of: order) == "prepared")
            // The signed copy names her, also from another caller.
            #expect(try await shop.submit(present.signed, as: .user("eve"))["reason"].text == "contradicts_order")
            #expect(try await accept(present.id, in: shop, as: "ann").status == 200)
            #expect(try await shop.points(of: "ann") == 300)
        }
    }

    @Test("The order's user shows Apple's order number, which counts as acceptance; another user gets no information")
    func byNumber() async throws {
        try await Shop.open(environments: [.production], line: AppleProxy(), store: .production) { shop in
            let order = try await shop.openOrder(as: "ann")
            let present = try await shop.pay(Shop.points300, token: order)
            _ = try await shop.submit(present.signed, as: .user("eve"))
            let number = try await shop.ask(.get, "/emulator/transactions/\(present.id)")["orderId"]
            func claim(_ user: String) async throws -> Reply {
                try await shop.send(.post, "/v1/users/\(user)/claims", ["orderNumber": number], as: .user(user))
            }
            let stranger = try await claim("eve")
            #expect(stranger.status == 422 && stranger.code == "unknown_order_number")
            #expect(try await claim("ann")["data"].list.map { $0.at("outcome").text } == ["granted"])
            #expect(try await shop.points(of: "ann", environment: "production") == 300)
        }
    }

    @Test("After a merge a guest's order is the account's, and so is what waits under it")
    func mergedGuest() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "guest-1")
            let present = try await shop.pay(Shop.points300, token: order, account: "eve")
            _ = try await shop.submit(present.signed, as: .user("eve"))
            let merged = try await shop.send(
                .post, "/v1/users/ann/guests", ["guestId": "guest-1", "reason": "signed in", "operator": "li"])
            #expect(merged.status == 201, "\(merged.body)")
            #expect(try await claimable(shop, by: "ann").map { $0.at("transactionId").text } == [present.id])
            #expect(try await accept(present.id, in: shop, as: "ann").status == 200)
            #expect(try await shop.points(of: "ann") == 300)
        }
    }

    @Test("An account token takes any product")
    func accountToken() async throws {
        try await Shop.open { shop in
            let token = UniqueID(high: 0x0123_4567_89AB_4CDE, low: 0x8000_0000_0000_0001)
            let put = try await shop.send(.put, "/v1/users/ann/account-tokens/\(token)")
            #expect(put.status == 201)
            for product in [Shop.points60, Shop.points300] {
                let payment = try await shop.pay(product, token: token)
                #expect(try await shop.submit(payment.signed, as: .user("ann"))["outcome"].text == "granted")
            }
            #expect(try await shop.points(of: "ann") == 360)
        }
    }

    // MARK: Chains

    @Test(
        "An upgrade and a renewal in the buyer's own chain carry the first order's token, and are the buyer's",
        arguments: [false, true])
    func ownChain(_ isUpgradeFirst: Bool) async throws {
        try await SubscriptionShop.open { subscriptions in
            let (shop, prefix) = (subscriptions.shop, SubscriptionShop.prefix)
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": .null])
            let order = try await shop.openOrder(prefix + "basic", as: "ann")
            let first = try await shop.pay(prefix + "basic", token: order, storefront: "USA")
            shop.time.advance(seconds: 86_400)
            let upgrade = try await shop.pay(prefix + "premium", token: order, storefront: "USA")
            let payments = isUpgradeFirst ? [upgrade, first] : [first, upgrade]
            for payment in payments { _ = try await shop.submit(payment.signed, as: .user("ann")) }
            #expect(try await shop.grantCount() == 2)
            #expect(try await shop.status(of: order) == "completed")
            #expect(try await claimable(shop, by: "ann").isEmpty)
            #expect(try await subscriptions.rights(of: "ann").contains("premium:subscribed"))
        }
    }

    @Test("A stranger's chain under a user's order id waits with all that follows in it, until the user accepts it")
    func strangersChain() async throws {
        try await SubscriptionShop.open { subscriptions in
            let (shop, prefix) = (subscriptions.shop, SubscriptionShop.prefix)
            let order = try await shop.openOrder(prefix + "premium", as: "ann")
            let hers = try await shop.pay(prefix + "premium", token: order, account: "ann", storefront: "USA")
            let first = try await shop.pay(prefix + "music", token: order, account: "eve", storefront: "USA")
            try await subscriptions.doWhatIsDue()
            // Its free week ends, and it renews.
            shop.time.advance(seconds: 8 * 86_400)
            try await subscriptions.doWhatIsDue()
            #expect(try await subscriptions.rights(of: "ann") == "premium:subscribed")
            #expect(try await shop.submit(hers.signed, as: .user("ann"))["outcome"].text == "alreadyGranted")
            // The renewals wait with their purchase.
            #expect(try await claimable(shop, by: "ann").count == 1)
            #expect(try await accept(first.id, in: shop, as: "ann").status == 200)
            // They follow it.
            #expect(try await claimable(shop, by: "ann").isEmpty)
            #expect(try await subscriptions.rights(of: "ann").contains("music:subscribed"))
        }
    }
}
