import Testing
import TillBilling
import TillJSON
import TillLedger
import TillServer

@Suite("The only order of its device") struct DeviceMatchJourneys {
    private func order(
        _ shop: Shop, as user: String, on device: String, product: String = Shop.points60
    ) async throws -> OrderID {
        let reply = try await shop.send(
            .post, "/v1/orders", ["productId": .string(product), "deviceId": .string(device)], as: .user(user))
        return try #require(UniqueID(reply["id"].text))
    }

    private func submit(
        _ payment: Payment, to shop: Shop, as user: String, from device: String?
    ) async throws -> Reply {
        var body: [String: JSONValue] = ["signedTransaction": .string(payment.signed)]
        if let device { body["deviceId"] = .string(device) }
        return try await shop.send(.post, "/v1/transactions", .object(body), as: .user(user))
    }

    /// Makes a user a buyer on that device, by an order that Apple's token completes there.
    private func buy(_ shop: Shop, as user: String, on device: String, account: String = "default") async throws {
        let order = try await order(shop, as: user, on: device)
        let payment = try await shop.pay(token: order, account: account)
        #expect(try await submit(payment, to: shop, as: user, from: device)["outcome"].text == "granted")
    }

    @Test("A stranger who knows a customer's device id gets none of their payments, and can't make them wait (V2)")
    func borrowedDevice() async throws {
        try await Shop.open(.socket) { shop in
            try await buy(shop, as: "ann", on: "iPad-7", account: "anns")
            // He pays too, so that a token of his completes an order on her device.
            try await buy(shop, as: "eve", on: "iPad-7", account: "eves")
            _ = try await order(shop, as: "eve", on: "iPad-7")
            let hers = try await shop.pay(token: nil, account: "anns")
            let reply = try await submit(hers, to: shop, as: "eve", from: "iPad-7")
            #expect(reply.status == 202 && reply["reason"].text == "no_owner")
            #expect(try await shop.points(of: "eve") == 60)

            for _ in 0..<60 { _ = try await order(shop, as: "eve", on: "iPad-7") }
            let order = try await order(shop, as: "ann", on: "iPad-7")
            let next = try await shop.pay(token: nil, account: "anns")
            let granted = try await submit(next, to: shop, as: "ann", from: "iPad-7")
            #expect(granted["outcome"].text == "granted" && granted["orderId"].text == order.description)
            #expect(try await shop.points(of: "eve") == 60)
        }
    }

    @Test("A device on which no user has paid with this Apple Account decides nothing (U1)")
    func firstPayment() async throws {
        try await Shop.open { shop in
            _ = try await order(shop, as: "ann", on: "iPad-7")
            let payment = try await shop.pay(token: nil)
            #expect(try await submit(payment, to: shop, as: "ann", from: "iPad-7")["reason"].text == "no_owner")
        }
    }

    @Test("A's token was lost and B is signed in: the only open order on that phone is A's, and A gets it (U1, P8)")
    func onlyCandidate() async throws {
        try await Shop.open { shop in
            try await buy(shop, as: "A", on: "iPad-7")
            let hers = try await order(shop, as: "A", on: "iPad-7")
            _ = try await order(shop, as: "B", on: "iPad-7", product: Shop.points300)
            _ = try await order(shop, as: "C", on: "iPad-8")
            let payment = try await shop.pay(token: nil)
            #expect(try await submit(payment, to: shop, as: "B", from: nil)["outcome"].text == "quarantined")
            let reply = try await submit(payment, to: shop, as: "B", from: "iPad-7")
            #expect(
                reply.body == ["outcome": "granted", "transactionId": .string(payment.id), "finish": true])
            #expect(try await shop.points(of: "A") == 120)
            #expect(try await shop.status(of: hers) == "completed")
            let evidence = try await shop.ledger.read { connection in
                let stored = try TransactionTable(connection).find(TransactionID(payment.id), in: .sandbox)
                return try EvidenceTable(connection).list(transaction: stored?.rowID ?? 0)
            }
            #expect(evidence.map(\.decision) == ["quarantined", "granted"])
            #expect(evidence.last?.ground == "device")
            let detail = evidence.last?.detail ?? ""
            #expect(detail.hasPrefix("token absent, order_id not_sent, device matched; device_id sent; "))
            // Evidence is never edited, so it names no device; the order does.
            #expect(!detail.contains("iPad"))
            #expect(detail.contains("app_transaction_id "))
        }
    }

    private func order(
        _ shop: Shop, as user: String, for camera: String?, on phone: String
    ) async throws -> Reply {
        var body: [String: JSONValue] = ["productId": .string(Shop.points60), "phoneId": .string(phone)]
        if let camera { body["deviceId"] = .string(camera) }
        return try await shop.send(.post, "/v1/orders", .object(body), as: .user(user))
    }

    private func submit(
        _ payment: Payment, to shop: Shop, as user: String, _ names: [String: JSONValue]
    ) async throws -> Reply {
        let body = names.merging(["signedTransaction": .string(payment.signed)]) { first, _ in first }
        return try await shop.send(.post, "/v1/transactions", .object(body), as: .user(user))
    }

    @Test(
        "A purchase for a camera is found by the phone that bought it, and by nothing else (U1, C5)",
        arguments: DeliveryTerms.Order.allCases)
    func camera(_ delivery: DeliveryTerms.Order) async throws {
        try await Shop.open(change: { $0.delivery.order = delivery }) { shop in
            func outcome(_ payment: Payment, _ names: [String: JSONValue]) async throws -> String {
                let reply = try await submit(payment, to: shop, as: "ann", names)
                guard reply["outcome"].text == "accepted" else { return reply["outcome"].text }
                _ = try await SavedProofs(shop.server.ledger).processAll()
                return try await submit(payment, to: shop, as: "ann", names)["outcome"].text
            }
            // One purchase with Apple's token makes her a customer of this phone.
            let first = try await order(shop, as: "ann", for: "camera-1", on: "phone-a")
            let paid = try await shop.pay(token: UniqueID(first["id"].text))
            #expect(try await outcome(paid, ["phoneId": "phone-a"]).hasSuffix("ranted"))
            let opened = try await order(shop, as: "ann", for: "camera-7", on: "phone-a")
            #expect(opened["deviceId"].text == "camera-7")
            let payment = try await shop.pay(token: nil)
            #expect(try await outcome(payment, ["deviceId": "camera-7"]) == "quarantined")
            #expect(try await outcome(payment, ["deviceId": "camera-7", "phoneId": "phone-b"]) == "quarantined")
            #expect(try await outcome(payment, ["deviceId": "camera-9", "phoneId": "phone-a"]).hasSuffix("ranted"))
            let order = try #require(UniqueID(opened["id"].text))
            #expect(try await shop.status(of: order) == "completed")
            #expect(try await shop.points(of: "ann") == 120)
        }
    }

    @Test("A stranger who names another customer's phone, or calls a camera by its id, gets none of her payments (V2)")
    func borrowedPhone() async throws {
        try await Shop.open { shop in
            for (user, account) in [("ann", "anns"), ("eve", "eves")] {
                let opened = try await order(shop, as: user, for: nil, on: "phone-a")
                let paid = try await shop.pay(token: UniqueID(opened["id"].text), account: account)
                let reply = try await submit(paid, to: shop, as: user, ["phoneId": "phone-a"])
                #expect(reply["outcome"].text == "granted")
            }
            _ = try await order(shop, as: "eve", for: nil, on: "phone-a")
            _ = try await order(shop, as: "eve", for: "phone-a", on: "eves-phone")
            let hers = try await shop.pay(token: nil, account: "anns")
            for names: [String: JSONValue] in [
                ["phoneId": "phone-a"], ["deviceId": "phone-a"], ["deviceId": "phone-a", "phoneId": "eves-phone"],
            ] {
                let reply = try await submit(hers, to: shop, as: "eve", names)
                #expect(reply.status == 202 && reply["reason"].text == "no_owner")
            }
            let order = try await order(shop, as: "ann", for: "camera-7", on: "phone-a")
            let next = try await shop.pay(token: nil, account: "anns")
            let granted = try await submit(next, to: shop, as: "ann", ["phoneId": "phone-a"])
            #expect(granted["outcome"].text == "granted" && granted["orderId"] == order["id"])
            #expect(try await shop.points(of: "eve") == 60)
        }
    }

    @Test("A plan for one device is for the phone if no other device is named; other purchases name none (C5)")
    func scope() async throws {
        try await CloudShop.open(scope: .device) { shop in
            func opened(_ plan: String, _ names: [String: JSONValue]) async throws -> Reply {
                let body = names.merging(["productId": .string(CloudShop.prefix + plan)]) { first, _ in first }
                return try await shop.send(.post, "/v1/orders", .object(body), as: .user("ann"))
            }
            let forPhone = try await opened("basic_monthly", ["phoneId": "p"])
            #expect(forPhone["deviceId"] == "p")
            let forCamera = try await opened("basic_monthly", ["phoneId": "p", "deviceId": "c"])
            #expect(forCamera["deviceId"] == "c")
            let points = try await opened("points60", ["phoneId": "p"])
            #expect(points.status == 201 && points["deviceId"] == .null)
            let nameless = try await opened("basic_monthly", [:])
            #expect(nameless.status == 400)
        }
    }

    @Test("With orders of two users on one phone there is no guess, and Apple's id of the account decides nothing (U1)")
    func twoCandidates() async throws {
        try await Shop.open { shop in
            try await buy(shop, as: "A", on: "iPad-7", account: "shared")
            let hers = try await order(shop, as: "A", on: "iPad-7")
            let his = try await order(shop, as: "B", on: "iPad-7")
            // B bought with this same Apple Account before.
            let before = try await shop.pay(token: his, account: "shared")
            #expect(try await submit(before, to: shop, as: "B", from: "iPad-7")["outcome"].text == "granted")
            _ = try await order(shop, as: "B", on: "iPad-7")
            let payment = try await shop.pay(token: nil, account: "shared")
            let reply = try await submit(payment, to: shop, as: "B", from: "iPad-7")
            #expect(reply.status == 202 && reply["reason"].text == "no_owner" && reply["finish"] == false)
            #expect(try await shop.status(of: hers) == "prepared")
            #expect(try await shop.grantCount() == 2)
        }
    }

    @Test("An order opened five minutes after the purchase, or paid already, is no candidate (U1)")
    func tooLateOrTaken() async throws {
        try await Shop.open { shop in
            try await buy(shop, as: "A", on: "iPad-7")
            let payment = try await shop.pay(token: nil)
            shop.time.advance(seconds: 305)
            _ = try await order(shop, as: "A", on: "iPad-7")
            #expect(try await submit(payment, to: shop, as: "A", from: "iPad-7")["outcome"].text == "quarantined")
            let paid = try await order(shop, as: "A", on: "iPad-9")
            _ = try await shop.submit(try await shop.pay(token: paid).signed, as: .user("A"))
            let second = try await shop.pay(token: nil)
            #expect(try await submit(second, to: shop, as: "A", from: "iPad-9")["outcome"].text == "quarantined")
        }
    }
}
