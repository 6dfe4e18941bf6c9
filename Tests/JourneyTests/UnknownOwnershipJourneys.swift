import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillLedger
import TillServer

@Suite("Seats that another customer pays for, and more than ten at once (V6)") struct UnknownOwnershipJourneys {
    private static func signed(
        _ id: String, _ changes: [String: JSONValue], by shop: Shop
    ) throws -> String {
        let members: [String: JSONValue] = [
            "transactionId": .string(id), "originalTransactionId": .string(id), "bundleId": .string(Shop.bundleID),
            "productId": .string(Shop.points60), "purchaseDate": .int(1_790_000_000_000), "quantity": 1,
            "type": "Consumable", "signedDate": .int(1_790_000_000_000), "environment": "Sandbox",
            "inAppOwnershipType": "PURCHASED", "price": 6_000, "currency": "CNY", "storefront": "CHN",
        ]
        let payload = JSONValue.object(members.merging(changes) { $1 })
        return try shop.emulator.issuer.sign(payload: Array(payload.encoded().utf8))
    }

    private static func decide(_ id: String, for user: String, in shop: Shop) async throws -> Reply {
        try await shop.send(
            .post, "/v1/quarantine/\(id)/claims",
            ["userId": .string(user), "reason": "the seat of this member", "operator": "li", "environment": "sandbox"])
    }

    @Test(
        "Neither token, order id, backend nor restore gives a seat; an operator does (V6)",
        arguments: ["ASSIGNED", "LENT"])
    func seats(ownership: String) async throws {
        try await Shop.open(.socket) { shop in
            let order = try await shop.openOrder(as: "ann")
            let seat = try Self.signed(
                "900",
                [
                    "inAppOwnershipType": .string(ownership), "appAccountToken": .string(order.description),
                    "quantity": ownership == "ASSIGNED" ? 50 : 2,
                ], by: shop)
            for party in [Party.user("ann"), .user("eve"), .backend] {
                let reply = try await shop.submit(seat, as: party, orderID: order)
                #expect(reply.status == 202 && reply["reason"].text == "unknown_ownership")
                #expect(reply["finish"] == false)
            }
            let named = try await shop.submit(seat, as: .backend, userID: "eve")
            #expect(named["reason"].text == "unknown_ownership")
            let restored = try await shop.restore([seat], as: .user("eve"))
            #expect(shop.outcomes(restored) == ["quarantined unknown_ownership"])
            let notice = try Signed.notification(["signedTransactionInfo": .string(seat)], by: shop)
            #expect(try await Signed.post(notice, to: shop).status == 200)
            #expect(try await Signed.stored(in: shop.ledger).map(\.detail) == ["quarantined: unknown_ownership"])
            #expect(try await shop.grantCount() == 0)
            #expect(try await shop.status(of: order) == "prepared")
            let word = try await shop.ledger.read { connection in
                try connection.first("SELECT ownership_type FROM transactions WHERE id = '900'", []) {
                    $0.text("ownership_type")
                }
            }
            #expect(word == ownership)

            let granted = try await Self.decide("900", for: "ben", in: shop)
            #expect(granted.status == 200 && granted["outcome"].text == "granted")
            #expect(try await shop.points(of: "ben") == (ownership == "ASSIGNED" ? 60 : 120))
            #expect(try await shop.status(of: order) == "prepared", "the order is the payer's")
            let report = try await shop.send(
                .get, "/v1/finance/report?from=2026-09-01&to=2026-09-30&environment=sandbox")
            #expect(report.status == 200 && !"\(report.body)".contains(Shop.points60))
        }
    }

    @Test("Reconciliation finds nothing to correct in a history with assigned seats (V6)")
    func reconciled() async throws {
        try await SilentShop.open { silent in
            let shop = silent.shop
            let payment = try await silent.buy("pro", as: "ann", withToken: false)
            let emulator = shop.emulator
            @Sendable func assigned(_ token: String) -> String {
                guard let payload = Base64.decode(String(token.split(separator: ".")[1]), .url),
                    case .object(var members)? = try? JSONValue(decoding: payload)
                else { return token }
                members["inAppOwnershipType"] = "ASSIGNED"
                members["quantity"] = 50
                return (try? emulator.issuer.sign(payload: Array(JSONValue.object(members).encoded().utf8))) ?? token
            }
            silent.line.rewrite = { answer in
                guard case .object(var members) = answer else { return answer }
                if case .array(let tokens)? = members["signedTransactions"] {
                    members["signedTransactions"] = .array(tokens.map { .string(assigned($0.text)) })
                }
                if let token = members["signedTransactionInfo"] {
                    members["signedTransactionInfo"] = .string(assigned(token.text))
                }
                return .object(members)
            }
            let reply = try await shop.submit(assigned(payment.signed), as: .user("ann"))
            #expect(reply.status == 202 && reply["reason"].text == "unknown_ownership", "\(reply.body)")
            let first = try await silent.reconcile()
            // The store's one notification was never delivered; its purchase is known.
            #expect(first.kinds == ["notification_missed"], "\(first.differences)")
            #expect(try await silent.reconcile().kinds.isEmpty)
            #expect(try await silent.compare().differences.isEmpty)
            #expect(silent.line.asked.contains { $0.contains("/history/") }, "\(silent.line.asked)")
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("More than ten at once is unclaimed until an operator grants it, with all of its points (V6)")
    func manyAtOnce() async throws {
        try await Shop.open(.socket) { shop in
            let many = try Self.signed("901", ["quantity": 50], by: shop)
            let reply = try await shop.submit(many, as: .user("ann"))
            #expect(reply.status == 202 && reply["reason"].text == "unusable_quantity")
            #expect(try await shop.submit(many, as: .backend, userID: "ann")["reason"].text == "unusable_quantity")
            let granted = try await Self.decide("901", for: "ann", in: shop)
            #expect(granted.status == 200 && granted["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 3_000)
            let order = try await shop.send(.get, "/v1/orders/\(granted["orderId"].text)", as: .user("ann"))
            #expect(order["quantity"] == 50 && order["status"].text == "completed")
            let list = try await shop.send(.get, "/v1/users/ann/orders?environment=sandbox", as: .user("ann"))
            #expect(list["data"].list.map { $0.at("quantity") } == [50])
            #expect(try await shop.submit(many, as: .user("ann"))["outcome"].text == "alreadyGranted")
        }
    }

    @Test("An uncountable quantity is refused to an operator too (V6)")
    func uncountable() async throws {
        let generous = CatalogProduct(
            id: ProductID(Shop.points60), type: .consumable, names: LocalizedText(en: "points", zh: "学点"),
            price: Money(amount: 600, currency: Currency("CNY")), points: ["points": Int64.max / 20])
        try await Shop.open(change: { $0.catalog = Catalog(products: [generous]) }) { shop in
            let huge = try Self.signed("902", ["quantity": 50], by: shop)
            #expect(try await shop.submit(huge, as: .user("ann"))["reason"].text == "unusable_quantity")
            let refused = try await Self.decide("902", for: "ann", in: shop)
            #expect(refused.status == 409 && refused.code == "not_claimable")
            #expect(try await shop.grantCount() == 0)
        }
    }
}
