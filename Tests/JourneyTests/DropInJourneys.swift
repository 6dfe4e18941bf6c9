import Foundation
import Testing
import TillAPI
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillSQL
import TillServer

/// Released apps that replaced Apple's verifyReceipt address with this server's.
@Suite("POST /verifyReceipt for released apps") struct DropInJourneys {
    static let monthly = "com.example.learn.monthly"

    /// A shop that sells a subscription too, here and in the store.
    static func open(
        _ reach: Reach = .inProcess, environments: Set<TillBilling.StoreEnvironment> = [.sandbox],
        secret: String? = nil, _ journey: (Shop) async throws -> Void
    ) async throws {
        try await Shop.open(reach, environments: environments) { configuration in
            configuration.apple.sharedSecret = secret
            let member = CatalogProduct(
                id: ProductID(monthly), type: .autoRenewable, names: LocalizedText(en: "Member", zh: "会员"),
                price: Money(amount: 1_800, currency: Currency("CNY")), entitlement: "member")
            configuration.catalog = Catalog(products: configuration.catalog.products + [member])
        } _: { shop in
            let price: JSONValue = ["CHN": ["amount": 600, "currency": "CNY"]]
            func sold(_ id: String, _ type: String) -> JSONValue {
                ["id": .string(id), "type": .string(type), "prices": price]
            }
            let products: [JSONValue] = [
                sold(Shop.points60, "Consumable"), sold("com.example.learn.pro", "Non-Consumable"),
                [
                    "id": .string(monthly), "type": "Auto-Renewable Subscription", "prices": price,
                    "subscriptionGroup": "21000001", "period": "P1M",
                ],
            ]
            #expect(
                try await shop.ask(.put, "/emulator/products", ["products": .array(products)]).status == 200)
            try await journey(shop)
        }
    }

    /// Without authorization, like Apple's.
    static func verify(
        _ shop: Shop, _ receipt: String, _ more: [String: JSONValue] = [:]
    ) async throws -> Reply {
        let body = ["receipt-data": .string(receipt)].merging(more) { $1 }
        return try await shop.send(.post, "/verifyReceipt", .object(body), as: .anonymous)
    }

    /// The differences in members that both objects have.
    static func differences(_ ours: JSONValue, _ theirs: JSONValue, at path: String = "") -> [String] {
        switch (ours, theirs) {
        case (.object(let left), .object(let right)):
            return left.keys.filter { right[$0] != nil }.sorted().flatMap { key in
                differences(left[key] ?? .null, right[key] ?? .null, at: "\(path).\(key)")
            }
        case (.array(let left), .array(let right)):
            guard left.count == right.count else { return ["\(path): \(left.count) and \(right.count)"] }
            return zip(left, right).enumerated().flatMap { index, pair in
                differences(pair.0, pair.1, at: "\(path)[\(index)]")
            }
        default: return ours == theirs ? [] : ["\(path): \(ours) and \(theirs)"]
        }
    }

    @Test(
        "A receipt gets the same answer as from the emulated store, in every field that both have",
        arguments: Reach.allCases)
    func differential(_ reach: Reach) async throws {
        try await Self.open(reach) { shop in
            let first = try await shop.pay(token: nil, quantity: 3)
            shop.time.advance(seconds: 61)
            let second = try await shop.pay("com.example.learn.pro", token: nil)
            for payment in [first, second] {
                let ours = try await Self.verify(shop, payment.receipt)
                let theirs = try await shop.ask(
                    .post, "/sandbox/verifyReceipt", ["receipt-data": .string(payment.receipt)])
                #expect(ours.status == 200 && ours.headers["Content-Type"] == "application/json")
                #expect(Self.differences(ours.body, theirs.body) == [])
                #expect(ours["status"] == 0 && ours["environment"] == "Sandbox")
                #expect(Set(ours.body.object?.keys ?? [:].keys) == Set(theirs.body.object?.keys ?? [:].keys))
                let members = Set(ours["receipt"].object?.keys ?? [:].keys)
                #expect(members == Set(theirs["receipt"].object?.keys ?? [:].keys))
                // A receipt does not state the owner of a purchase; the emulated store knows it from its own records.
                for (mine, its) in zip(ours["receipt"].at("in_app").list, theirs["receipt"].at("in_app").list) {
                    #expect(
                        Set(its.object?.keys ?? [:].keys).subtracting(mine.object?.keys ?? [:].keys)
                            == ["in_app_ownership_type"])
                }
            }
            let item = try await Self.verify(shop, first.receipt)["receipt"].at("in_app").list.first
            #expect(item?.at("quantity") == "3" && item?.at("transaction_id") == .string(first.id))
        }
    }

    @Test(
        "A subscriber's receipt also gets Apple's later updates: renewals, no tokens, and only the newest on request")
    func subscriber() async throws {
        try await Self.open { shop in
            let order = try await shop.openOrder(Self.monthly, as: "u1")
            let first = try await shop.pay(Self.monthly, token: order)
            #expect(try await shop.submit(first.signed, as: .user("u1"))["outcome"].text == "granted")
            // Known from the receipt alone.
            let early = try await Self.verify(shop, first.receipt)
            #expect(early["latest_receipt"] == .string(first.receipt))
            #expect(early["latest_receipt_info"].list.map { $0.at("transaction_id") } == [.string(first.id)])

            _ = try await shop.ask(.post, "/emulator/subscriptions/\(first.id)/cancel")
            shop.time.advance(seconds: 40 * 86_400)
            let again = try await shop.openOrder(Self.monthly, as: "u1")
            let second = try await shop.pay(Self.monthly, token: again)
            #expect(try await shop.submit(second.signed, as: .user("u1"))["outcome"].text == "granted")
            let ours = try await Self.verify(shop, first.receipt)
            let theirs = try await shop.ask(
                .post, "/sandbox/verifyReceipt", ["receipt-data": .string(first.receipt)])
            #expect(ours["receipt"].at("in_app").list.count == 1)
            #expect(
                ours["latest_receipt_info"].list.map { $0.at("transaction_id") }
                    == [.string(first.id), .string(second.id)])
            // All but `latest_receipt`: the server echoes it, and the store makes a new one that differs each time.
            let shared = Self.differences(ours.body, theirs.body).filter { !$0.hasPrefix(".latest_receipt:") }
            #expect(shared == [])
            let record = try #require(ours["latest_receipt_info"].list.last)
            #expect(!"\(ours.body)".contains(again.description), "a token is an order's id, and the asker a stranger")
            #expect(record.at("original_transaction_id") == .string(first.id))
            #expect(record.at("subscription_group_identifier") == "21000001")
            let told = try #require(theirs["latest_receipt_info"].list.last?.object)
            #expect(record.object == told.filter { $0.key != "app_account_token" })
            let pending = ours["pending_renewal_info"].list
            #expect(pending == [["product_id": .string(Self.monthly), "original_transaction_id": .string(first.id)]])

            let newest = try await Self.verify(shop, first.receipt, ["exclude-old-transactions": true])
            #expect(newest["latest_receipt_info"].list.map { $0.at("transaction_id") } == [.string(second.id)])
            #expect(newest["receipt"].at("in_app").list.count == 1)
        }
    }

    @Test(
        "With a shared secret configured, subscriptions and their tokens are shown only with the secret, as at Apple",
        arguments: Reach.allCases)
    func sharedSecret(_ reach: Reach) async throws {
        try await Self.open(reach, secret: "0123456789abcdef0123456789abcdef") { shop in
            let order = try await shop.openOrder(Self.monthly, as: "u1")
            let first = try await shop.pay(Self.monthly, token: order)
            _ = try await shop.submit(first.signed, as: .user("u1"))
            for wrong: [String: JSONValue] in [[:], ["password": ""], ["password": "f"], ["password": 7]] {
                #expect(try await Self.verify(shop, first.receipt, wrong).body == ["status": 21004])
            }
            let right: [String: JSONValue] = ["password": "0123456789abcdef0123456789abcdef"]
            let told = try await Self.verify(shop, first.receipt, right)
            #expect(told["status"] == 0)
            #expect(
                told["latest_receipt_info"].list.map { $0.at("app_account_token") } == [.string(order.description)])
        }
        try await Self.open(reach, secret: "0123456789abcdef0123456789abcdef") { shop in
            // Without subscriptions the secret is not needed, but a wrong one is still refused.
            let points = try await shop.pay(token: nil)
            #expect(try await Self.verify(shop, points.receipt)["status"] == 0)
            #expect(try await Self.verify(shop, points.receipt, ["password": "f"]).body == ["status": 21004])
        }
    }

    @Test("The holder of an old receipt does not see renewals that another customer owns now")
    func othersRenewals() async throws {
        try await Self.open { shop in
            let order = try await shop.openOrder(Self.monthly, as: "ann")
            let first = try await shop.pay(Self.monthly, token: order)
            _ = try await shop.submit(first.signed, as: .user("ann"))
            shop.time.advance(seconds: 60)
            let later = try await shop.send(
                .post, "/v1/transfers",
                [
                    "from": "ann", "to": "ben", "originalTransactionId": .string(first.id), "reason": "r",
                    "operator": "li", "environment": "sandbox",
                ])
            #expect(later.status == 201, "\(later.body)")
            shop.time.advance(seconds: 31 * 86_400)
            let now = try await shop.ask(.get, "/emulator/subscriptions/\(first.id)")
            let renewal = now["currentTransactionId"].text
            try #require(renewal != first.id)
            let signed = try await shop.ask(.get, "/emulator/transactions/\(renewal)")["signedTransaction"].text
            #expect(try await shop.submit(signed, as: .user("ben"))["outcome"].text == "granted")
            // The chain continues for the owner of the first purchase, whose receipt this is.
            #expect(try await Self.verify(shop, first.receipt)["latest_receipt_info"].list.count == 2)
            let back = try await shop.send(
                .post, "/v1/transfers/\(later["id"].text)/reversal", ["reason": "r", "operator": "li"])
            #expect(back.status == 201 || back.status == 200, "\(back.body)")
            let told = try await Self.verify(shop, first.receipt)["latest_receipt_info"].list
            #expect(told.map { $0.at("transaction_id") } == [.string(first.id)], "the renewal stayed ben's")
        }
    }

    @Test("A refund that Apple reported appears in older receipts too, and its reversal removes it again (U4, U5)")
    func refund() async throws {
        try await Self.open { shop in
            let order = try await shop.openOrder("com.example.learn.pro", as: "u1")
            let payment = try await shop.pay("com.example.learn.pro", token: order)
            let consumable = try await shop.pay(token: try await shop.openOrder(as: "u1"))
            for proof in [payment.signed, consumable.signed] { _ = try await shop.submit(proof, as: .user("u1")) }
            func cancellations() async throws -> [JSONValue] {
                try await Self.verify(shop, consumable.receipt)["receipt"].at("in_app").list.map {
                    $0.at("cancellation_date_ms")
                }
            }
            #expect(try await cancellations() == [.null, .null])
            shop.time.advance(seconds: 100)
            let now = shop.time.now
            for id in [payment.id, consumable.id] {
                let refunded = try await shop.ask(.post, "/emulator/transactions/\(id)/refund", ["reason": 1])
                _ = try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))
            }
            let told = try await Self.verify(shop, consumable.receipt)["receipt"].at("in_app").list
            let taken = try #require(told.first { $0.at("transaction_id") == .string(payment.id) })
            #expect(taken.at("cancellation_date_ms") == .string(String(now.seconds * 1_000)))
            #expect(taken.at("cancellation_date").text.hasSuffix(" Etc/GMT"))
            #expect(taken.at("cancellation_date_pst").text.hasSuffix(" America/Los_Angeles"))
            #expect(taken.at("cancellation_reason") == "1")
            // A consumable's record never shows it (facts/verify-receipt §6).
            let spent = try #require(told.first { $0.at("transaction_id") == .string(consumable.id) })
            #expect(spent.at("cancellation_date_ms") == .null)

            shop.time.advance(seconds: 100)
            let reversed = try Self.signedAgain(payment.signed, shop)
            #expect(try await shop.submit(reversed, as: .user("u1"))["outcome"].text == "granted")
            #expect(try await cancellations() == [.null, .null])
        }
    }

    /// The same transaction signed by the store now, as at the purchase: without a refund.
    private static func signedAgain(_ token: String, _ shop: Shop) throws -> String {
        let payload = try #require(CompactToken(Array(token.utf8))?.payload)
        var members = try #require(try JSONValue(decoding: payload).object)
        members["signedDate"] = .int(shop.time.now.milliseconds)
        return try shop.emulator.issuer.sign(payload: Array(JSONValue.object(members).encoded().utf8))
    }

    @Test(
        "A receipt newer than Apple's last update decides about refunds (U4)",
        arguments: [monthly, "com.example.learn.pro"])
    func newerReceipt(_ product: String) async throws {
        try await Self.open { shop in
            let payment = try await shop.pay(product, token: try await shop.openOrder(product, as: "u1"))
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "granted")
            shop.time.advance(seconds: 100)
            let cancelled = JSONValue.string(String(shop.time.now.seconds * 1_000))
            _ = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund")
            shop.time.advance(seconds: 100)
            let newer = Base64.encode(try await shop.emulator.receipt(bundleID: Shop.bundleID))
            let told = try await Self.verify(shop, newer)
            #expect(told["receipt"].at("in_app").list.map { $0.at("cancellation_date_ms") } == [cancelled])
            #expect(told["latest_receipt_info"].list.allSatisfy { $0.at("cancellation_date_ms") == cancelled })
            // The older one gives the same after Apple's update.
            shop.time.advance(seconds: 100)
            let refunded = try await shop.ask(.get, "/emulator/transactions/\(payment.id)")["signedTransaction"].text
            _ = try await shop.submit(refunded, as: .user("u1"))
            let older = try await Self.verify(shop, payment.receipt)
            #expect(older["receipt"].at("in_app").list.map { $0.at("cancellation_date_ms") } == [cancelled])
            #expect(older["latest_receipt_info"].list.allSatisfy { $0.at("cancellation_date_ms") == cancelled })
        }
    }

    @Test("It grants nothing and changes nothing, any number of times, and needs no password (T7)")
    func grantsNothing() async throws {
        try await Self.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            for _ in 0..<5 {
                #expect(try await Self.verify(shop, payment.receipt, ["password": "anything"])["status"] == 0)
            }
            for bad in ["AAAA", String(payment.receipt.dropLast(400))] { _ = try await Self.verify(shop, bad) }
            let rows = try await shop.ledger.read { connection in
                let counts: [SQL] = [
                    "SELECT count(*) AS count FROM transactions", "SELECT count(*) AS count FROM proofs",
                    "SELECT count(*) AS count FROM refused_proofs", "SELECT count(*) AS count FROM grants",
                    "SELECT count(*) AS count FROM outbox",
                ]
                return try counts.map { try connection.first($0, []) { $0.integer("count") } ?? -1 }
            }
            #expect(rows == [0, 0, 0, 0, 0])
            #expect(try await shop.status(of: order) == "prepared")
            // A paid transaction that was only verified can still be granted.
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "granted")
        }
    }

    @Test("The answer reveals nothing of other buyers, and nothing of the same buyer's other purchases")
    func privacy() async throws {
        try await Self.open { shop in
            let mine = try await shop.pay(Self.monthly, token: try await shop.openOrder(Self.monthly, as: "u1"))
            let receipt = mine.receipt
            shop.time.advance(seconds: 60)
            let others = [
                try await shop.pay(Self.monthly, token: try await shop.openOrder(Self.monthly, as: "u2"), account: "b"),
                try await shop.pay("com.example.learn.pro", token: try await shop.openOrder(as: "u1")),
                try await shop.pay(token: try await shop.openOrder(as: "u1")),
            ]
            for payment in [mine] + others { _ = try await shop.submit(payment.signed, as: .user("u1")) }
            let answer = try await Self.verify(shop, receipt)
            #expect(answer["latest_receipt_info"].list.map { $0.at("transaction_id") } == [.string(mine.id)])
            let text = answer.body.encoded()
            for other in others { #expect(!text.contains("\"\(other.id)\"")) }
            #expect(!text.contains("\"u1\"") && !text.contains("\"u2\""))
        }
    }

    @Test("The holder of a later customer's receipt does not see what an earlier customer bought again in the chain")
    func othersReturn() async throws {
        try await Self.open { shop in
            var bought: [Payment] = []
            for user in ["ann", "ben", "ann"] {
                let order = try await shop.openOrder(Self.monthly, as: user)
                let payment = try await shop.pay(Self.monthly, token: order, account: "family")
                _ = try await shop.submit(payment.signed, as: .user(user))
                bought.append(payment)
                #expect(try await shop.ask(.post, "/emulator/subscriptions/\(bought[0].id)/cancel").status == 200)
                shop.time.advance(seconds: 40 * 86_400)
            }
            let told = try await Self.verify(shop, bought[1].receipt)["latest_receipt_info"].list
            #expect(told.contains { $0.at("transaction_id").text == bought[1].id })
            #expect(!told.contains { $0.at("transaction_id").text == bought[2].id })
        }
    }
}
