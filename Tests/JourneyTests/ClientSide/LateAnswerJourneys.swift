import Testing
import TillAPI
import TillBilling
import TillClient
import TillCrypto
import TillHTTP

@Suite("Paid, and the server's answer is late") struct LateAnswerJourneys {
    /// What answers the buyer in the server's place, with the code shown to support.
    struct NetworkCondition: Sendable, CustomTestStringConvertible {
        let code: String
        let pendingReason: FaultyNetwork.NetworkFault
        let testDescription: String

        init(_ description: String, _ code: String, _ pendingReason: FaultyNetwork.NetworkFault) {
            testDescription = description
            self.code = code
            self.pendingReason = pendingReason
        }
    }

    static let weathers = [
        NetworkCondition("no network", "cannot_connect", .off),
        NetworkCondition("the answer lost", "connection_lost", .answerLost),
        NetworkCondition("HTML", "unreadable_answer", .answered(.page)),
        NetworkCondition("an empty answer", "unreadable_answer", .answered(.nothing)),
        NetworkCondition("a redirect", "unreadable_answer", .answered(.elsewhere)),
        NetworkCondition("a proxy's 502", "unreadable_answer", .answered(.badGateway)),
        NetworkCondition("401", "unauthorized", .answered(.problem(.unauthorized, 401))),
        NetworkCondition("409", "idempotency_in_flight", .answered(.problem(.idempotencyInFlight, 409))),
        NetworkCondition("422 that may change", "unknown_product", .answered(.problem(.unknownProduct, 422))),
        NetworkCondition("429", "too_many_requests", .answered(.problem(.tooManyRequests, 429, retryAfter: 20))),
        NetworkCondition("500", "internal_error", .answered(.problem(.internalError, 500))),
        NetworkCondition("503", "unavailable", .answered(.busy)),
    ]

    @Test(
        "The order stays ongoing, the buyer sees that it will arrive, and it does by itself (L9, P5, P11)",
        arguments: StoreKitGeneration.both, weathers)
    func condition(_ generation: StoreKitGeneration, _ condition: NetworkCondition) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions", condition.pendingReason)
            guard case .deliveryPending(let order, let error?) = await ann.buy() else {
                Issue.record("it is not on its way: \(await ann.orders())")
                return
            }
            #expect(ann.wire.happened >= 1)
            #expect(order.status == .ongoing && error.code == condition.code)
            #expect(!(order.note(in: "en") ?? "").isEmpty && !(order.note(in: "zh") ?? "").isEmpty)
            #expect(try await ann.unfinished() == [order.transactionID])
            #expect(try await ann.ordersOnDisk().map(\.status) == [.ongoing])
            ann.wire.mend()
            // Longer than any first pause, whatever the server asked for.
            phones.shop.time.advance(seconds: 60)
            #expect(try await ann.hasFinishedAll())
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            #expect(try await phones.shop.grants(of: "ann") == 1)
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test(
        "The timer waits longer each time, and the network's return retries at once (P6)",
        arguments: StoreKitGeneration.both)
    func timer(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let time = phones.shop.time
            let ann = try await phones.phone("ann")
            let sent: @Sendable () -> Int = { ann.wire.count(.server, "POST /v1/transactions") }
            ann.wire.cut(.server, "POST /v1/transactions")
            guard case .deliveryPending = await ann.buy() else {
                Issue.record("it is not on its way")
                return
            }
            // 5, 10, 20 and 40 s, each spread over its second half.
            for (attempt, longest) in [5, 10, 20, 40].enumerated() {
                #expect(sent() == attempt + 1)
                let due = try #require(await ann.orders().first?.retry)
                let wait = due.milliseconds - time.now.milliseconds
                #expect(wait >= Int64(longest) * 500 && wait <= Int64(longest) * 1_000, "attempt \(attempt + 1)")
                time.advance(seconds: Int64(longest) / 2 - 1)
                try await Task.sleep(for: .milliseconds(25))
                #expect(sent() == attempt + 1, "it was sent before its time")
                time.advance(seconds: Int64(longest) / 2 + 2)
                #expect(await eventually { sent() == attempt + 2 })
                #expect(await eventually { await ann.orders().first?.retry ?? due > due })
            }
            ann.wire.mend()
            ann.regainNetwork()
            #expect(try await ann.hasFinishedAll())
            #expect(sent() == 6)
            #expect(try await phones.shop.grants(of: "ann") == 1)
        }
    }

    @Test("Every launch sends the purchases that are not completed (P6, C9)", arguments: StoreKitGeneration.both)
    func launch(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions")
            await ann.buy()
            await ann.buy(Shop.points300)
            // The second purchase sends the first one's proof again before its own.
            #expect(ann.wire.happened == 3)
            #expect(try await ann.unfinished().count == 2)
            ann.wire.mend()
            try await ann.relaunch()
            #expect(try await ann.hasFinishedAll())
            #expect(await eventually { await ann.orders().map(\.status) == [.completed, .completed] })
            #expect(try await phones.shop.points(of: "ann") == 360)
            #expect(try await phones.shop.grants(of: "ann") == 2)
        }
    }

    @Test(
        "The buyer lists orders, newest first, in both languages, and sends an ongoing one again (L6, C9)",
        arguments: StoreKitGeneration.both)
    func resubmit(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            #expect(isCompleted(await ann.buy()))
            phones.shop.time.advance(seconds: 1)
            try await ann.sheet("cancelled")
            await ann.buy()
            phones.shop.time.advance(seconds: 1)
            try await ann.sheet("purchased")
            ann.wire.cut(.server, "POST /v1/transactions", .answered(.busy))
            await ann.buy(Shop.points300)
            let orders = await ann.orders()
            #expect(orders.map { $0.title(in: "zh") } == ["充值中", "充值取消", "充值完成"])
            #expect(orders.map { $0.title(in: "en") } == ["In progress", "Cancelled", "Completed"])
            #expect(orders.map(\.canResubmit) == [true, false, false])
            ann.wire.mend()
            #expect(isCompleted(await ann.use { await $0.resubmitted(orders[0].orderID) }))
            #expect(isCompleted(await ann.use { await $0.resubmitted(orders[2].orderID) }))
            #expect(await ann.use { await $0.resubmitted("nonsense") }.error?.code == "unknown_order")
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 360)
            #expect(try await phones.shop.grants(of: "ann") == 2)
        }
    }

    @Test(
        "Three open purchases at once: all are kept, and all arrive (T4, L11)", arguments: StoreKitGeneration.both)
    func three(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions")
            async let first = ann.buy()
            async let second = ann.buy(Shop.points300)
            _ = await (first, second)
            await ann.buy()
            #expect(try await ann.unfinished().count == 3)
            #expect(try await ann.ordersOnDisk().map(\.status) == [.ongoing, .ongoing, .ongoing])
            ann.wire.mend()
            await ann.use { await $0.checkOrderStatus() }
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 420)
            #expect(try await phones.shop.grants(of: "ann") == 3)
        }
    }

    @Test(
        "Two months late, the phone off all the time: late is not forged, and is marked as late (G6, T9)",
        arguments: StoreKitGeneration.both)
    func twoMonths(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions")
            await ann.buy()
            #expect(ann.wire.happened == 1)
            await ann.kill()
            phones.shop.time.advance(seconds: 62 * 86_400)
            ann.wire.mend()
            try await ann.relaunch()
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
            let decisions = try await phones.shop.decisions(on: try #require(try await ann.paid().first))
            #expect(decisions.map(\.decision) == ["late", "granted"])
            #expect(decisions.first?.detail?.contains(", 62 days ") == true)
        }
    }

    @Test(
        "Granted in time, and sent again more than a year later: it still counts as seen, without a mark (G6, O8)",
        arguments: StoreKitGeneration.both)
    func seenForEver(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions", .answerLost)
            await ann.buy()
            #expect(ann.wire.happened == 1)
            #expect(try await phones.shop.grants(of: "ann") == 1)
            await ann.kill()
            phones.shop.time.advance(seconds: 400 * 86_400)
            ann.wire.mend()
            try await ann.relaunch()
            #expect(try await ann.hasFinishedAll())
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            #expect(ann.wire.count(.server, "POST /v1/transactions") == 2)
            #expect(try await phones.shop.grantCount() == 1)
            #expect(try await phones.shop.points(of: "ann") == 60)
            let decisions = try await phones.shop.decisions(on: try #require(try await ann.paid().first))
            #expect(decisions.map(\.decision) == ["granted"])
        }
    }

    @Test("The clock is set back a year: waiting proofs are still sent", arguments: StoreKitGeneration.both)
    func clockSetBack(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/transactions")
            await ann.buy()
            #expect(ann.wire.happened == 1)
            await ann.kill()
            ann.wire.mend()
            // Only the phone's clock: all other clocks go on.
            try await ann.relaunch(clock: -365 * 86_400)
            #expect(try await ann.hasFinishedAll())
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            #expect(isCompleted(await ann.buy()))
            #expect(try await phones.shop.grants(of: "ann") == 2)
        }
    }

    @Test("The server is slow: that buyer waits, another purchase does not", arguments: StoreKitGeneration.both)
    func slow(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            let gate = Gate()
            ann.wire.cut(.server, "POST /v1/transactions", .slow(gate))
            async let first = ann.buy()
            #expect(await eventually { ann.wire.happened == 1 })
            #expect(await ann.orders().map(\.status) == [.ongoing])
            #expect(try await ann.unfinished().count == 1, "finished before the server's word")
            ann.wire.mend()
            #expect(isCompleted(await ann.buy(Shop.points300)))
            await gate.open()
            #expect(isCompleted(await first))
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.grants(of: "ann") == 2)
        }
    }

    @Test(
        "The disk is full after the payment: nothing is lost, nothing is granted twice",
        arguments: StoreKitGeneration.both)
    func fullDisk(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            let gate = Gate()
            ann.wire.cut(.store, "/emulator/purchases", .slow(gate))
            async let outcome = ann.buy()
            #expect(await eventually { ann.wire.happened == 1 })
            ann.fillDisk()
            await gate.open()
            // The payment is made and the server reached; only this device can't record it.
            #expect(isCompleted(await outcome))
            #expect(try await phones.shop.grants(of: "ann") == 1)
            #expect(try await ann.unfinished().count == 1, "what this device did not write down stays with the store")
            ann.wire.mend()
            guard case .failed(nil, let error) = await ann.buy(Shop.points300) else {
                Issue.record("it was bought on a full disk")
                return
            }
            #expect(error.code == "disk_full")
            ann.fillDisk(false)
            try await ann.relaunch()
            #expect(try await ann.hasFinishedAll())
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            #expect(try await phones.shop.grants(of: "ann") == 1)
        }
    }
}
