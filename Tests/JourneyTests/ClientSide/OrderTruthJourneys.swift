import Foundation
import Testing
import TillBilling
import TillClient
import TillJSON

/// What the buyer's list says is what happened, on the phone and at the server, whichever of the two heard of it.
@Suite("The list of orders tells the truth") struct OrderTruthJourneys {
    private func decide(_ phone: Phone, _ verb: String, _ state: String = "deferred") async throws {
        let shop = phone.shop
        let id = try #require(try await shop.transactions(of: phone.account, "state=\(state)").first)
        let reply = try await shop.ask(.post, "/emulator/transactions/\(id)/\(verb)")
        try #require(reply.status == 200, "\(reply.body)")
    }

    private func deferred(_ phone: Phone) async throws -> StoreOrder {
        try await phone.sheet("deferred")
        let order = try #require(await phone.buy().order)
        try #require(order.status == .deferred)
        return order
    }

    private func become(_ statuses: [StoreOrder.Status], _ phone: Phone, atServer: Bool = true) async throws {
        let isReached = await eventually { await phone.orders().map(\.status) == statuses }
        let found = await phone.orders().map(\.status.rawValue)
        #expect(isReached, "\(found)")
        guard atServer, let user = phone.user else { return }
        let names = statuses.map(\.rawValue)
        #expect(try await eventually { try await phone.shop.ordersAtServer(of: user) == names })
    }

    // MARK: Ask to Buy

    @Test(
        "Ask to Buy waits on the phone and at the server, and both complete it when it is approved (G7, L6, O1)",
        arguments: StoreKitGeneration.both)
    func approved(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            let order = try await deferred(ann)
            try await become([.deferred], ann)
            try await decide(ann, "approve")
            try await become([.completed], ann)
            let reply = try await phones.shop.send(.get, "/v1/orders/\(order.orderID)")
            let statuses = reply["history"].list.map { $0.at("status").text }
            #expect(statuses.first == "prepared" && statuses.contains("deferred") && statuses.last == "completed")
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test(
        "Ask to Buy is declined, and StoreKit 2 does not say so: after a day the order ends on both sides (G7, L6)",
        arguments: StoreKitGeneration.both)
    func declined(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            _ = try await deferred(ann)
            try await become([.deferred], ann)
            try await decide(ann, "decline")
            if generation == .storeKit2 {
                try await ann.comesToRest()
                try await become([.deferred], ann)
                await ann.kill()
                phones.shop.time.advance(seconds: 24 * 3_600)
                try await ann.relaunch()
                try await ann.comesToRest()
                // A late answer to the parent's phone may still arrive.
                try await become([.deferred], ann)
                phones.shop.time.advance(seconds: 3_601)
                ann.regainNetwork()
            }
            try await become([.cancelled], ann)
            let order = try #require(await ann.orders().first)
            #expect(order.note(in: "zh") == "此次购买未获批准，没有扣款。")
            #expect(try await phones.shop.grantCount() == 0)
        }
    }

    @Test(
        "Approved on the last minute and heard of after the order ended: it is completed all the same (G7, T3)",
        arguments: StoreKitGeneration.both)
    func approvedLate(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            let order = try await deferred(ann)
            phones.shop.time.advance(seconds: 23 * 3_600)
            ann.wire.cut(.store)
            try await decide(ann, "approve")
            phones.shop.time.advance(seconds: 3 * 3_600)
            ann.regainNetwork()
            try await become([.cancelled], ann)
            ann.wire.mend()
            try await become([.completed], ann)
            #expect(await ann.orders().map(\.orderID) == [order.orderID])
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test(
        "A report that did not get through is sent at the next launch: deferred, then cancelled (L6, L10)",
        arguments: StoreKitGeneration.both)
    func lostReport(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "/defer")
            _ = try await deferred(ann)
            try await ann.comesToRest()
            #expect(ann.wire.happened >= 1)
            #expect(try await phones.shop.ordersAtServer(of: "ann") == ["prepared"])
            ann.wire.mend()
            try await ann.relaunch()
            try await become([.deferred], ann)

            ann.wire.cut(.server, "/cancel")
            phones.shop.time.advance(seconds: 1)
            try await ann.sheet("cancelled")
            await ann.buy(Shop.points300)
            try await ann.comesToRest()
            #expect(try await phones.shop.ordersAtServer(of: "ann") == ["prepared", "deferred"])
            ann.wire.mend()
            ann.regainNetwork()
            try await become([.cancelled, .deferred], ann)
        }
    }

    // MARK: Refunds

    private func tell(_ phone: Phone, _ verb: String) async throws {
        try await decide(phone, verb, "purchased")
        await phone.shop.emulator.sendDueNotifications()
        // Apple's next statement is a later one.
        phone.shop.time.advance(seconds: 60)
    }

    private func bought(_ phones: Phones) async throws -> Phone {
        let ann = try await phones.phone("ann")
        #expect(isCompleted(await ann.buy()))
        try await phones.shop.tellServer()
        return ann
    }

    @Test(
        "A refund makes the order 已退款 on the phone, also if the app was closed; a reversal completes it again (L6, U5)",
        arguments: StoreKitGeneration.both, [false, true])
    func refunded(_ generation: StoreKitGeneration, _ isClosed: Bool) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await bought(phones)
            if isClosed { await ann.kill() }
            try await tell(ann, "refund")
            if isClosed { try await ann.relaunch() } else { ann.regainNetwork() }
            try await become([.refunded], ann)
            let order = try #require(await ann.orders().first)
            #expect(order.title(in: "zh") == "已退款" && order.title(in: "en") == "Refunded")
            #expect(try await ann.ordersOnDisk().map(\.status) == [.refunded])
            #expect(try await phones.shop.points(of: "ann") == 0)

            if isClosed { await ann.kill() }
            try await tell(ann, "refundReversal")
            if isClosed { try await ann.relaunch() } else { _ = try await ann.use { try await $0.refresh() } }
            try await become([.completed], ann)
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test("StoreKit 2 reports a refund before the server knows of it: the phone looks again a minute later (L6, U5)")
    func heardFirst() async throws {
        try await Phones.open(.storeKit2) { phones in
            let ann = try await bought(phones)
            let before = ann.wire.count(.server, "GET /v1/users/ann/orders")
            try await decide(ann, "refund", "purchased")
            #expect(await eventually { ann.wire.count(.server, "GET /v1/users/ann/orders") > before })
            try await ann.comesToRest()
            try await become([.completed], ann)
            await phones.shop.emulator.sendDueNotifications()
            #expect(try await phones.shop.ordersAtServer(of: "ann") == ["refunded"])
            phones.shop.time.advance(seconds: 61)
            try await become([.refunded], ann)
        }
    }

    @Test("A launch costs one request for the orders of a customer who paid, and none for others (L6)")
    func cost() async throws {
        try await Phones.open(.storeKit2) { phones in
            let ann = try await phones.phone("ann")
            try await ann.comesToRest()
            #expect(ann.wire.count(.server, "GET /v1/users/ann/orders") == 0)
            for _ in 0..<3 { #expect(isCompleted(await ann.buy())) }
            try await ann.relaunch()
            try await ann.comesToRest()
            #expect(ann.wire.count(.server, "GET /v1/users/ann/orders") == 1)
            // An open order is looked for among the newest ones, which here are all.
            try await ann.sheet("cancelled")
            await ann.buy()
            try await ann.relaunch()
            try await ann.comesToRest()
            #expect(ann.wire.count(.server, "GET /v1/users/ann/orders") == 2)
        }
    }

    // MARK: Price paid

    @Test(
        "The list shows the price that Apple signed, also for a purchase that this installation did not begin (L6)",
        arguments: [StoreKit1Proof.signedTransaction, .receipt, nil] as [StoreKit1Proof?])
    func pricePaid(_ proof: StoreKit1Proof?) async throws {
        try await Phones.open(proof == nil ? .storeKit2 : .storeKit1, proof: proof ?? .signedTransaction) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions")
            let order = try #require(await ann.buy().order)
            let shown = try #require(order.price)
            #expect(order.currency == "CNY" && shown > 0)
            func atServer() async throws -> Reply { try await phones.shop.send(.get, "/v1/orders/\(order.orderID)") }
            #expect(try await atServer()["paid"] == .null)
            ann.wire.mend()
            try await ann.reinstall()
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            let found = try #require(await ann.orders().first)
            if proof == .receipt {
                #expect(found.price == nil)
            } else {
                #expect(found.price == shown && found.currency == "CNY")
                let amount = NSDecimalNumber(decimal: shown * 100).int64Value
                #expect(try await atServer()["paid"] == ["amount": .int(amount), "currency": "CNY"])
                #expect(try await ann.ordersOnDisk().map(\.paid?.amount) == [amount])
            }
        }
    }

    // MARK: A guest who signed in

    @Test(
        "A merged guest's orders are the account's on the phone: they are reported and refunded there (L6, P12)",
        arguments: StoreKitGeneration.both)
    func mergedGuest(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let phone = try await phones.phone(nil, account: "family")
            let guest = await phone.use { await $0.guestID }
            await phone.signIn(guest)
            #expect(isCompleted(await phone.buy()))
            phone.wire.cut(.server, "/cancel")
            phones.shop.time.advance(seconds: 1)
            try await phone.sheet("cancelled")
            await phone.buy(Shop.points300)
            try await phone.comesToRest()
            phone.wire.mend()
            #expect(await phone.signIn("ann", mergingGuest: guest) == .merged)
            #expect(await phone.orders().map(\.status) == [.cancelled, .completed])
            #expect(await phone.orders().map { $0.title(in: "zh") } == ["充值取消", "充值完成"])
            phone.regainNetwork()
            let shop = phones.shop
            #expect(try await eventually { try await shop.ordersAtServer(of: "ann") == ["cancelled", "completed"] })
            try await shop.tellServer()
            try await tell(phone, "refund")
            phone.regainNetwork()
            #expect(await eventually { await phone.orders().map(\.status) == [.cancelled, .refunded] })
            #expect(try await shop.ordersAtServer(of: "ann") == ["cancelled", "refunded"])
        }
    }
}
