import Testing
import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillTestDatabases

@Suite(
    "Rows that are never edited hold no names",
    .enabled(if: LedgerDatabase.isSQLite, "\(LedgerDatabase.sqliteOnly)"))
struct NamelessRowsJourneys {
    /// Tables whose rows are deleted within days: waiting proofs and receipts, and repeated answers.
    private static let passing: Set<Substring> = ["saved_proofs", "waiting_proofs", "idempotency_keys"]

    /// The tables that contain a text, one line per row, read by the `sqlite3` program.
    private static func tables(with text: String, in shop: Shop) async throws -> [Substring] {
        let file = try await shop.ledger.read { connection in
            try connection.first("SELECT file FROM pragma_database_list WHERE name = 'main'", []) { $0.text("file") }
        }
        let process = try TillProcess.start(
            ["-readonly", try #require(file), ".dump"], executable: "/usr/bin/sqlite3")
        let (dump, code) = await process.finish()
        #expect(code == 0, "\(process.complaints)")
        let rows = dump.split(separator: "\n").filter { $0.hasPrefix("INSERT INTO ") }
        #expect(rows.count > 30, "\(dump.prefix(400))")
        return rows.filter { $0.contains(text) }.compactMap { $0.split(separator: " ").dropFirst(2).first }
            .map { $0.prefix { $0 != "(" } }.filter { !passing.contains($0) }
    }

    @Test("A customer's name is in exactly one row after any events, and the ledger works on when that row is edited")
    func oneRow() async throws {
        try await CloudShop.open(.socket) { shop in
            shop.willChangeRows()
            let (name, guest) = ("zaphod-beeblebrox", "guest-trillian")
            let first = try await shop.buyPlan("points60", as: name)
            try await shop.buyPlan("premium_monthly_auto", as: guest)
            #expect(try await shop.merge(guest, into: name).status == 201)
            _ = try await shop.send(
                .post, "/v1/users/\(name)/wallet/debits",
                ["currency": "points", "amount": 20, "reference": "chapter 1"])
            _ = try await shop.send(.put, "/v1/users/\(name)/consents/consumption", ["given": true], as: .user(name))
            _ = try await shop.submit("no proof at all", as: .user(name))
            let strangers = try await shop.pay(token: nil)
            _ = try await shop.submit(strangers.signed, as: .user(name))
            #expect(try await shop.refund(first, by: name)["outcome"].text == "revoked")
            let moved = try await shop.send(.get, "/v1/users/\(name)/wallet/postings?limit=100")["data"].list.count
            #expect(moved >= 3)

            #expect(try await Self.tables(with: name, in: shop) == ["customers"])
            #expect(try await Self.tables(with: guest, in: shop) == ["customers"])

            // To erase the person one row is edited; every balance, right and event stays, without the name.
            _ = try await shop.ledger.write { connection in
                try connection.execute(
                    "UPDATE customers SET user_id = ?1, erased_at = 1 WHERE user_id = ?2",
                    [.text("erased-1"), .text(name)])
            }
            #expect(try await Self.tables(with: name, in: shop).isEmpty)
            let left = try await shop.send(.get, "/v1/users/erased-1/wallet/postings?limit=100")["data"].list.count
            #expect(left == moved)
            #expect(try await shop.send(.get, "/v1/events?user=erased-1&limit=100")["data"].list.count > 3)
        }
    }
}
