import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillThreads

@testable import TillServer

@Suite("A shop moves out, and in again") struct MoveOutJourneys {
    private func export(_ shop: Shop) async throws -> [JSONValue] {
        let export = MoveOut(shop.ledger, in: .sandbox, statedAt: shop.time.now)
        var (rows, position) = ([JSONValue](), MoveOut.Position())
        while true {
            let page = try await export.page(at: position)
            rows += try page.lines.map { try JSONValue(decoding: $0) }
            guard let next = page.next else { return rows }
            position = next
        }
    }

    /// Purchases of every kind: by order, by receipt, by an import without a signature; spent and refunded.
    private func fill(_ shop: Shop) async throws {
        _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
        for (user, product) in [("ann", Shop.points60), ("ann", Shop.points300), ("ben", "com.example.learn.pro")] {
            let order = try await shop.openOrder(product, as: user)
            let payment = try await shop.pay(product, token: order)
            #expect(try await shop.submit(payment.signed, as: .user(user)).status == 200)
        }
        let order = try await shop.openOrder(as: "cat")
        let refunded = try await shop.pay(token: order)
        #expect(try await shop.submit(refunded.signed, as: .user("cat")).status == 200)
        shop.time.advance(seconds: 60)
        #expect(try await shop.ask(.post, "/emulator/transactions/\(refunded.id)/refund").status == 200)
        await shop.emulator.sendDueNotifications()
        let spent = try await shop.send(
            .post, "/v1/users/ann/wallet/debits", ["currency": "points", "amount": 17, "reference": "a"])
        #expect(spent.status == 201)
        let kept = try await shop.pay(token: nil)
        _ = try await ImportShop(shop: shop).move(
            [
                ["userId": "dan", "receipt": .string(kept.receipt), "transactionId": .string(kept.id)],
                [
                    "userId": "eve", "transactionId": "77", "productId": .string(Shop.points60), "quantity": 2,
                    "purchasedAt": "2026-01-02T03:04:05Z",
                ],
                ["kind": "accountToken", "userId": "eve", "token": "0198a1f2-7c3d-7a4b-9c5d-6e7f8091a2b3"],
            ], as: .till)
    }

    @Test("An empty Till that imports the export of another has its balances, entitlements and orders (R7)")
    func roundTrip() async throws {
        let people = ["ann", "ben", "cat", "dan", "eve"]
        let root = Locked<[UInt8]>([])
        let rows = Locked<[JSONValue]>([])
        let views = Locked<[ImportShop.View]>([])
        let time = TestClock()
        try await Shop.open(time: time) { shop in
            try await fill(shop)
            let exported = try await export(shop)
            let imports = ImportShop(shop: shop)
            var seen: [ImportShop.View] = []
            // Only an order that a purchase made has no id of the shop's own.
            for user in people { seen.append(try await imports.view(of: user)) }
            views.withLock { [seen] views in views = seen }
            rows.withLock { $0 = exported }
            root.withLock { $0 = shop.emulator.issuer.rootCertificate }
        }
        try await Shop.open(change: { $0.apple.roots.append(root.withLock { $0 }) }, time: time) { shop in
            let imports = ImportShop(shop: shop)
            let file = rows.withLock { $0 }
            let ended = try await imports.move(file, as: .till).ended
            #expect(ended.refused.isEmpty && ended.imported == file.count, "\(ended)")
            var seen: [ImportShop.View] = []
            for user in people { seen.append(try await imports.view(of: user)) }
            let before = views.withLock { $0 }
            for (now, then) in zip(seen, before) {
                #expect(now.points == then.points)
                // A purchase that was refunded in full comes without an order.
                #expect(now.orders == then.orders.filter { !$0.contains("refunded") })
                #expect(now.entitlements == then.entitlements)
            }
            #expect(try await imports.events() == [])
            #expect(try await imports.move(file, as: .till).ended == ImportShop.Ended(unchanged: file.count))
            try await imports.audit()
        }
    }
}
