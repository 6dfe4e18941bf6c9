import Testing
import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillSQLite
import TillServer
import TillSimulation
import TillTestDatabases

@Suite("A disk that fills up (R1)", .enabled(if: LedgerDatabase.isSQLite, "\(LedgerDatabase.sqliteOnly)"))
struct FullDiskJourneys {
    private static func foreign(_ number: Int, at now: Instant) -> ForeignNotificationTable.Entry {
        ForeignNotificationTable.Entry(
            uuid: "old-\(number)", app: ("com.example.other", nil), environment: "Sandbox", type: "TEST", subtype: nil,
            receivedAt: now.adding(seconds: -200 * 86_400), reason: ("wrong_app", ""),
            payload: String(repeating: "x", count: 5_000))
    }

    /// Fills the disk with orders until one is refused; returns the users whose orders were answered.
    private static func fill(_ shop: Shop, _ disk: CrashableDisk) async throws -> [String] {
        disk.conditions.capacity = disk.usedBytes + 200_000
        let filling: JSONValue = ["filling": .string(String(repeating: "x", count: 3_000))]
        for number in 0..<200 {
            let body: JSONValue = [
                "userId": .string("u\(number)"), "productId": .string(Shop.points60), "metadata": filling,
            ]
            let reply = try await shop.send(.post, "/v1/orders", body)
            guard reply.status != 201 else { continue }
            #expect(reply.status == 503 && reply.code == "unavailable")
            return (0..<number).map { "u\($0)" }
        }
        return []
    }

    @Test(
        "Grants are refused and retryable, answered requests stay, reading goes on, pruning does no harm (R1)",
        arguments: Reach.allCases)
    func fillsUp(_ reach: Reach) async throws {
        let disk = CrashableDisk(seed: 21)
        var options = SQLiteDatabase.Options(.ledger)
        options.vfs = disk.vfs
        try await Shop.open(reach, ledger: options) { shop in
            let granted = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            _ = try await shop.submit(granted.signed, as: .user("ann"))
            let late = try await shop.pay(token: try await shop.openOrder(as: "bob"))
            let now = shop.time.now
            try await shop.ledger.write { connection in
                for number in 0..<200 { try ForeignNotificationTable(connection).insert(Self.foreign(number, at: now)) }
            }
            let answered = try await Self.fill(shop, disk)
            #expect(!answered.isEmpty)
            disk.conditions.capacity = disk.usedBytes
            for _ in 0..<2 {
                let refused = try await shop.submit(late.signed, as: .user("bob"))
                #expect(refused.status == 503 && refused.code == "unavailable" && refused["retryable"] == true)
                #expect(refused.headers["Retry-After"] != nil)
            }
            // Readiness writes one row, which may fit where a purchase does not: here no write succeeds.
            for skip in 0..<500 { disk.failNext(.write, with: .full, after: skip) }
            let readiness = try await shop.send(.get, "/readyz", as: .anonymous)
            #expect(readiness.status == 503 && readiness["database"].text == "full")
            #expect(readiness["status"].text == "not_ready")
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.points(of: "bob") == 0)
            // The deletion needs space too. It fails, and is due again.
            await #expect(throws: DatabaseError.self) {
                try await Pruning(shop.server.ledger, backends: ["key:backend"]).run()
            }
            for user in answered {
                #expect(try await shop.send(.get, "/v1/users/\(user)/orders")["data"].list.count == 1)
            }

            disk.forgetFailures()
            disk.conditions.capacity = nil
            #expect(try await shop.send(.get, "/readyz", as: .anonymous).status == 200)
            let tables = try await Pruning(shop.server.ledger, backends: ["key:backend"]).run()
            #expect(tables.first { $0.name == "foreign_notifications" }?.pruned == 200)
            let bought = try await shop.submit(late.signed, as: .user("bob"))
            #expect(bought["outcome"].text == "granted")
            #expect(try await shop.points(of: "bob") == 60)
            #expect(try await shop.grantCount() == 2)
            for user in answered {
                #expect(try await shop.send(.get, "/v1/users/\(user)/orders")["data"].list.count == 1)
            }
        }
    }

    @Test("What pruning deletes makes room for grants on a file that may not grow (R1)")
    func roomAgain() async throws {
        let disk = CrashableDisk(seed: 22)
        var options = SQLiteDatabase.Options(.ledger)
        options.vfs = disk.vfs
        try await Shop.open(ledger: options) { shop in
            let now = shop.time.now
            try await shop.ledger.write { connection in
                for number in 0..<200 { try ForeignNotificationTable(connection).insert(Self.foreign(number, at: now)) }
            }
            _ = try await Pruning(shop.server.ledger, backends: []).run()
            let before = try await shop.ledger.read { connection in
                try connection.first("SELECT freelist_count AS count FROM pragma_freelist_count", []) {
                    $0.integer("count")
                }
            }
            #expect(try #require(before) > 200, "SQLite uses the freed pages for the next rows")
        }
    }
}
