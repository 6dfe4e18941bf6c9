import Testing
import TillAPI
import TillBilling
import TillCrypto
import TillJSON
import TillLedger
import TillServer

/// A user can't get a purchase by opening an order under an id from another user's payments (V2; LEDGER R1–R7).
@Suite("Squatted tokens") struct SquattedTokenJourneys {
    /// Apple's recommended `appAccountToken`: a UUID of the customer's account, which is no secret.
    private static let account = UniqueID(high: 0x7C1D_2B3A_0F4E_4A6B, low: 0x8C9D_0E1F_2A3B_4C5D)
    private static let nonce = OrderIDNonce(bytes: Array(0..<16))!

    private func open(
        _ id: OrderID, as party: Party, nonce: String? = nil, guest: String? = nil, buyer: String? = nil,
        in shop: Shop
    ) async throws -> Reply {
        var body: [String: JSONValue] = ["id": .string(id.description), "productId": .string(Shop.points60)]
        if let nonce { body["idNonce"] = .string(nonce) }
        if let guest { body["idUserId"] = .string(guest) }
        if let buyer { body["userId"] = .string(buyer) }
        return try await shop.send(.post, "/v1/orders", .object(body), as: party)
    }

    private func register(_ token: UniqueID, for user: String, in shop: Shop) async throws -> Reply {
        try await shop.send(.put, "/v1/users/\(user)/account-tokens/\(token)")
    }

    @Test(
        "An app opens no order under an id that it can't prove, before or after the payment (V2)",
        arguments: Reach.allCases)
    func squatter(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let beforehand = try await open(Self.account, as: .user("eve"), in: shop)
            #expect(beforehand.status == 422 && beforehand.code == "order_id_unproven")
            let payment = try await shop.pay(token: Self.account)
            let first = try await shop.submit(payment.signed, as: .user("ann"))
            #expect(first.status == 202 && first["reason"].text == "unknown_token")
            // After the payment, with her own nonce, with a nonce of another id, and in Ann's name.
            for (nonce, guest) in [(nil, nil), (Self.nonce.text, nil), (Self.nonce.text, "ann")] {
                let reply = try await open(Self.account, as: .user("eve"), nonce: nonce, guest: guest, in: shop)
                #expect(reply.status == 422 && reply.code == "order_id_unproven")
            }
            let replay = try await shop.submit(payment.signed, as: .user("eve"), orderID: Self.account)
            #expect(replay.status == 202)
            #expect(try await shop.grantCount() == 0)
            #expect(try await register(Self.account, for: "ann", in: shop).status == 201)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.points(of: "eve") == 0)
        }
    }

    @Test("The nil and the max UUID open no order, register nothing, and have no meaning in a payment (V2, U1)")
    func absentTokens() async throws {
        try await Shop.open { shop in
            for text in ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"] {
                let id = try #require(UniqueID(text))
                #expect(try await open(id, as: .user("eve"), in: shop).status == 400)
                #expect(try await open(id, as: .backend, buyer: "eve", in: shop).status == 400)
                #expect(try await register(id, for: "eve", in: shop).status == 400)
                // Ann's order is as old as the payment: the next ground applies as if the payment had no token.
                let order = try await shop.openOrder(as: "ann")
                let payment = try await shop.pay(token: id)
                let reply = try await shop.submit(payment.signed, as: .user("ann"))
                #expect(reply.status == 202 && reply["reason"].text == "no_owner")
                let named = try await shop.submit(payment.signed, as: .user("ann"), orderID: order)
                #expect(named["outcome"].text == "granted" && named["orderId"].text == order.description)
                #expect(try await shop.decisions(on: payment.id).last?.ground == "order_id")
            }
        }
    }

    @Test("Payments under an account's token are its user's, from any caller and in any order (V2)")
    func accountToken() async throws {
        try await Shop.open { shop in
            #expect(try await register(Self.account, for: "ann", in: shop).status == 201)
            #expect(try await register(Self.account, for: "ann", in: shop).status == 200)
            let others = try await register(Self.account, for: "eve", in: shop)
            #expect(others.status == 409 && others.code == "token_in_use")
            #expect(
                try await shop.send(.put, "/v1/users/ann/account-tokens/\(Self.account)", as: .user("ann")).status
                    == 403)
            let payment = try await shop.pay(token: Self.account)
            let reply = try await shop.submit(payment.signed, as: .user("eve"))
            #expect(reply["outcome"].text == "granted" && reply["grant"] == .null)
            #expect(try await shop.points(of: "ann") == 60)
            // An order that the backend opened is closed by the payment that comes with its id.
            let order = try await shop.openOrder(as: "ann")
            let second = try await shop.pay(token: Self.account)
            _ = try await shop.submit(second.signed, as: .user("ann"), orderID: order)
            #expect(try await shop.status(of: order) == "completed")
            #expect(try await shop.points(of: "ann") == 120)
            let list = try await shop.send(.get, "/v1/users/ann/account-tokens")
            #expect(list["data"].list.map { $0.at("token").text } == [Self.account.description])
            // Neither the app nor the backend can use it as an order's id.
            let asOrder = try await open(Self.account, as: .backend, buyer: "eve", in: shop)
            #expect(asOrder.status == 409 && asOrder.code == "token_in_use")
        }
    }

    @Test("A token that is an order's id can't be registered for an account (V2)")
    func orderAsAccount() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "ann")
            let reply = try await register(order, for: "eve", in: shop)
            #expect(reply.status == 409 && reply.code == "token_in_use")
        }
    }

    @Test("A backend that forwards an app's id opens an order that takes nothing paid before it was opened (V2)")
    func forwardedID() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: Self.account)
            _ = try await shop.submit(payment.signed, as: .user("ann"))
            #expect(try await open(Self.account, as: .backend, buyer: "eve", in: shop).status == 201)
            _ = try await shop.submit(payment.signed, as: .user("eve"))
            let later = try await shop.pay(token: Self.account)
            #expect(try await shop.submit(later.signed, as: .user("eve"))["reason"].text == "unknown_token")
            #expect(try await shop.grantCount() == 0)
            // An order that a backend opens in advance is valid, like every order.
            let fresh = UniqueID(high: 5, low: 6)
            #expect(try await open(fresh, as: .backend, buyer: "ann", in: shop).status == 201)
            let paid = try await shop.pay(token: fresh)
            #expect(try await shop.submit(paid.signed, as: .user("eve"))["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("A claim and a backend's statement apply to one purchase, and to no other with the same token (V2)")
    func oneClaim() async throws {
        try await Shop.open { shop in
            let (first, second) = (try await shop.pay(token: Self.account), try await shop.pay(token: Self.account))
            for payment in [first, second] { _ = try await shop.submit(payment.signed, as: .user("ann")) }
            let decided = try await shop.send(
                .post, "/v1/quarantine/\(first.id)/claims",
                ["userId": "eve", "reason": "she showed a mail", "operator": "olga"])
            #expect(decided["outcome"].text == "granted")
            #expect(try await shop.submit(second.signed, as: .user("eve"))["reason"].text == "unknown_token")
            #expect(try await shop.points(of: "eve") == 60)
        }
    }

    @Test("A proven id opens the same order each time, which takes what was paid before it was opened (O1, V2)")
    func provenID() async throws {
        try await Shop.open { shop in
            let id = OrderIDCommitment(user: UserID("ann"), nonce: Self.nonce).id
            let payment = try await shop.pay(token: id)
            #expect(try await shop.submit(payment.signed, as: .user("ben"))["reason"].text == "unknown_token")
            let opened = try await open(id, as: .user("ann"), nonce: Self.nonce.text, in: shop)
            #expect(opened.status == 201 && opened["status"].text == "completed")
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await open(id, as: .user("ann"), nonce: Self.nonce.text, in: shop).status == 200)
            // A repetition by an app that has lost the nonce still gets her own order; others get none.
            #expect(try await open(id, as: .user("ann"), in: shop).status == 200)
            #expect(try await open(id, as: .user("eve"), nonce: Self.nonce.text, in: shop).status == 422)
        }
    }

    @Test("A proof with its nonce opens an order that the server does not know (V2, O7)", arguments: Reach.allCases)
    func lostOpen(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let id = OrderIDCommitment(user: UserID("ann"), nonce: Self.nonce).id
            let payment = try await shop.pay(token: id)
            var body: [String: JSONValue] = [
                "signedTransaction": .string(payment.signed), "idNonce": .string(Self.nonce.text),
            ]
            // Eve has the proof and the nonce, and is not the user that the id commits to.
            for guest in [nil, "ann"] {
                body["idUserId"] = guest.map { .string($0) }
                let stolen = try await shop.send(.post, "/v1/transactions", .object(body), as: .user("eve"))
                #expect(stolen.status == 202 && stolen["reason"].text == "unknown_token")
            }
            body["idUserId"] = nil
            let reply = try await shop.send(.post, "/v1/transactions", .object(body), as: .user("ann"))
            #expect(reply["outcome"].text == "granted" && reply["orderId"].text == id.description)
            #expect(try await shop.status(of: id) == "completed")
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("With save-then-finish the nonce opens the order before the proof waits (G5, V2)")
    func savedProof() async throws {
        try await Shop.open(change: { $0.delivery.order = .saveThenFinish }) { shop in
            let id = OrderIDCommitment(user: UserID("ann"), nonce: Self.nonce).id
            let payment = try await shop.pay(token: id)
            let reply = try await shop.send(
                .post, "/v1/transactions",
                ["signedTransaction": .string(payment.signed), "idNonce": .string(Self.nonce.text)], as: .user("ann"))
            #expect(reply.status == 202 && reply["finish"].bool == true)
            #expect(try await SavedProofs(shop.server.ledger).processAll() == 1)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("Until the configured date apps may choose ids, which take nothing paid before they were opened (V2)")
    func acceptedUntil() async throws {
        let time = TestClock()
        let end = time.now.adding(seconds: 3_600)
        try await Shop.open(change: { $0.orders.acceptUnprovenIDsUntil = end }, time: time) { shop in
            let payment = try await shop.pay(token: Self.account)
            _ = try await shop.submit(payment.signed, as: .user("ann"))
            #expect(try await open(Self.account, as: .user("eve"), in: shop).status == 201)
            #expect(try await shop.submit(payment.signed, as: .user("eve"))["reason"].text == "unknown_token")
            let own = UniqueID(high: 7, low: 8)
            #expect(try await open(own, as: .user("ben"), in: shop).status == 201)
            let paid = try await shop.pay(token: own)
            #expect(try await shop.submit(paid.signed, as: .user("ben"))["outcome"].text == "granted")
            time.advance(seconds: 3_600)
            #expect(try await open(UniqueID(high: 7, low: 9), as: .user("ben"), in: shop).status == 422)
            #expect(try await open(own, as: .user("ben"), in: shop).status == 200)
        }
    }

    @Test("An app's own order number names the order of its user alone (C8, V2)")
    func orderNumber() async throws {
        try await Shop.open { shop in
            func openNumber(_ user: String) async throws -> Reply {
                try await shop.send(
                    .post, "/v1/orders", ["orderNumber": "2013-17", "productId": .string(Shop.points60)],
                    as: .user(user))
            }
            let (ann, eve) = (try await openNumber("ann"), try await openNumber("eve"))
            #expect(ann.status == 201 && eve.status == 201 && ann["id"] != eve["id"])
            #expect(try await openNumber("ann").status == 200)
            #expect(
                ann["id"].text == OrderIDCommitment(user: UserID("ann"), orderNumber: "2013-17").id.description)
        }
    }
}
