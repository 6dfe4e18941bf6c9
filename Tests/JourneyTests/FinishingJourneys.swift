import Testing
import TillAppStore
import TillBilling
import TillClient
import TillLedger
import TillServer

@Suite("Transactions that a phone never finished") struct FinishingJourneys {
    private static func open(
        change: (inout ServerConfiguration) -> Void = { _ in }, _ journey: (Shop, AppleProxy) async throws -> Void
    ) async throws {
        let line = AppleProxy()
        try await Shop.open(change: change, line: line) { shop in
            try await shop.tellServer()
            try await journey(shop, line)
        }
    }

    private func isFinished(_ payment: Payment, in shop: Shop) async throws -> Bool {
        try await shop.ask(.get, "/emulator/transactions/\(payment.id)")["finished"] == true
    }

    private func waiting(in shop: Shop) async throws -> Int64 {
        try await shop.ledger.read { try AppleTaskTable($0).waiting().count }
    }

    private func appleTasks(of payment: Payment, in shop: Shop) async throws -> [AppleTaskTable.Stored] {
        try await shop.ledger.read { connection in
            let stored = try TransactionTable(connection).find(TransactionID(payment.id), in: .sandbox)
            return try stored.map { try AppleTaskTable(connection).list(transaction: $0.rowID) } ?? []
        }
    }

    @Test("Apple's notification alone completes the order, and the server finishes after the phone's grace period (U2)")
    func phoneNeverComesBack() async throws {
        try await Self.open { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            await shop.emulator.sendDueNotifications()
            #expect(try await shop.points(of: "ann") == 60)
            let appleTasks = AppleTaskRuns(shop.server.ledger)
            #expect(try await appleTasks.runAll() == 0)
            shop.time.advance(seconds: 599)
            #expect(try await appleTasks.runAll() == 0 && line.asked.isEmpty, "the phone has ten minutes")
            shop.time.advance(seconds: 1)
            #expect(try await appleTasks.runAll() == 1)
            #expect(try await isFinished(payment, in: shop))
            #expect(line.asked == ["/inApps/v1/transactions/\(payment.id)/finish"])
            #expect(try await waiting(in: shop) == 0)
            // A repeated proof creates no second task for Apple.
            _ = try await shop.submit(payment.signed, as: .user("ann"))
            #expect(try await waiting(in: shop) == 0)
            #expect(try await evidence(of: payment, in: shop).last?.decision == "finished")
        }
    }

    private func evidence(of payment: Payment, in shop: Shop) async throws -> [EvidenceTable.Entry] {
        try await shop.ledger.read { connection in
            let stored = try TransactionTable(connection).find(TransactionID(payment.id), in: .sandbox)
            return try stored.map { try EvidenceTable(connection).list(transaction: $0.rowID) } ?? []
        }
    }

    @Test("A purchase without an owner is never finished; once it has one, it is (DESIGN §4, invariant 3)")
    func quarantined() async throws {
        try await Self.open { shop, line in
            let payment = try await shop.pay(token: nil)
            await shop.emulator.sendDueNotifications()
            shop.time.advance(seconds: 86_400)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 0 && line.asked.isEmpty)
            _ = try await shop.submit(payment.signed, as: .backend, userID: "ann")
            shop.time.advance(seconds: 600)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 1)
            #expect(try await isFinished(payment, in: shop))
        }
    }

    @Test("A purchase refunded before its grant is finished once that is recorded, and only once (U2, U5)")
    func revoked() async throws {
        try await Self.open { shop, line in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            _ = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund", [:])
            await shop.emulator.sendDueNotifications()
            shop.time.advance(seconds: 600)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 1)
            _ = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refundReversal", [:])
            await shop.emulator.sendDueNotifications()
            shop.time.advance(seconds: 600)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 0 && line.asked.count == 1)
        }
    }

    @Test(
        "A refund reversed before the purchase had an owner leaves it in the queue (invariant 3, regression)"
    )
    func refundReversed() async throws {
        try await Self.open { shop, line in
            let payment = try await shop.pay(token: nil)
            for act in ["refund", "refundReversal"] {
                await shop.emulator.sendDueNotifications()
                _ = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/\(act)", [:])
                shop.time.advance(seconds: 60)
            }
            #expect(try await waiting(in: shop) == 1, "what Apple took back may be finished")
            await shop.emulator.sendDueNotifications()
            shop.time.advance(seconds: 86_400)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 0 && line.asked.isEmpty)
            #expect(try await isFinished(payment, in: shop) == false)

            _ = try await shop.submit(payment.signed, as: .backend, userID: "ann")
            shop.time.advance(seconds: 600)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 1)
            #expect(try await isFinished(payment, in: shop))
        }
    }

    @Test("Apple is down for days: one request a pass, less and less often, and all is done when it is back (U2, U7)")
    func outage() async throws {
        try await Self.open { shop, line in
            var payments: [Payment] = []
            for _ in 0..<5 { payments.append(try await shop.pay(token: try await shop.openOrder(as: "ann"))) }
            for payment in payments { _ = try await shop.submit(payment.signed, as: .user("ann")) }
            shop.time.advance(seconds: 600)
            line.outage = AppleConnectionError(.timedOut)
            let appleTasks = AppleTaskRuns(shop.server.ledger)
            for _ in 0..<3 { #expect(try await appleTasks.runAll() == 0) }
            #expect(line.asked.count == 3)
            line.outage = nil
            line.answer = AppleResponse(status: 401)
            #expect(try await appleTasks.runAll() == 0)
            let until = shop.time.now.adding(seconds: 7_200)
            line.answer = AppleResponse(
                status: 429, headers: [.init("Retry-After", String(until.milliseconds))],
                body: Array(#"{"errorCode": 4290000, "errorMessage": "Rate limit exceeded."}"#.utf8))
            #expect(try await appleTasks.runAll() == 0)
            line.answer = nil
            shop.time.advance(seconds: 7_201)
            var done = 0
            for _ in 0..<6 {
                done += try await appleTasks.runAll()
                shop.time.advance(seconds: 3_600)
            }
            #expect(done == 5)
            for payment in payments { #expect(try await isFinished(payment, in: shop)) }
            #expect(try await waiting(in: shop) == 0)
        }
    }

    @Test("Forty purchases of one customer delay another customer's by one request (G4)")
    func turns() async throws {
        try await Self.open { shop, line in
            var payments: [Payment] = []
            for _ in 0..<40 { payments.append(try await shop.pay(token: try await shop.openOrder(as: "eve"))) }
            for payment in payments { _ = try await shop.submit(payment.signed, as: .user("eve")) }
            shop.time.advance(seconds: 1)
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"), account: "ann")
            _ = try await shop.submit(payment.signed, as: .user("ann"))
            shop.time.advance(seconds: 600)
            let now = shop.time.now
            let next = try await shop.ledger.read { try AppleTaskTable($0).due(in: .sandbox, at: now, limit: 32) }
            #expect(next.count == 32)
            #expect(next[1].transactionID.text == payment.id)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 41)
            #expect(line.asked.count == 41)
        }
    }

    @Test("While Apple's sandbox is down, production purchases are finished (U2, U7)")
    func sandboxDown() async throws {
        try await Self.open { shop, line in
            shop.willChangeRows()
            var payments: [Payment] = []
            for _ in 0..<3 { payments.append(try await shop.pay(token: try await shop.openOrder(as: "ann"))) }
            for payment in payments { _ = try await shop.submit(payment.signed, as: .user("ann")) }
            let real = try #require(payments.last)
            _ = try await shop.ledger.write { connection in
                try connection.execute("UPDATE transactions SET environment = 1 WHERE id = ?1", [.text(real.id)])
            }
            shop.time.advance(seconds: 600)
            line.isCut = { !$0.contains(real.id) }
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 1)
            #expect(try await waiting(in: shop) == 2)
            line.isCut = { $0.contains(real.id) }
            shop.time.advance(seconds: 3_600)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 2)
        }
    }

    @Test("Apple agreed and the server died before recording it: it asks again, and that does no harm (U2)")
    func repeated() async throws {
        try await Self.open { shop, line in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            _ = try await shop.submit(payment.signed, as: .user("ann"))
            // The first run called Apple before it was killed.
            _ = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/finish", [:])
            shop.time.advance(seconds: 600)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 1)
            #expect(try await waiting(in: shop) == 0)
        }
    }

    @Test("A final refusal by Apple is not retried, and its row gives the reason (U2, U9)")
    func refused() async throws {
        try await Self.open { shop, line in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            _ = try await shop.submit(payment.signed, as: .user("ann"))
            shop.time.advance(seconds: 600)
            line.answer = AppleResponse(
                status: 404, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"errorCode": 4040010, "errorMessage": "Transaction id not found."}"#.utf8))
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 0)
            shop.time.advance(seconds: 86_400)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 0 && line.asked.count == 1)
            let left = try await appleTasks(of: payment, in: shop)
            #expect(left.count == 1 && left.first?.isWaiting == false)
            #expect(left.first?.detail.contains("TransactionIdNotFound") == true)
        }
    }

    @Test("The grace period comes from the configuration, and without a key no task is written (U2)")
    func configured() async throws {
        try await Self.open(change: { $0.delivery.finishAfter = 60 }) { shop, _ in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            _ = try await shop.submit(payment.signed, as: .user("ann"))
            shop.time.advance(seconds: 60)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 1)
            #expect(try await isFinished(payment, in: shop))
        }
        try await Shop.open { shop in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            _ = try await shop.submit(payment.signed, as: .user("ann"))
            #expect(try await waiting(in: shop) == 0)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 0)
        }
    }

    @Test("The order id is set on a transaction without a token, and Apple's later signed data carries it (U1)")
    func token() async throws {
        try await Self.open { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: nil)
            let reply = try await shop.submit(payment.signed, as: .user("ann"), orderID: order)
            #expect(reply["outcome"].text == "granted")
            #expect(try await appleTasks(of: payment, in: shop).map(\.kind).contains(.token(order)))
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 1)
            #expect(line.asked == ["/inApps/v1/transactions/\(payment.id)/appAccountToken"])
            let now = try await shop.ask(.get, "/emulator/transactions/\(payment.id)")
            #expect(now["appAccountToken"].text == order.description)
            #expect(try await evidence(of: payment, in: shop).contains { $0.decision == "token_set" })
        }
    }

    @Test("A transaction that carries a token, or whose receipt may hide one, keeps it (U1)")
    func untouched() async throws {
        try await Self.open { shop, line in
            let order = try await shop.openOrder(as: "ann")
            let signed = try await shop.pay(token: order)
            _ = try await shop.submit(signed.signed, as: .user("ann"))
            let other = try await shop.openOrder(as: "ben")
            let hidden = try await shop.pay(token: nil, account: "ben")
            line.answer = AppleResponse(
                status: 404, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"errorCode": 4040010, "errorMessage": "Transaction id not found."}"#.utf8))
            let reply = try await shop.send(
                .post, "/v1/transactions",
                [
                    "receipt": .string(hidden.receipt), "transactionId": .string(hidden.id),
                    "productId": .string(Shop.points60), "orderId": .string(other.description),
                ], as: .user("ben"))
            #expect(reply["outcome"].text == "granted")
            for payment in [signed, hidden] {
                #expect(try await appleTasks(of: payment, in: shop).map(\.kind) == [.finish])
            }
        }
    }

    @Test(
        "The phone comes back when the store has nothing left to deliver: its list of orders says completed (U2, O6)",
        arguments: StoreKitGeneration.both)
    func phoneComesBackLate(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let shop = phones.shop
            try await shop.tellServer()
            let phone = try await phones.phone("ann", isLaunched: false)
            try await phone.open(killedAt: AppRun.Step(name: "store answers POST /emulator/purchases", number: 1))
            async let outcome = phone.buy()
            #expect(await eventually { phone.run.isDead })
            await shop.emulator.sendDueNotifications()
            #expect(try await shop.points(of: "ann") == 60)
            shop.time.advance(seconds: 601)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 1)
            #expect(try await phone.unfinished().isEmpty)
            #expect(try await phone.ordersOnDisk().map(\.status) == [.prepared])
            try await phone.relaunch()
            #expect(await eventually { await phone.orders().map(\.status) == [.completed] })
            #expect(try await shop.grantCount() == 1)
            _ = await outcome
        }
    }
}
