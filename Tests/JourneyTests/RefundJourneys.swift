import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillServer

/// Apple's updates about refunded money, through the whole server.
@Suite("Refunds, reversals and revocations") struct RefundJourneys {
    private func turnOnNotifications(_ shop: Shop) async throws {
        _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
    }

    /// Buys sixty points and spends some of them.
    private func buy(_ shop: Shop, spending amount: Int64, as user: String = "u1") async throws -> (OrderID, String) {
        let order = try await shop.openOrder(as: user)
        let payment = try await shop.pay(token: order, account: user)
        await shop.emulator.sendDueNotifications()
        #expect(try await debit(shop, amount, "first", as: user).status == 201)
        shop.time.advance(seconds: 60)
        return (order, payment.id)
    }

    private func debit(_ shop: Shop, _ amount: Int64, _ reference: String, as user: String = "u1") async throws -> Reply
    {
        try await shop.send(
            .post, "/v1/users/\(user)/wallet/debits",
            ["currency": "points", "amount": .int(amount), "reference": .string("\(user)-\(reference)")])
    }

    private func tell(_ shop: Shop, _ what: String, _ id: String, _ body: JSONValue? = nil) async throws {
        let reply = try await shop.ask(.post, "/emulator/transactions/\(id)/\(what)", body)
        #expect(reply.status == 200, "\(reply.body)")
        await shop.emulator.sendDueNotifications()
        shop.time.advance(seconds: 60)
    }

    private func kinds(_ shop: Shop, of user: String = "u1") async throws -> [String] {
        try await shop.send(.get, "/v1/users/\(user)/wallet/postings")["data"].list.reversed().map { posting in
            "\(posting.at("kind").text) \(posting.at("amount").int ?? 0)"
        }
    }

    /// policy | balance after REFUND | why a debit is refused then | balance after the next sixty points | after
    /// REFUND_REVERSED
    static let policies = """
        owe     | -50 | insufficient_funds | 10 | 70
        freeze  | -50 | in_debt            | 10 | 70
        forgive | 0   | insufficient_funds | 60 | 70
        """

    @Test(
        "REFUND after the points were spent, the next purchase, REFUND_REVERSED: under every policy (U5)",
        arguments: policies.split(separator: "\n").map(String.init))
    func policy(_ row: String) async throws {
        let cells = row.split(separator: "|").map { $0.split(separator: " ").joined() }
        let policy = try #require(DebtPolicy(rawValue: cells[0]))
        try await Shop.open(change: { $0.debt = policy }) { shop in
            try await turnOnNotifications(shop)
            let (order, id) = try await buy(shop, spending: 50)
            try await tell(shop, "refund", id)
            #expect(try await shop.status(of: order) == "refunded")
            #expect(try await shop.points(of: "u1") == Int64(cells[1]))
            let refused = try await debit(shop, 1, "second")
            #expect(refused.status == 409 && refused.code == cells[2])
            let other = try await shop.openOrder(as: "u1")
            _ = try await shop.pay(token: other, account: "u1")
            // A request makes the store do what is due.
            #expect(try await shop.ask(.get, "/emulator/state").status == 200)
            await shop.emulator.sendDueNotifications()
            #expect(try await shop.points(of: "u1") == Int64(cells[3]))
            try await tell(shop, "refundReversal", id)
            #expect(try await shop.points(of: "u1") == Int64(cells[4]))
            #expect(try await shop.status(of: order) == "completed")
            #expect(try await debit(shop, 70, "third").status == 201)
            let forgiven = try await kinds(shop).filter { $0.hasPrefix("write_off") }
            #expect(forgiven == (policy == .forgive ? ["write_off 50", "write_off_reversal -50"] : []))
        }
    }

    @Test(
        "Refunded before it arrived, without an order id: its buyer learns which order it was, others don't (U5, P8)")
    func refundedUnseen() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: nil, account: "u1")
            _ = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund", [:])
            let signed = try await shop.ask(.get, "/emulator/transactions/\(payment.id)")["signedTransaction"].text
            for _ in 0..<2 {
                let reply = try await shop.submit(signed, as: .user("u1"), orderID: order)
                #expect(reply["outcome"].text == "revoked" && reply["finish"] == true)
                #expect(reply["orderId"].text == order.description && reply["userId"].text == "u1")
            }
            #expect(try await shop.status(of: order) == "refunded")
            let other = try await shop.openOrder(as: "u2")
            let reply = try await shop.submit(signed, as: .user("u2"), orderID: other)
            #expect(reply["outcome"].text == "revoked" && reply["orderId"].text.isEmpty)
            #expect(try await shop.status(of: other) == "prepared")
            #expect(try await shop.points(of: "u1") == 0)
        }
    }

    @Test("A prorated refund takes its share, and a copy with another share applies the difference (U4, U5)")
    func prorated() async throws {
        try await Shop.open { shop in
            try await turnOnNotifications(shop)
            let (_, id) = try await buy(shop, spending: 10)
            try await tell(shop, "refund", id, ["type": "prorated", "percentage": 33_333])
            #expect(try await shop.points(of: "u1") == 60 - 10 - 19)
            #expect(try await kinds(shop) == ["purchase 60", "debit -10", "refund -19"])
            let lots = try await shop.send(.get, "/v1/users/u1/wallet/lots?currency=points")["data"].list
            #expect(lots.map { $0.at("takenBack").int } == [19] && lots.map { $0.at("remaining").int } == [31])
            let first = try await shop.ask(.get, "/emulator/transactions/\(id)")["signedTransaction"].text
            try await tell(shop, "refundReversal", id)
            #expect(try await shop.points(of: "u1") == 50)
            try await tell(shop, "refund", id, ["type": "prorated", "percentage": 50_000])
            #expect(try await shop.points(of: "u1") == 20)
            // The older copy changes nothing.
            #expect(try await shop.submit(first, as: .user("u1"))["outcome"].text == "revoked")
            #expect(try await shop.points(of: "u1") == 20)
        }
    }

    @Test("Copies with other shares end the same in any order, even before the purchase (U4, U5)")
    func shuffled() async throws {
        try await Shop.open { shop in
            for (number, order) in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].enumerated() {
                let user = "s\(number)"
                let opened = try await shop.openOrder(as: user)
                let payment = try await shop.pay(token: opened, account: user)
                var copies = [payment.signed]
                for percentage in [40_000, 25_000] as [Int64] {
                    shop.time.advance(seconds: 60)
                    let refunded = try await shop.ask(
                        .post, "/emulator/transactions/\(payment.id)/refund",
                        ["type": "prorated", "percentage": .int(percentage)])
                    copies.append(refunded["signedTransaction"].text)
                    guard percentage == 40_000 else { continue }
                    shop.time.advance(seconds: 60)
                    _ = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refundReversal")
                }
                for index in order { _ = try await shop.submit(copies[index], as: .user(user)) }
                #expect(try await shop.points(of: user) == 45, "\(order)")
                #expect(try await shop.status(of: opened) == "refunded", "\(order)")
                let lots = try await shop.send(.get, "/v1/users/\(user)/wallet/lots?currency=points")["data"].list
                #expect(lots.map { $0.at("takenBack").int } == [15], "\(order)")
            }
        }
    }

    @Test("REVOKE takes back everything that family sharing had given a member (U5)")
    func family() async throws {
        let library = CatalogProduct(
            id: ProductID("com.example.learn.library"), type: .nonConsumable,
            names: LocalizedText(en: "Library", zh: "书库"),
            price: Money(amount: 9_800, currency: Currency("CNY")), points: ["points": 40], entitlement: "library")
        let change: (inout ServerConfiguration) -> Void = {
            $0.catalog = Catalog(products: $0.catalog.products + [library])
        }
        try await Shop.open(change: change) { shop in
            let loaded = try await shop.ask(
                .put, "/emulator/products",
                [
                    "products": [
                        [
                            "id": .string(library.id.text), "type": "Non-Consumable", "familyShareable": true,
                            "prices": ["CHN": ["amount": 9_800, "currency": "CNY"]],
                        ]
                    ]
                ])
            #expect(loaded.status == 200, "\(loaded.body)")
            for account in ["mother", "child"] {
                let joined = try await shop.ask(.put, "/emulator/accounts/\(account)", ["family": "mother"])
                #expect(joined.status == 200, "\(joined.body)")
            }
            let order = try await shop.openOrder(library.id.text, as: "u1")
            _ = try await shop.submit(
                shop.pay(library.id.text, token: order, account: "mother").signed, as: .user("u1"))
            let copies = try await shop.ask(.get, "/emulator/transactions?account=child")["data"].list
            let copy = try #require(copies.first)
            // Without a token, the app's backend names the owner.
            _ = try await shop.submit(copy.at("signedTransaction").text, as: .backend, userID: "u2")
            #expect(try await shop.points(of: "u2") == 40)
            #expect(try await debit(shop, 30, "a", as: "u2").status == 201)
            try await turnOnNotifications(shop)
            shop.time.advance(seconds: 60)
            try await tell(shop, "revoke", copy.at("transactionId").text)
            #expect(try await shop.points(of: "u2") == -30)
            #expect(try await shop.points(of: "u1") == 40)
            #expect(try await kinds(shop, of: "u2") == ["purchase 40", "debit -30", "refund -40"])
        }
    }

    @Test("REFUND_DECLINED changes nothing (U5)")
    func declined() async throws {
        try await Shop.open { shop in
            try await turnOnNotifications(shop)
            let (order, id) = try await buy(shop, spending: 50)
            try await tell(shop, "consumptionRequest", id, ["decision": "decline"])
            shop.time.advance(seconds: 12 * 3_600)
            #expect(
                try await shop.ask(.get, "/emulator/transactions/\(id)/consumptionRequest")["outcome"] == "declined")
            await shop.emulator.sendDueNotifications()
            let reported = try await shop.ledger.read { connection in
                try connection.query("SELECT type, detail FROM notifications ORDER BY row_id", []) { row in
                    "\(row.text("type")) \(row.text("detail"))"
                }
            }
            #expect(reported.last == "REFUND_DECLINED already granted", "\(reported)")
            #expect(try await shop.points(of: "u1") == 10)
            #expect(try await shop.status(of: order) == "completed")
            #expect(try await kinds(shop) == ["purchase 60", "debit -50"])
        }
    }
}
