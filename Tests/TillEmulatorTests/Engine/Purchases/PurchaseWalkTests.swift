import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillSQL

@testable import TillEmulator

@Suite("A long random walk over purchases, refunds and families")
struct PurchaseWalkTests {
    /// Small, seeded, the same on every platform.
    private struct SeededRandom {
        var state: UInt64

        mutating func draw(_ sides: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % sides
        }
    }

    private static let names = (0..<7).map { "a\($0)" }

    @Test(
        "U5: However they mix, every copy has a valid purchase behind it, and every change is sent once",
        arguments: [1, 2, 3] as [UInt64])
    func walk(_ seed: UInt64) async throws {
        var world = try await EmulatedWorld.withStore()
        var random = SeededRandom(state: seed &* 0x9E37_79B9_7F4A_7C15)
        for step in 1...300 {
            try await move(world, &random)
            if step % 20 == 0 {
                let faults = try await world.database.read { try Self.faults($0) }
                #expect(faults == [], "seed \(seed), step \(step)")
            }
            if step % 100 == 0 {
                await world.close()
                world = try await EmulatedWorld.withStore(directory: world)
            }
        }
        let copies = try await world.database.read { connection in
            try connection.first(
                "SELECT count(*) AS count FROM transactions WHERE shared_from IS NOT NULL", []
            ) { $0.integer("count") }
        }
        #expect(copies ?? 0 > 5, "the walk met families")
        await world.remove()
    }

    private func move(_ world: EmulatedWorld, _ random: inout SeededRandom) async throws {
        let name = Self.names[random.draw(Self.names.count)]
        let all = await world.transactions(of: name)
        let some = all.isEmpty ? nil : all[random.draw(all.count)]["transactionId"]?.string
        switch random.draw(12) {
        case 0, 1:
            let outcomes = ["purchased", "deferred", "interrupted", "failed"]
            _ = await world.tryToBuy(
                "points60", ["account": .string(name), "outcome": .string(outcomes[random.draw(4)]), "receipt": false])
        case 2, 3:
            // The other accounts use the copies of these three.
            let buyer = Self.names[random.draw(3)]
            _ = await world.tryToBuy("library", ["account": .string(buyer), "receipt": false])
        case 4: if let some { await world.post(some, random.draw(3) == 0 ? "decline" : "approve") }
        case 5: if let some, random.draw(2) == 0 { await world.post(some, "refund") }
        case 6: if let some { await world.post(some, "refundReversal") }
        case 7: if let some, random.draw(3) == 0 { await world.post(some, "revoke") }
        case 8: await world.put(account: name, ["family": .string(Self.names[random.draw(2)])])
        case 9: if random.draw(3) == 0 { _ = await world.ask(.post, "/emulator/accounts/\(name)/leaveFamily") }
        case 10: if let some { await world.post(some, "consumptionRequest") }
        default: world.advance(seconds: Int64(random.draw(20_000)))
        }
    }

    /// Violated conditions, by name.
    private static func faults(_ connection: any Connection) throws -> [String] {
        func count(_ sql: SQL) throws -> Int64 { try connection.first(sql, []) { $0.integer("count") } ?? -1 }
        var faults: [String] = []
        func none(_ name: String, _ sql: SQL) throws { if try count(sql) != 0 { faults.append(name) } }
        func same(_ name: String, _ left: SQL, _ right: SQL) throws {
            let (left, right) = (try count(left), try count(right))
            if left != right { faults.append("\(name): \(left) and \(right)") }
        }
        try none(
            "a copy without a living purchase of the same family",
            """
            SELECT count(*) AS count FROM transactions c JOIN transactions p ON p.number = c.shared_from \
            JOIN accounts ca ON ca.name = c.account JOIN accounts pa ON pa.name = p.account WHERE c.revoked_at IS NULL \
            AND (p.revoked_at IS NOT NULL OR p.state <> 'purchased' OR ca.family IS NULL OR ca.family IS NOT pa.family \
            OR p.shared_from IS NOT NULL)
            """)
        try none(
            "one purchase twice with one member",
            """
            SELECT count(*) AS count FROM (SELECT 1 FROM transactions WHERE shared_from IS NOT NULL \
            AND revoked_at IS NULL GROUP BY shared_from, account HAVING count(*) > 1)
            """)
        try none(
            "a consumable shared, or a copy with a price or a token",
            """
            SELECT count(*) AS count FROM transactions WHERE shared_from IS NOT NULL \
            AND (kind = 'Consumable' OR price <> 0 OR app_account_token IS NOT NULL)
            """)
        try none(
            "a family of more than six",
            """
            SELECT count(*) AS count FROM (SELECT 1 FROM accounts WHERE family IS NOT NULL GROUP BY family \
            HAVING count(*) > 6)
            """)
        try none(
            "a family without its organizer",
            """
            SELECT count(*) AS count FROM accounts m WHERE m.family IS NOT NULL AND NOT EXISTS (SELECT 1 \
            FROM accounts o WHERE o.name = m.family AND o.family = o.name)
            """)
        try none(
            "two requests to buy one product",
            """
            SELECT count(*) AS count FROM (SELECT 1 FROM transactions WHERE state = 'deferred' \
            GROUP BY account, bundle_id, product_id HAVING count(*) > 1)
            """)
        try same(
            "one ONE_TIME_CHARGE for each that was paid or shared",
            "SELECT count(*) AS count FROM transactions WHERE state = 'purchased'",
            "SELECT count(*) AS count FROM notifications WHERE type = 'ONE_TIME_CHARGE'")
        try same(
            "refunds told",
            "SELECT count(*) AS count FROM transactions WHERE revoked_at IS NOT NULL AND shared_from IS NULL",
            """
            SELECT count(*) FILTER (WHERE type = 'REFUND') - count(*) FILTER (WHERE type = 'REFUND_REVERSED') AS count \
            FROM notifications
            """)
        try same(
            "one REVOKE for each copy that ended",
            "SELECT count(*) AS count FROM transactions WHERE revoked_at IS NOT NULL AND shared_from IS NOT NULL",
            "SELECT count(*) AS count FROM notifications WHERE type = 'REVOKE'")
        try same(
            "open requests stand on the schedule",
            "SELECT count(*) AS count FROM refund_requests WHERE outcome IS NULL",
            "SELECT count(*) AS count FROM schedule WHERE kind = 'refund'")
        try same(
            "so do requests to buy", "SELECT count(*) AS count FROM transactions WHERE state = 'deferred'",
            "SELECT count(*) AS count FROM schedule WHERE kind = 'approval'")
        return faults
    }
}
