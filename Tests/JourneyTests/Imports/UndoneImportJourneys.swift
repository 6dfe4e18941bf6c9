import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

@testable import TillServer

@Suite("An import is undone") struct UndoneImportJourneys {
    private static let pro = "com.example.learn.pro"

    @Test("Balances, entitlements and orders are as before, and the same file can come again (R7)")
    func exact() async throws {
        try await Shop.open { shop in
            let imports = ImportShop(shop: shop)
            let first = try await shop.openOrder(as: "ann")
            let own = try await shop.pay(token: first)
            #expect(try await shop.submit(own.signed, as: .user("ann")).status == 200)
            let before = try await imports.view(of: "ann")
            let events = try await imports.events()
            let order = UniqueID(high: 9, low: 9)
            let (points, pro) = (try await shop.pay(token: order), try await shop.pay(Self.pro, token: nil))
            let token = "0198a1f2-7c3d-7a4b-9c5d-6e7f8091a2b3"
            let rows: [JSONValue] = [
                ["kind": "accountToken", "userId": "ann", "token": .string(token)],
                ImportShop.signed(points, "ann", order: order), ImportShop.signed(pro, "ann"),
                ["kind": "balance", "userId": "ann", "currency": "points", "balance": 100],
            ]
            let (run, ended) = try await imports.move(rows, as: .till)
            #expect(ended == ImportShop.Ended(imported: 4))
            let after = try await imports.view(of: "ann")
            #expect(after.points == 100 && after.orders.count == 3 && after.entitlements != before.entitlements)

            #expect(try await imports.undo(run, isDry: true).undone == 4)
            #expect(try await imports.view(of: "ann") == after)
            let undone = try await imports.undo(run)
            #expect(undone.undone == 4 && undone.kept.isEmpty)
            #expect(try await imports.view(of: "ann") == before)
            #expect(try await imports.undo(run).undone == 0)
            #expect(try await imports.events() == events)
            #expect(try await shop.send(.get, "/v1/orders/\(order)").status == 404)
            #expect(try await shop.send(.get, "/v1/users/ann/account-tokens")["data"].list.isEmpty)
            try await imports.audit()

            let again = try await imports.move(rows, as: .till)
            #expect(again.ended == ImportShop.Ended(imported: 4) && again.run.id != run.id)
            #expect(try await imports.view(of: "ann").points == 100)
            #expect(try await imports.undo(again.run).undone == 4)
            // The phone still has the purchase: it is granted as if no import had been.
            #expect(try await shop.submit(pro.signed, as: .user("ann"))["outcome"].text == "quarantined")
            #expect(
                try await shop.submit(points.signed, as: .backend, userID: "ann")["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 120)
            try await imports.audit()
        }
    }

    @Test("What was spent or refunded since is named and stays, unless it is forced (R7)")
    func touched() async throws {
        try await Shop.open { shop in
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            shop.intercept { _ in HTTPResponse(status: 200) }
            let imports = ImportShop(shop: shop)
            let payments = [
                try await shop.pay(token: nil), try await shop.pay(token: nil), try await shop.pay(token: nil),
            ]
            await shop.emulator.sendDueNotifications()
            shop.intercept(nil)
            let rows = zip(payments, ["ann", "ben", "cat"]).map { ImportShop.signed($0, $1) }
            let (run, _) = try await imports.move(rows, as: .transactions)
            let spent = try await shop.send(
                .post, "/v1/users/ann/wallet/debits", ["currency": "points", "amount": 10, "reference": "a"])
            #expect(spent.status == 201)
            shop.time.advance(seconds: 60)
            #expect(try await shop.ask(.post, "/emulator/transactions/\(payments[1].id)/refund").status == 200)
            await shop.emulator.sendDueNotifications()
            let page = try await imports.undo(run)
            #expect(page.undone == 1)
            #expect(
                Set(page.kept.map { "\($0.user) \($0.line) \($0.reason)" }) == ["ann 1 spent", "ben 2 refunded"])
            #expect(try await shop.points(of: "ann") == 50)
            #expect(try await shop.points(of: "cat") == 0)
            #expect(try await imports.undo(run, isForced: true).undone == 2)
            #expect(try await shop.points(of: "ann") == -10)
            #expect(try await shop.points(of: "ben") == 0)
            try await imports.audit()
        }
    }

    @Test("A guest's imported purchase that moved to an account stays, and both are undone together if forced (R7)")
    func moved() async throws {
        try await Shop.open { shop in
            let imports = ImportShop(shop: shop)
            let payments = [
                try await shop.pay(token: nil), try await shop.pay(token: nil), try await shop.pay(token: nil),
            ]
            let rows = zip(payments, ["guest-1", "ann", "ben"]).map { ImportShop.signed($0, $1) }
            let (run, ended) = try await imports.move(rows, as: .transactions)
            #expect(ended == ImportShop.Ended(imported: 3))
            #expect(try await shop.merge("guest-1", into: "ann", as: .backend).status == 201)
            #expect(try await shop.points(of: "ann") == 120)
            let page = try await imports.undo(run, isDry: true)
            #expect(page.undone == 2 && page.kept.map { "\($0.user) \($0.reason)" } == ["guest-1 moved"])
            let undone = try await imports.undo(run)
            #expect(undone.undone == 2 && undone.kept == page.kept)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await imports.undo(run, isForced: true).undone == 1)
            #expect(try await shop.points(of: "ann") == 0)
            #expect(try await imports.work.find(run.id).undone == 3)
            try await imports.audit()
        }
    }

    @Test("Of a crowd, those who touched something are named, and all others are undone and counted (R7)")
    func crowd() async throws {
        try await Shop.open { shop in
            let imports = ImportShop(shop: shop)
            var rows: [JSONValue] = []
            for number in 0..<130 {
                let user = JSONValue.string("user-\(number)")
                func purchase(_ part: Int) -> JSONValue {
                    [
                        "userId": user, "transactionId": .string("88\(number)00\(part)"),
                        "productId": .string(Shop.points60), "purchasedAt": "2026-01-02T03:04:05Z",
                    ]
                }
                rows += [purchase(1), purchase(2)]
                if number % 3 == 0 {
                    rows.append(["kind": "balance", "userId": user, "currency": "points", "balance": 70])
                }
                if number % 5 == 0 {
                    let token = UniqueID(high: 77, low: UInt64(number + 1)).description
                    rows.append(["kind": "accountToken", "userId": user, "token": .string(token)])
                }
            }
            let (run, ended) = try await imports.move(rows, as: .till)
            #expect(ended == ImportShop.Ended(imported: rows.count))
            let spenders = ["user-0", "user-41", "user-99", "user-129"]
            for user in spenders {
                let spent = try await shop.send(
                    .post, "/v1/users/\(user)/wallet/debits",
                    ["currency": "points", "amount": 5, "reference": .string("of \(user)")])
                #expect(spent.status == 201)
            }
            let page = try await imports.undo(run)
            #expect(Set(page.kept.map(\.user.text)) == Set(spenders) && page.kept.allSatisfy { $0.reason == .spent })
            // user-0 has two purchases, a balance and a token; user-99 and user-129 have a balance, too.
            let stays: Int64 = 4 + 2 + 3 + 3
            #expect(page.undone == Int64(rows.count) - stays)
            #expect(try await imports.work.find(run.id).undone == page.undone)
            for number in 0..<130 {
                let user = "user-\(number)"
                let left: Int64 = spenders.contains(user) ? (number % 3 == 0 ? 65 : 115) : 0
                #expect(try await shop.points(of: user) == left, "\(user)")
            }
            try await imports.audit()
            #expect(try await imports.undo(run, isForced: true).undone == stays)
            for user in spenders { #expect(try await shop.points(of: user) == -5) }
            try await imports.audit()
            #expect(try await imports.move(rows, as: .till, digit: 2).ended.imported == rows.count)
        }
    }

    @Test("A renewal, its notification and the phone reach the user of an imported subscription; it then stays (R7)")
    func renewed() async throws {
        try await SubscriptionShop.open { world in
            let shop = world.shop
            let imports = ImportShop(shop: shop)
            shop.intercept { _ in HTTPResponse(status: 200) }
            let paid = try await shop.ask(
                .post, "/emulator/purchases",
                [
                    "bundleId": .string(Shop.bundleID), "productId": .string(SubscriptionShop.prefix + "basic"),
                    "storefront": "USA", "account": "ann", "receipt": false,
                ])
            let (signed, original) = (paid["signedTransaction"].text, paid["originalTransactionId"].text)
            try await world.doWhatIsDue()
            shop.intercept(nil)
            let (run, ended) = try await imports.move(
                [["userId": "ann", "signedTransaction": .string(signed)]], as: .transactions)
            #expect(ended == ImportShop.Ended(imported: 1))
            #expect(try await imports.events() == [])
            shop.time.advance(seconds: 31 * 86_400)
            try await world.doWhatIsDue()
            let newest = try await shop.ask(.get, "/emulator/subscriptions/\(original)")["currentTransactionId"].text
            #expect(newest != original)
            let renewed = try await shop.ask(.get, "/emulator/transactions/\(newest)")["signedTransaction"].text
            let delivered = try await shop.submit(renewed, as: .user("ann"))
            #expect(delivered["outcome"].text == "alreadyGranted")
            #expect(try await imports.events().contains("grant.created"))
            let page = try await imports.undo(run)
            #expect(page.undone == 0 && page.kept.map(\.reason) == [.renewed])
            try await imports.audit()
        }
    }
}
