import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

@testable import TillServer

@Suite("A shop moves in") struct ImportJourneys {
    private static let pro = "com.example.learn.pro"

    @Test("Signed transactions give their users what they bought, once and without an event (R7)")
    func transactions() async throws {
        try await Shop.open { shop in
            let imports = ImportShop(shop: shop)
            let order = UniqueID(high: 7, low: 7)
            let (points, pro) = (try await shop.pay(token: order), try await shop.pay(Self.pro, token: nil))
            let rows = [
                ImportShop.signed(points, "ann", order: order), ImportShop.signed(pro, "ben"),
                ImportShop.signed(points, "ann", order: order),
            ]
            let expected = ImportShop.Ended(imported: 2, unchanged: 1)
            #expect(try await imports.check(Array(rows.prefix(2)), as: .transactions).imported == 2)
            #expect(try await shop.grantCount() == 0)
            let (run, ended) = try await imports.move(rows, as: .transactions)
            #expect(ended == expected)
            #expect(run.imported == 2 && run.endedAt != nil)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.status(of: order) == "completed")
            let entitled = try await shop.send(.get, "/v1/users/ben/entitlements")
            #expect(entitled["data"].list.first?.at("allowed") == true || entitled.body.encoded().contains("pro"))
            #expect(try await imports.events() == [])
            // The file again, and the phone that delivers the purchase again.
            #expect(try await imports.move(rows, as: .transactions).ended == ImportShop.Ended(unchanged: 3))
            let delivered = try await shop.submit(points.signed, as: .user("ann"))
            #expect(delivered["outcome"].text == "alreadyGranted" && delivered["finish"] == true)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await imports.events() == [])
            let listed = try await shop.send(.get, "/v1/imports")["data"].list
            #expect(listed.count == 2 && listed.last?.at("imported") == 2 && listed.last?.at("caller").text == "till")
            try await imports.audit()
        }
    }

    @Test("A refund of an imported consumable takes its points back, with its event (R7)")
    func refund() async throws {
        try await Shop.open { shop in
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            let imports = ImportShop(shop: shop)
            shop.intercept { _ in HTTPResponse(status: 200) }
            let payment = try await shop.pay(token: nil)
            await shop.emulator.sendDueNotifications()
            shop.intercept(nil)
            _ = try await imports.move([ImportShop.signed(payment, "ann")], as: .transactions)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund").status == 200)
            await shop.emulator.sendDueNotifications()
            #expect(try await shop.points(of: "ann") == 0)
            #expect(try await imports.events() == ["grant.revoked"])
            try await imports.audit()
        }
    }

    @Test("A row takes nothing that somebody else has, and nothing that Apple did not sign for this shop (R7)")
    func thieves() async throws {
        try await Shop.open { shop in
            let imports = ImportShop(shop: shop)
            let order = try await shop.openOrder(as: "ann")
            let (own, open) = (try await shop.pay(token: order), try await shop.openOrder(as: "ben"))
            #expect(try await shop.submit(own.signed, as: .user("ann")).status == 200)
            let (unpaid, other) = (try await shop.pay(token: open), try await shop.pay(token: nil))
            let unlisted = try await shop.pay("com.example.learn.unlisted", token: nil)
            let waiting = try await shop.pay(token: nil)
            #expect(try await shop.submit(waiting.signed, as: .user("cat"))["outcome"].text == "quarantined")
            var forged = Array(other.signed.utf8)
            let place = forged.count - 10
            forged[place] = forged[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let rows: [JSONValue] = [
                ImportShop.signed(own, "thief"), ImportShop.signed(unpaid, "thief"), ImportShop.signed(unpaid, "ben"),
                ["userId": "thief", "signedTransaction": .string(String(decoding: forged, as: UTF8.self))],
                ImportShop.signed(unlisted, "thief"), ImportShop.signed(waiting, "thief"),
                ImportShop.signed(other, "thief", order: order), ["userId": "thief"], "no row",
                ["userId": .string("erased:" + String(repeating: "0", count: 32)), "signedTransaction": "x.y.z"],
                ImportShop.signed(own, "ann"),
            ]
            let before = try await imports.events()
            let expected = ImportShop.Ended(
                unchanged: 1,
                refused: [
                    1: "owned_by_another", 2: "names_another_user", 3: "order_in_use", 4: "bad_signature",
                    5: "unknown_product", 6: "waits_in_quarantine", 7: "order_in_use", 8: "missing_field",
                    9: "malformed_line", 10: "erased_user",
                ])
            let (checked, ended) = (
                try await imports.check(rows, as: .transactions), try await imports.move(rows, as: .transactions).ended
            )
            #expect(checked == expected, "\(checked)")
            #expect(ended == expected, "\(ended)")
            #expect(try await shop.grantCount() == 1)
            #expect(try await imports.events() == before)
            #expect(try await shop.send(.get, "/v1/users/thief/orders")["data"].list.isEmpty)
            try await imports.audit()
        }
    }

    @Test("A sandbox row does not come into a ledger of real purchases, and a row cannot claim to be real (R7)")
    func environments() async throws {
        try await Shop.open(environments: [.production, .sandbox], change: { $0.apple.appAppleID = 1 }) { shop in
            let imports = ImportShop(shop: shop)
            let payment = try await shop.pay(token: nil)
            let rows: [JSONValue] = [
                ImportShop.signed(payment, "ann"),
                [
                    "userId": "ann", "signedTransaction": .string(payment.signed), "environment": "Production",
                ],
            ]
            #expect(try await imports.move([rows[0]], as: .transactions).ended.refused == [1: "other_environment"])
            #expect(
                try await imports.move([rows[1]], as: .till).ended.refused == [1: "differs_from_signature"])
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("Receipts are read as for shipped apps, and Apple's signed copy outranks what the row claims (R7)")
    func receipts() async throws {
        try await Shop.open { shop in
            let imports = ImportShop(shop: shop)
            let order = try await shop.openOrder(as: "ben")
            let payment = try await shop.pay(token: order)
            let row: JSONValue = ["userId": "thief", "receipt": .string(payment.receipt)]
            #expect(try await imports.move([row], as: .receipts).ended == ImportShop.Ended(imported: 1))
            #expect(try await shop.points(of: "thief") == 60)
            // Spendable at once: no hold, because an operator names the user.
            let spent = try await shop.send(
                .post, "/v1/users/thief/wallet/debits", ["currency": "points", "amount": 10, "reference": "a"])
            #expect(spent.status == 201)
            #expect(try await shop.submit(payment.signed, as: .user("ben"))["outcome"].text == "granted")
            #expect(try await shop.points(of: "ben") == 60)
            #expect(try await shop.points(of: "thief") == -10)
            let empty: JSONValue = ["userId": "u", "receipt": .string(payment.receipt), "transactionId": "1"]
            #expect(
                try await imports.move([empty], as: .receipts).ended.refused == [1: "receipt_without_purchase"])
        }
    }

    private func unsigned(_ id: String, _ user: String, _ product: String = Shop.points60) -> JSONValue {
        [
            "userId": .string(user), "transactionId": .string(id), "productId": .string(product),
            "purchasedAt": "2026-01-02T03:04:05Z",
        ]
    }

    @Test("What a row states without a signature rests on the operator, until Apple's signature says otherwise (R7)")
    func statements() async throws {
        try await Shop.open { shop in
            let imports = ImportShop(shop: shop)
            let (small, order) = (try await shop.pay(token: nil), try await shop.openOrder(as: "ben"))
            let (named, right) = (try await shop.pay(token: order), try await shop.pay(token: nil))
            let rows = [
                unsigned(small.id, "ann", Shop.points300), unsigned(named.id, "ann"), unsigned(right.id, "ann"),
                unsigned("9", "ann", "com.example.learn.nothing"),
            ]
            let ended = try await imports.move(rows, as: .till).ended
            #expect(ended == ImportShop.Ended(imported: 3, refused: [4: "unknown_product"]))
            #expect(try await shop.points(of: "ann") == 420)
            // The row said three hundred points; Apple signed sixty.
            #expect(
                try await shop.submit(small.signed, as: .backend, userID: "ann")["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 180)
            #expect(try await shop.submit(named.signed, as: .user("ben"))["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 120)
            #expect(try await shop.points(of: "ben") == 60)
            #expect(try await shop.submit(right.signed, as: .user("ann"))["outcome"].text == "alreadyGranted")
            #expect(try await shop.points(of: "ann") == 120)
            try await imports.audit()
        }
    }

    @Test("With a key, Apple is asked about each unsigned row afterwards, and is right (R7)")
    func lookups() async throws {
        try await Shop.open(line: AppleProxy()) { shop in
            let imports = ImportShop(shop: shop)
            let order = try await shop.openOrder(as: "ben")
            let (right, named) = (try await shop.pay(token: nil), try await shop.pay(token: order))
            let dear = try await shop.pay(token: nil)
            let rows = [
                unsigned(right.id, "ann"), unsigned(named.id, "ann"), unsigned(dear.id, "ann", Shop.points300),
                unsigned("5", "ann"),
            ]
            #expect(try await imports.move(rows, as: .till).ended.imported == 4)
            #expect(try await shop.points(of: "ann") == 480)
            #expect(try await ReceiptConfirmations(shop.server.ledger).askAll() == 4)
            // Hers is confirmed, Ben's is his, and the dear one waits for its owner. Apple does not know the last.
            #expect(try await shop.points(of: "ann") == 120)
            #expect(try await shop.points(of: "ben") == 60)
            let states = try await shop.ledger.read { try TransactionTable($0).quarantined(limit: 9).map(\.id.text) }
            #expect(states == [dear.id])
            try await imports.audit()
        }
    }

    @Test("A wallet ends at its opening balance, in any order of the rows, and again (R7)", arguments: [false, true])
    func balances(_ isFirst: Bool) async throws {
        try await Shop.open { shop in
            let imports = ImportShop(shop: shop)
            let (old, more) = (try await shop.pay(token: nil), try await shop.pay(token: nil))
            shop.time.advance(seconds: 60)
            let at = JSONValue.string(shop.time.now.rfc3339)
            shop.time.advance(seconds: 60)
            let late = try await shop.pay(token: nil)
            let balance: JSONValue = [
                "kind": "balance", "userId": "ann", "currency": "points", "balance": 25, "at": at,
            ]
            func row(_ payment: Payment) -> JSONValue {
                ["userId": "ann", "signedTransaction": .string(payment.signed)]
            }
            let purchases = [row(old), row(more), row(late)]
            let rows = isFirst ? [balance] + purchases : purchases + [balance]
            #expect(try await imports.move(rows, as: .till).ended.imported == 4)
            // What was bought after the balance was stated comes on top.
            #expect(try await shop.points(of: "ann") == 85)
            #expect(try await imports.move(rows, as: .till).ended == ImportShop.Ended(unchanged: 4))
            #expect(try await shop.points(of: "ann") == 85)
            let wrong: [JSONValue] = [
                ["kind": "balance", "userId": "ann", "currency": "points", "balance": 26, "at": at],
                ["kind": "balance", "userId": "ann", "currency": "gems", "balance": 1],
                ["kind": "balance", "userId": "ann", "currency": "points", "balance": "many"],
            ]
            #expect(
                try await imports.move(wrong, as: .till, digit: 2).ended.refused
                    == [1: "balance_exists", 2: "unknown_points", 3: "invalid_field"])
            try await imports.audit()
        }
    }

    @Test("An import that was cut off goes on under its own number (R7)")
    func cutOff() async throws {
        try await Shop.open { shop in
            let imports = ImportShop(shop: shop)
            let rows = [
                ImportShop.signed(try await shop.pay(token: nil), "ann"),
                ImportShop.signed(try await shop.pay(token: nil), "ben"),
            ]
            let file = ImportedFile(
                format: .transactions, name: "orders", sha256: [UInt8](repeating: 1, count: 32))
            let cut = try await imports.work.begin(file, by: "till")
            _ = try await imports.work.record(ImportShop.entries([rows[0]]), into: cut, by: "till")
            // A run that is killed has perhaps recorded rows that it has not counted.
            _ = try await shop.ledger.write { try $0.execute("UPDATE imports SET imported = 0", []) }
            let (run, ended) = try await imports.move(rows, as: .transactions)
            #expect(run.id == cut.id && run.imported == 2)
            #expect(ended == ImportShop.Ended(imported: 1, unchanged: 1))
        }
    }

    @Test("RevenueCat's columns are read, and rows of other stores refused by name (R7)")
    func revenueCat() async throws {
        try await Shop.open { shop in
            let imports = ImportShop(shop: shop)
            func row(_ id: String, _ store: String, sandbox: JSONValue = "true") -> JSONValue {
                [
                    "rc_original_app_user_id": "$RCAnonymousID:1", "rc_last_seen_app_user_id_alias": "ann",
                    "store": .string(store), "store_transaction_id": .string(id),
                    "original_store_transaction_id": .string(id), "product_identifier": .string(Shop.points60),
                    "start_time": "2026-01-02 03:04:05.000 UTC", "end_time": "", "refunded_at": "",
                    "is_sandbox": sandbox, "renewal_number": "1", "ownership_type": "PURCHASED",
                ]
            }
            let ended = try await imports.move(
                [row("1", "app_store"), row("2", "play_store"), row("3", "app_store", sandbox: "false")],
                as: .revenuecat
            ).ended
            #expect(
                ended == ImportShop.Ended(imported: 1, refused: [2: "other_store", 3: "other_environment"]))
            #expect(try await shop.points(of: "ann") == 60)
        }
    }
}
