import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillSQLite
import TillServer
import TillSimulation
import TillTestDatabases

/// A full disk, a read-only database and a failing disk under the real server, on the real driver: an SQLite VFS
/// simulates the disk.
@Suite("A disk that can't be written", .enabled(if: LedgerDatabase.isSQLite, "\(LedgerDatabase.sqliteOnly)"))
struct DiskFaultJourneys {
    enum Trouble: String, CaseIterable, Sendable {
        case full, readOnly, failing

        func strike(_ disk: CrashableDisk) {
            switch self {
            // A capacity would leave space inside the log; on this disk every write fails.
            case .full: for skip in 0..<5_000 { disk.failNext(.write, with: .full, after: skip) }
            case .readOnly: disk.conditions.isReadOnly = true
            case .failing: disk.conditions.failureRates = [.write: 1, .sync: 1, .truncate: 1]
            }
        }

        static func end(_ disk: CrashableDisk) {
            disk.forgetFailures()
            disk.conditions = CrashableDisk.Conditions()
        }
    }

    /// One kind of POST, with its status once the disk works again.
    private struct Request: Sendable {
        let name: String
        let target: String
        let body: JSONValue?
        var party = Party.user("u1")
        var key: String?
        let wellAgain: Int

        func send(_ shop: Shop) async throws -> Reply {
            try await shop.send(
                .post, target, body, as: party, headers: key.map { [("Idempotency-Key", $0)] } ?? [])
        }
    }

    /// The state before the fault: a funded wallet, orders to close, proofs to submit.
    private struct Start: Sendable {
        let requests: [Request]
        let opened: OrderID
        let waiting: [OrderID]
        let notification: String
    }

    private static func start(_ shop: Shop) async throws -> Start {
        let funded = try await shop.openOrder(as: "u1")
        _ = try await shop.submit(shop.pay(token: funded).signed, as: .user("u1"))
        var orders: [OrderID] = []
        for _ in 0..<6 { orders.append(try await shop.openOrder(as: "u1")) }
        let (plain, keyed) = (try await shop.pay(token: orders[2]), try await shop.pay(token: orders[3]))
        let inReceipt = try await shop.pay(token: nil, account: "other")
        let notification = try await shop.notification(of: orders[5])
        func debit(_ reference: String) -> JSONValue {
            ["currency": "points", "amount": 10, "reference": .string(reference)]
        }
        let product = ProvenOrder(of: "u1").opening(["productId": .string(Shop.points60)])
        let receipt: JSONValue = [
            "receipt": .string(inReceipt.receipt), "transactionId": .string(inReceipt.id),
            "productId": .string(Shop.points60), "orderId": .string(orders[4].description),
        ]
        let (orderPath, debits) = ("/v1/orders", "/v1/users/u1/wallet/debits")
        let requests = [
            Request(name: "order", target: orderPath, body: product, wellAgain: 201),
            Request(
                name: "order, keyed", target: orderPath, body: ["productId": .string(Shop.points300)], key: "o",
                wellAgain: 201),
            Request(name: "cancel", target: "\(orderPath)/\(orders[0])/cancel", body: nil, wellAgain: 200),
            Request(name: "fail", target: "\(orderPath)/\(orders[1])/fail", body: nil, key: "f", wellAgain: 200),
            Request(
                name: "proof", target: "/v1/transactions", body: ["signedTransaction": .string(plain.signed)],
                wellAgain: 200),
            Request(
                name: "proof, keyed", target: "/v1/transactions", body: ["signedTransaction": .string(keyed.signed)],
                key: "p", wellAgain: 200),
            Request(name: "receipt", target: "/v1/transactions", body: receipt, wellAgain: 200),
            // Even a refusal is written before it is answered.
            Request(
                name: "forged", target: "/v1/transactions", body: ["signedTransaction": .string(plain.signed + "A")],
                wellAgain: 422),
            Request(name: "debit", target: debits, body: debit("a"), party: .backend, wellAgain: 201),
            Request(name: "debit, keyed", target: debits, body: debit("b"), party: .backend, key: "d", wellAgain: 201),
            Request(
                name: "notification", target: "/v1/notifications/apple",
                body: ["signedPayload": .string(notification)], party: .anonymous, wellAgain: 200),
        ]
        return Start(requests: requests, opened: ProvenOrder(of: "u1").id, waiting: orders, notification: notification)
    }

    @Test(
        "Each POST gets 503 with Retry-After, nothing is half done, and then all of it succeeds",
        arguments: Trouble.allCases, Reach.allCases)
    func comesBack(_ trouble: Trouble, _ reach: Reach) async throws {
        let disk = CrashableDisk(seed: 11)
        var options = SQLiteDatabase.Options(.ledger)
        options.vfs = disk.vfs
        try await Shop.open(reach, ledger: options) { shop in
            let start = try await Self.start(shop)
            let grants = try await shop.grantCount()
            trouble.strike(disk)
            // Twice: the driver reopens its connection after some faults.
            for task in start.requests + start.requests {
                let reply = try await task.send(shop)
                #expect(reply.status == 503, "\(task.name): \(reply.body)")
                #expect(reply.code == "unavailable", "\(task.name)")
                #expect(reply["retryable"] == true)
                #expect(reply.headers["Content-Type"] == "application/problem+json")
                #expect(Int(reply.headers["Retry-After"] ?? "").map { $0 > 0 } == true)
            }
            try await Self.checkNothingChanged(shop, start, grants: grants)
            Trouble.end(disk)
            #expect(try await shop.send(.get, "/readyz", as: .anonymous).status == 200)
            try await Self.checkAllGoesThrough(shop, start, grants: grants)
        }
    }

    /// Reading continues, and shows nothing of the refused requests.
    private static func checkNothingChanged(_ shop: Shop, _ start: Start, grants: Int64) async throws {
        let readiness = try await shop.send(.get, "/readyz", as: .anonymous)
        #expect(readiness.status == 503)
        #expect(readiness["status"].text == "not_ready")
        #expect(readiness.headers["Retry-After"] != nil)
        for target in ["/healthz", "/v1/products"] {
            #expect(try await shop.send(.get, target, as: .anonymous).status == 200)
        }
        #expect(try await shop.send(.get, "/v1/orders/\(start.opened)").status == 404)
        for order in start.waiting { #expect(try await shop.status(of: order) == "prepared") }
        #expect(try await shop.send(.get, "/v1/users/u1/orders")["data"].list.count == 7)
        #expect(try await shop.points(of: "u1") == 60)
        #expect(try await shop.send(.get, "/v1/users/u1/wallet/postings")["data"].list.count == 1)
        #expect(try await shop.grantCount() == grants)
        let pending = try await shop.ledger.read { try NotificationTable($0).pending(after: 0, limit: 10) }
        #expect(pending.isEmpty)
    }

    /// The same requests again; and once more, as by a client that lost the answers.
    private static func checkAllGoesThrough(_ shop: Shop, _ start: Start, grants: Int64) async throws {
        for task in start.requests {
            let reply = try await task.send(shop)
            #expect(reply.status == task.wellAgain, "\(task.name): \(reply.body)")
        }
        for task in start.requests {
            let reply = try await task.send(shop)
            let replayed = task.key == nil && reply.status == 200 ? 200 : task.wellAgain
            #expect(reply.status == replayed, "\(task.name): \(reply.body)")
            #expect((reply.headers["Idempotency-Replayed"] != nil) == (task.key != nil), "\(task.name)")
        }
        // Two signed transactions, one receipt and one notification; two debits of ten.
        #expect(try await shop.grantCount() == grants + 4)
        #expect(try await shop.points(of: "u1") == 60 + 4 * 60 - 20)
        #expect(try await shop.send(.get, "/v1/users/u1/wallet/postings")["data"].list.count == 1 + 4 + 2)
        #expect(try await shop.send(.get, "/v1/users/u1/orders")["data"].list.count == 9)
        let statuses = ["cancelled", "failed", "completed", "completed", "completed", "completed"]
        for (order, status) in zip(start.waiting, statuses) { #expect(try await shop.status(of: order) == status) }
    }

    @Test("A file system that really runs out of space: answered requests stay, the rest succeeds when there is space")
    func fillsUp() async throws {
        let disk = CrashableDisk(seed: 12)
        var options = SQLiteDatabase.Options(.ledger)
        options.vfs = disk.vfs
        try await Shop.open(ledger: options) { shop in
            disk.conditions.capacity = disk.usedBytes + 300_000
            func open(_ number: Int) async throws -> Reply {
                let filling = String(repeating: "x", count: 3_000)
                let body = ProvenOrder(of: "u\(number)").opening([
                    "productId": .string(Shop.points60), "metadata": ["filling": .string(filling)],
                ])
                return try await shop.send(.post, "/v1/orders", body, as: .user("u\(number)"))
            }
            var refused: [Int] = []
            for number in 0..<200 {
                let reply = try await open(number)
                #expect([201, 503].contains(reply.status))
                if reply.status == 503 { refused.append(number) }
            }
            #expect(!refused.isEmpty && refused.count < 200)
            disk.conditions.capacity = nil
            for number in refused { #expect(try await open(number).status == 201) }
            for number in 0..<200 { #expect(try await open(number).status == 200) }
        }
    }
}
