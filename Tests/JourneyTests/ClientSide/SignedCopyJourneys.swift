import Testing
import TillBilling
import TillClient
import TillLedger

@Suite("StoreKit 1 with StoreKit 2's signed copies") struct SignedCopyJourneys {
    @Test("A server without an In-App Purchase key grants by the token that Apple signed", arguments: Reach.allCases)
    func keyless(_ reach: Reach) async throws {
        try await Phones.open(.storeKit1, reach, hasKey: false) { phones in
            let ann = try await phones.phone("ann")
            #expect(isCompleted(await ann.buy()))
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(try await phones.shop.grounds() == ["token"])
            // The receipt's order id was not needed: ben's phone submits ann's next payment, and she gets it.
            ann.wire.cut(.server, "POST /v1/transactions")
            await ann.buy()
            await ann.kill()
            let ben = try await phones.phone("ben", account: "ann")
            #expect(try await ben.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 120)
            #expect(try await phones.shop.grants(of: "ben") == 0)
            #expect(try await phones.shop.grounds() == ["token", "token"])
        }
    }

    @Test("StoreKit 2's list can't be read: the receipt is sent instead, and the purchase is granted")
    func unread() async throws {
        try await Phones.open(.storeKit1) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.store, "GET /emulator/devices/\(ann.deviceID)/transactions")
            #expect(isCompleted(await ann.buy()))
            #expect(ann.wire.happened >= 1)
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(phones.appleLine.asked.count == 1, "a receipt has the server ask Apple")
            ann.wire.mend()
            #expect(isCompleted(await ann.buy()))
            #expect(phones.appleLine.asked.count == 1, "a signed copy doesn't")
        }
    }

    @Test("A receipt stored by an older version of the app is replaced by the signed copy at the next launch")
    func updated() async throws {
        try await Phones.open(.storeKit1, proof: .receipt, hasKey: false) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions")
            await ann.buy()
            ann.wire.mend()
            ann.update(to: .signedTransaction)
            try await ann.relaunch()
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.grounds() == ["token"])
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
        }
    }

    @Test(
        "A ledger restored from before the order opens it by the phone's nonce, and grants", arguments: Reach.allCases,
        StoreKitGeneration.both)
    func lostOrder(_ reach: Reach, _ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation, reach, hasKey: false) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions")
            let order = try #require(await ann.buy().order)
            try await phones.shop.lose(order.uuid)
            ann.wire.mend()
            await ann.use { await $0.checkOrderStatus() }
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(try await phones.shop.status(of: order.uuid) == "completed")
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
        }
    }

    @Test("The same with another user's token: it waits, gives the reason, and is granted when its buyer signs in")
    func lostOrderOfAnother() async throws {
        try await Phones.open(.storeKit1, hasKey: false) { phones in
            let phone = try await phones.phone("ann")
            phone.wire.cut(.server, "POST /v1/transactions")
            let order = try #require(await phone.buy().order)
            try await phones.shop.lose(order.uuid)
            phone.wire.mend()
            await phone.signOut()
            await phone.signIn("ben")
            await phone.use { await $0.checkOrderStatus() }
            let note = LocalizedText(
                en: "The payment arrived, but its owner is not known yet. Tell support the order number.",
                zh: "付款已收到，但尚未确认归属。请将订单号告知客服。")
            #expect(await eventually { await phone.use { await $0.orders(all: true) }.map(\.sentence) == [note] })
            #expect(try await phones.shop.grantCount() == 0)
            #expect(try await phone.unfinished().count == 1)
            await phone.signOut()
            await phone.signIn("ann")
            #expect(try await phone.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(try await phones.shop.grants(of: "ben") == 0)
        }
    }
}

extension Shop {
    /// The ground of each grant's owner match, in the order of the grants.
    fileprivate func grounds() async throws -> [String] {
        try await decisions().filter { $0.decision == "granted" }.map(\.ground)
    }

    /// Removes an order, as a restore from an earlier backup would.
    fileprivate func lose(_ order: OrderID) async throws {
        try await ledger.write { connection in
            _ = try connection.execute(
                "DELETE FROM order_moves WHERE order_row_id = (SELECT row_id FROM orders WHERE id = ?1)",
                [.blob(order.bytes)])
            _ = try connection.execute("DELETE FROM orders WHERE id = ?1", [.blob(order.bytes)])
        }
    }
}
