import Foundation
import Testing
import TillAppStore
import TillBilling
import TillHTTP

@testable import TillEmulator

@Suite("The whole store in a few numbers")
struct StateTests {
    @Test("The counts that the store keeps equal the actual numbers after every kind of change")
    func tallies() async throws {
        let world = try await TimedWorld()
        await world.tellServer()
        let finished = try #require(try await world.buy()["transactionId"]?.string)
        #expect(await world.ask(.post, "/emulator/transactions/\(finished)/finish").status == 200)
        #expect(await world.ask(.post, "/emulator/transactions/\(finished)/finish").status == 200)
        let refunded = try #require(try await world.buy("points300", account: "b")["transactionId"]?.string)
        #expect(await world.ask(.post, "/emulator/transactions/\(refunded)/refund").status == 200)
        try await world.buy("member.monthly", account: "c")
        let waiting = await world.ask(
            .post, "/emulator/purchases",
            [
                "bundleId": "com.example.learnpoints", "productId": "com.example.learnpoints.library",
                "outcome": "deferred",
            ]
        ).json["transactionId"]?.string
        let other = await world.ask(
            .post, "/emulator/purchases",
            [
                "bundleId": "com.example.learnpoints", "productId": "com.example.learnpoints.library",
                "outcome": "deferred", "account": "b",
            ]
        ).json["transactionId"]?.string
        #expect(await world.ask(.post, "/emulator/transactions/\(waiting ?? "")/approve").status == 200)
        #expect(await world.ask(.post, "/emulator/transactions/\(other ?? "")/decline").status == 200)
        let state = await world.ask(.get, "/emulator/state").json
        #expect(state["accounts"] == 3)
        #expect(
            state["transactions"] == [
                "total": 5, "unfinished": 3, "refunded": 1, "byState": ["purchased": 4, "declined": 1],
                "byType": ["Consumable": 2, "Non-Consumable": 2, "Auto-Renewable Subscription": 1],
            ])
        #expect(state["subscriptions"] == ["total": 1, "byState": ["active": 1]])
        #expect(state["notifications"]?["pending"] == 5 && state["notifications"]?["failed"] == 0)
        #expect(state["clock"]?["now"] == state["now"] && state["clock"]?["stopped"] == false)
        let counted = try await world.database.read { connection in
            try connection.query(
                """
                SELECT count(*) AS count, count(*) FILTER (WHERE finished = 0 \
                AND state = 'purchased') AS count_2, count(revoked_at) AS count_2_2 FROM transactions
                """, []
            ) { [$0.integer("count"), $0.integer("count_2"), $0.integer("count_2_2")] }
        }
        #expect(counted == [[5, 3, 1]])
        // A deleted transaction is no longer counted.
        _ = try await world.database.write { connection in
            try connection.execute("DELETE FROM transactions WHERE state = 'declined'", [])
        }
        let less = await world.ask(.get, "/emulator/state").json["transactions"]
        #expect(less?["total"] == 4 && less?["byState"] == ["purchased": 4])
        await world.remove()
    }
}
