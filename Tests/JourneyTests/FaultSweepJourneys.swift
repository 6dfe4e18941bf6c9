import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillSQLite
import TillServer
import TillSimulation
import TillTestDatabases

/// The disk becomes full at each write of a request in turn, so that every point between two commits is tested.
@Suite(
    "A disk that fills up in the middle of a request",
    .enabled(if: LedgerDatabase.isSQLite, "\(LedgerDatabase.sqliteOnly)"))
struct FaultSweepJourneys {
    /// - Parameter writes: how many writes of a request fail.
    /// - Returns: how often the request was refused.
    private func sweep(
        _ disk: CrashableDisk, upTo last: Int, writes: (Int) -> Int = { _ in 200 },
        _ request: (Int) async throws -> Reply,
        check: (Int, Reply) async throws -> Void
    ) async throws -> Int {
        var refused = 0
        for position in 0..<last {
            for skip in 0..<writes(position) { disk.failNext(.write, with: .full, after: position + skip) }
            // The inline database never suspends: without this, the tests' shared threads would be held for seconds.
            await Task.yield()
            let reply = try await request(position)
            disk.forgetFailures()
            if reply.status == 503 { refused += 1 }
            try await check(position, reply)
        }
        return refused
    }

    private func withShop(_ journey: (Shop, CrashableDisk) async throws -> Void) async throws {
        let disk = CrashableDisk(seed: 21)
        var options = SQLiteDatabase.Options(.ledger)
        options.vfs = disk.vfs
        options.threads = .inline
        try await Shop.open(ledger: options) { shop in try await journey(shop, disk) }
    }

    @Test("A notification answered 200 is stored, and processed once there is space; a refused one is sent again")
    func notifications() async throws {
        try await withShop { shop, disk in
            var payloads: [String] = []
            for number in 0..<60 {
                let order = try await shop.openOrder(as: "u\(number)")
                payloads.append(try await shop.notification(of: order))
            }
            func deliver(_ number: Int) async throws -> Reply {
                try await shop.send(
                    .post, "/v1/notifications/apple", ["signedPayload": .string(payloads[number])], as: .anonymous)
            }
            var leftOver = 0
            // One failed write leaves room to store the notification without its purchase.
            let refused = try await sweep(
                disk, upTo: payloads.count, writes: { $0.isMultiple(of: 2) ? 200 : 1 }, deliver
            ) { number, reply in
                #expect([200, 503].contains(reply.status))
                let processed = try await PendingNotifications(shop.server.ledger).processAll()
                leftOver += processed
                if reply.status == 503 {
                    #expect(processed == 0, "what was refused is not there")
                    #expect(try await deliver(number).status == 200)
                }
                #expect(try await shop.points(of: "u\(number)") == 60)
                // Apple sometimes repeats an answered notification too.
                #expect(try await deliver(number).status == 200)
                #expect(try await shop.points(of: "u\(number)") == 60)
            }
            #expect(refused > 0 && refused < payloads.count)
            #expect(leftOver > 0, "one at least was stored and not processed")
            #expect(try await shop.grantCount() == Int64(payloads.count))
        }
    }

    @Test("With an Idempotency-Key: a disk that fills between the work and its stored answer causes no second work")
    func keyed() async throws {
        try await withShop { shop, disk in
            func post(_ target: String, _ body: JSONValue, _ party: Party, key: Int) async throws -> Reply {
                try await shop.send(.post, target, body, as: party, headers: [("Idempotency-Key", "k\(key)")])
            }
            func open(_ number: Int) async throws -> Reply {
                try await post("/v1/orders", ["productId": .string(Shop.points60)], .user("u\(number)"), key: number)
            }
            var already = 0
            let orders = try await sweep(disk, upTo: 50, open) { number, reply in
                #expect([201, 503].contains(reply.status))
                let again = try await open(number)
                #expect([200, 201].contains(again.status))
                if reply.status == 503, again.status == 200 { already += 1 }
                #expect(try await shop.send(.get, "/v1/users/u\(number)/orders")["data"].list.count == 1)
            }
            #expect(orders > 0 && already > 0)

            let order = try await shop.openOrder(Shop.points300, as: "rich", quantity: 10)
            _ = try await shop.submit(
                shop.pay(Shop.points300, token: order, quantity: 10).signed, as: .user("rich"))
            func debit(_ number: Int) async throws -> Reply {
                try await post(
                    "/v1/users/rich/wallet/debits",
                    ["currency": "points", "amount": 7, "reference": .string("r\(number)")], .backend, key: number)
            }
            let debits = try await sweep(disk, upTo: 50, debit) { number, reply in
                #expect([201, 503].contains(reply.status))
                let again = try await debit(number)
                #expect([200, 201].contains(again.status))
                #expect(try await shop.points(of: "rich") == 3_000 - 7 * Int64(number + 1))
            }
            #expect(debits > 0)
        }
    }

    @Test("A proof, with or without a key: refused or granted, then granted once")
    func proofs() async throws {
        try await withShop { shop, disk in
            var payments: [Payment] = []
            for number in 0..<70 {
                payments.append(try await shop.pay(token: shop.openOrder(as: "u\(number)")))
            }
            func submit(_ number: Int) async throws -> Reply {
                try await shop.send(
                    .post, "/v1/transactions", ["signedTransaction": .string(payments[number].signed)],
                    as: .user("u\(number)"),
                    headers: number.isMultiple(of: 2) ? [("Idempotency-Key", "p\(number)")] : [])
            }
            let refused = try await sweep(disk, upTo: payments.count, submit) { number, reply in
                #expect([200, 503].contains(reply.status))
                let again = try await submit(number)
                #expect(again.status == 200)
                #expect(["granted", "alreadyGranted"].contains(again["outcome"].text))
                #expect(try await shop.points(of: "u\(number)") == 60)
            }
            #expect(refused > 0 && refused < payments.count)
            #expect(try await shop.grantCount() == Int64(payments.count))
        }
    }
}
