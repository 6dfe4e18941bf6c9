import Testing
import TillBilling
import TillJSON

@Suite("Support moves purchases, and reverses transfers") struct TransferJourneys {
    private func move(
        _ original: String, from: String, to: String, in shop: Shop, environment: JSONValue = .null
    ) async throws -> Reply {
        try await shop.send(
            .post, "/v1/transfers",
            [
                "from": .string(from), "to": .string(to), "originalTransactionId": .string(original),
                "environment": environment, "reason": "ticket 4711", "operator": "li",
            ])
    }

    @Test("An operator reverses a merge: what is left returns, and spent points are reported as spent (P12)")
    func reversal() async throws {
        try await CloudShop.open { shop in
            try await shop.buyPlan("pro", as: "guest")
            try await shop.buyPlan("points60", as: "guest")
            let open = try await shop.openPlan("basic_monthly", as: "guest")
            let merged = try await shop.merge("guest", into: "ann")
            // Paid by the guest's order after it, and part of what comes back.
            try await shop.payPlan(open, as: "guest")
            _ = try await shop.send(
                .post, "/v1/users/ann/wallet/debits", ["currency": "points", "amount": 25, "reference": "r1"])

            let reversed = try await shop.reverse(merged["id"].text)
            #expect(reversed.status == 201, "\(reversed.body)")
            #expect(reversed["kind"].text == "reversal" && reversed["reverses"] == merged["id"])
            #expect(reversed["operator"].text == "li" && reversed["actor"].text == "key:backend")
            #expect(reversed["grantCount"].int == 3)
            #expect(reversed["points"].list.map { $0.at("amount").int } == [35])
            #expect(
                reversed["stayed"] == [
                    "grantCount": 0, "points": [["environment": "Sandbox", "currency": "points", "amount": 25]],
                ])
            #expect(try await shop.points(of: "guest") == 35)
            #expect(try await shop.points(of: "ann") == 0)
            #expect(try await shop.rights(of: "ann").isEmpty)
            #expect(try await shop.rights(of: "guest").count == 2)

            let again = try await shop.reverse(merged["id"].text)
            #expect(again.status == 200 && again["id"] == reversed["id"] && again["stayed"] == reversed["stayed"])
            #expect(try await shop.reverse(reversed["id"].text).code == "not_reversible")
            #expect(try await shop.reverse("6d9a35b3-eea1-46d2-9a75-8b7273506f71").code == "unknown_transfer")
            #expect(try await shop.reverse("x").status == 404)
            let listed = try await shop.send(.get, "/v1/users/ann/transfers")["data"].list
            #expect(listed.map { $0.at("kind").text } == ["reversal", "guest_merge"])
            #expect(listed.last?.at("reversedBy") == reversed["id"])

            // Again a customer of its own, who may go to another account.
            try await shop.buyPlan("points60", as: "guest")
            #expect(try await shop.points(of: "guest") == 95)
            #expect(try await shop.merge("guest", into: "ben").status == 201)
            #expect(try await shop.points(of: "ben") == 95)
        }
    }

    @Test("A refund between a merge and its reversal is not returned a second time (P12, U5)")
    func refundBetween() async throws {
        try await Shop.open { shop in
            let payment = try await shop.purchase(as: "guest")
            _ = try await shop.purchase(Shop.points300, as: "ann")
            let merged = try await shop.merge("guest", into: "ann")
            _ = try await shop.refund(payment.id, by: "ann")
            #expect(try await shop.points(of: "ann") == 300)
            let reversed = try await shop.reverse(merged["id"].text)
            #expect(reversed["points"] == [] && reversed["grantCount"].int == 1)
            #expect(try await shop.points(of: "ann") == 300)
            #expect(try await shop.points(of: "guest") == 0)
            // The refund's own reversal goes to the guest.
            _ = try await shop.refund(payment.id, reversal: true, by: "ann")
            #expect(try await shop.points(of: "guest") == 60)
        }
    }

    @Test("A reversal returns what is left of what moved, and nothing that the account bought since (P12)")
    func boughtSince() async throws {
        try await Shop.open { shop in
            _ = try await shop.purchase(as: "guest")
            let merged = try await shop.merge("guest", into: "ann")
            shop.time.advance(seconds: 60)
            _ = try await shop.send(
                .post, "/v1/users/ann/wallet/debits", ["currency": "points", "amount": 50, "reference": "r1"])
            _ = try await shop.purchase(Shop.points300, as: "ann")
            #expect(try await shop.points(of: "ann") == 310)
            let reversed = try await shop.reverse(merged["id"].text)
            #expect(reversed["points"].list.map { $0.at("amount").int } == [10], "\(reversed.body)")
            #expect(reversed["grantCount"].int == 1)
            #expect(reversed["stayed"].at("points").list.map { $0.at("amount").int } == [50])
            #expect(try await shop.points(of: "ann") == 300)
            #expect(try await shop.points(of: "guest") == 10)
        }
    }

    @Test("A purchase that moved on keeps its points: a reversal takes none of the account's own for them (P12)")
    func movedOn() async throws {
        try await Shop.open { shop in
            let payment = try await shop.purchase(as: "guest")
            let merged = try await shop.merge("guest", into: "ann")
            #expect(try await move(payment.id, from: "ann", to: "ben", in: shop).status == 201)
            _ = try await shop.purchase(Shop.points300, as: "ann")
            let reversed = try await shop.reverse(merged["id"].text)
            #expect(reversed["points"] == [] && reversed["grantCount"].int == 0, "\(reversed.body)")
            #expect(try await shop.points(of: "ann") == 300)
            #expect(try await shop.points(of: "ben") == 60)
            #expect(try await shop.points(of: "guest") == 0)
        }
    }

    @Test("A purchase returns with its debt: neither customer pays or gains by the other's refund (P12, U5)")
    func debtReturns() async throws {
        try await Shop.open { shop in
            let spent = try await shop.purchase(as: "guest")
            _ = try await shop.send(
                .post, "/v1/users/guest/wallet/debits", ["currency": "points", "amount": 35, "reference": "r1"])
            shop.time.advance(seconds: 60)
            _ = try await shop.purchase(as: "guest")
            let merged = try await shop.merge("guest", into: "ann")
            #expect(try await shop.points(of: "ann") == 85)
            // Apple refunds the purchase of which 25 points were left: the other one covers the rest.
            _ = try await shop.refund(spent.id, by: "ann")
            #expect(try await shop.points(of: "ann") == 25)
            _ = try await shop.reverse(merged["id"].text)
            #expect(try await shop.points(of: "ann") == 0)
            #expect(try await shop.points(of: "guest") == 25)
        }
    }

    @Test("A debt that Apple cancelled after the merge leaves both wallets even after the reversal (P12, U5)")
    func refundReversedBetween() async throws {
        try await Shop.open { shop in
            let payment = try await shop.purchase(as: "guest")
            _ = try await shop.send(
                .post, "/v1/users/guest/wallet/debits", ["currency": "points", "amount": 60, "reference": "r1"])
            _ = try await shop.refund(payment.id, by: "guest")
            let merged = try await shop.merge("guest", into: "ann")
            #expect(try await shop.points(of: "ann") == -60)
            _ = try await shop.refund(payment.id, reversal: true, by: "ann")
            #expect(try await shop.points(of: "ann") == 0)
            let reversed = try await shop.reverse(merged["id"].text)
            #expect(reversed.status == 201 && reversed["points"] == [], "\(reversed.body)")
            #expect(try await shop.points(of: "ann") == 0)
            #expect(try await shop.points(of: "guest") == 0)
        }
    }

    @Test("Support moves one purchase with the rest of its points; spent points do not move (P10)")
    func support() async throws {
        try await CloudShop.open { shop in
            let pro = try await shop.buyPlan("pro", as: "ann")
            let pack = try await shop.buyPlan("points60", as: "ann")
            _ = try await shop.send(
                .post, "/v1/users/ann/wallet/debits", ["currency": "points", "amount": 20, "reference": "r1"])
            #expect(try await move(pro, from: "ann", to: "ben", in: shop).status == 201)
            let moved = try await move(pack, from: "ann", to: "ben", in: shop, environment: "sandbox")
            #expect(moved.status == 201 && moved["kind"].text == "support", "\(moved.body)")
            #expect(try await shop.points(of: "ann") == 0)
            #expect(try await shop.points(of: "ben") == 40)
            #expect(try await shop.rights(of: "ben") == ["lasting pro"])
            #expect(try await shop.rights(of: "ann").isEmpty)
            #expect(try await move(pro, from: "ann", to: "eve", in: shop).code == "not_the_owner")
            #expect(try await move("1", from: "ann", to: "eve", in: shop).code == "not_the_owner")
            #expect(try await move(pro, from: "ben", to: "ben", in: shop).code == "same_user")
            #expect(try await move(pro, from: "ben", to: "a", in: shop, environment: "moon").code == "invalid_field")
            #expect(
                try await move(pro, from: "ben", to: "a", in: shop, environment: "production").code
                    == "not_the_owner")
            // It moves on; a reversal then takes back only what is still there.
            let first = try await shop.send(.get, "/v1/users/ann/transfers")["data"].list.last
            #expect(try await move(pro, from: "ben", to: "eve", in: shop).status == 201)
            let reversed = try await shop.reverse(first?.at("id").text ?? "")
            #expect(reversed["grantCount"].int == 0 && reversed["stayed"].at("grantCount").int == 1)
            #expect(try await shop.rights(of: "eve") == ["lasting pro"])
        }
    }

    @Test("A subscription moved by support renews for its new owner; a customer who subscribes again owns the new one")
    func chain() async throws {
        try await CloudShop.open { shop in
            let first = try await shop.buyPlan("premium_monthly_auto", as: "ann")
            try await shop.renew(first)
            #expect(try await move(first, from: "ann", to: "ben", in: shop)["grantCount"].int == 2)
            try await shop.renew(first)
            #expect(try await shop.rights(of: "ann").isEmpty)
            #expect(try await shop.rights(of: "ben").count == 1)
            // Ann subscribes again on the same Apple Account, with her own order.
            #expect(try await shop.ask(.post, "/emulator/subscriptions/\(first)/cancel").status == 200)
            shop.time.advance(seconds: 40 * 86_400)
            let anew = try await shop.buyPlan("premium_monthly_auto", as: "ann")
            let signed = try await shop.ask(.get, "/emulator/transactions/\(anew)")
            #expect(signed["originalTransactionId"].text == first, "\(signed.body)")
            #expect(try await shop.rights(of: "ann").count == 1)
            #expect(try await shop.rights(of: "ben").isEmpty)
            try await shop.renew(first)
            #expect(try await shop.rights(of: "ann").count == 1)
        }
    }
}
