import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillServer

/// The same rule at the other addresses, and for renewals.
@Suite("Receipts at other addresses, and subscriptions (V3)") struct ReceiptTheftSourceJourneys {
    private static let renewing = CloudShop.prefix + "premium_monthly_auto"

    @Test("A moved subscription takes along the renewals that depend on it, and later ones follow the buyer")
    func renewals() async throws {
        try await Shop.open(change: { $0.catalog = CloudShop.catalog }) { shop in
            try await CloudShop.stock(shop)
            let thiefs = try await shop.openOrder(Self.renewing, as: "thief")
            let victims = try await shop.openOrder(Self.renewing, as: "victim")
            shop.time.advance(seconds: 5)
            let first = try await shop.pay(Self.renewing, token: victims, account: "victim")
            let taken = try await shop.post(receiptOf: first, Self.renewing, order: thiefs, as: "thief")
            #expect(taken["outcome"].text == "granted", "\(taken.body)")
            shop.time.advance(seconds: 31 * 86_400)
            let renewal = try #require(
                try await shop.transactions(of: "victim", "state=purchased").last { $0 != first.id })
            let receipt = try await shop.emulator.receipt(account: "victim", bundleID: Shop.bundleID)
            let renewed = Payment(id: renewal, signed: "", receipt: Base64.encode(receipt))
            let followed = try await shop.post(receiptOf: renewed, Self.renewing, order: thiefs, as: "thief")
            #expect(followed["outcome"].text == "granted", "\(followed.body)")
            #expect(try await shop.rights(of: "thief").count == 1)

            #expect(try await shop.submit(first.signed, as: .user("victim"))["outcome"].text == "granted")
            #expect(try await shop.rights(of: "thief").isEmpty)
            #expect(try await shop.rights(of: "victim").count == 1)
            #expect(try await shop.transfers(of: "victim") == ["signed_buyer thief victim 2"])
            let reported = try await shop.reported("thief").map { $0.at("type").text }
            #expect(reported.filter { $0 == "grant.withdrawn" }.count == 2)

            try await shop.renew(first.id)
            #expect(try await shop.rights(of: "thief").isEmpty)
            #expect(try await shop.rights(of: "victim").count == 1)
            #expect(try await shop.status(of: thiefs) == "refunded")
            #expect(try await shop.status(of: victims) == "completed")
        }
    }

    @Test("The address of released apps grants, holds and returns purchases by the same rule (C8)")
    func postPay() async throws {
        try await Shop.open { shop in
            let thiefs = try await shop.openOrder(as: "thief")
            let victims = try await shop.openOrder(as: "victim")
            let payment = try await shop.pay(token: victims)
            func post() async throws -> Reply {
                let token = UserToken.hs256(subject: "thief", expires: shop.time.now.seconds + 600)
                return try await shop.send(
                    .post, "/postPay/ios",
                    [
                        "token": .string(token), "receipt-data": .string(payment.receipt), "product_id": "points60",
                        "transaction_id": .string(payment.id), "order_id": .string(thiefs.description),
                    ], as: .anonymous)
            }
            let taken = try await post()
            #expect(taken.status == 200 && taken["outcome"].text == "granted", "\(taken.body)")
            #expect(try await shop.debit(60, from: "thief", "a").status == 409)
            #expect(try await shop.submit(payment.signed, as: .user("victim"))["outcome"].text == "granted")
            let again = try await post()
            #expect(again.status == 409 && again["outcome"].text == "alreadyGranted")
            #expect(try await shop.points(of: ["victim", "thief"]) == [60, 0])
        }
    }

    @Test("Restoring from a receipt alone claims nothing, and the buyer's signed copy moves the purchase back")
    func restores() async throws {
        try await Shop.open(change: { configuration in
            configuration.catalog = CloudShop.catalog
            configuration.restore = RestoreTerms(policy: .move)
        }) { shop in
            try await CloudShop.stock(shop)
            let pro = CloudShop.prefix + "pro"
            let thiefs = try await shop.openOrder(pro, as: "thief")
            let victims = try await shop.openOrder(pro, as: "victim")
            let payment = try await shop.pay(pro, token: victims, account: "victim")
            _ = try await shop.post(receiptOf: payment, pro, order: thiefs, as: "thief")
            let accomplice = try await shop.send(
                .post, "/v1/restores", ["receipt": .string(payment.receipt)], as: .user("accomplice"))
            #expect(shop.outcomes(accomplice) == ["moved finish"])
            let restored = try await shop.restore([payment.signed], as: .user("victim"))
            #expect(shop.outcomes(restored) == ["owned finish"], "\(restored.body)")
            #expect(try await shop.rights(of: "victim").count == 1)
            #expect(try await shop.rights(of: "thief").isEmpty)
            #expect(try await shop.rights(of: "accomplice").isEmpty)
        }
    }
}
