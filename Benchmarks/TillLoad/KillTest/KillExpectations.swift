import TillAppStore
import TillBilling
import TillLedger
import TillSQL
import TillSQLite

/// The expected contents of the ledger, and the comparison with the actual ones.
struct KillExpectations {
    /// Every purchase that was attempted: all of them were completed in the end.
    private(set) var granted: Set<Int> = []
    private(set) var spent: Set<Int> = []

    mutating func note(_ buyer: Buyer) {
        granted.insert(buyer.number)
        if buyer.manner == .spender { spent.insert(buyer.number) }
    }

    /// Reads the ledger's file after the last server has ended, and checks: one grant for each purchase, with its
    /// points and one event; one debit for each reference; balances that equal their postings; and an intact file.
    func close(_ ledger: String) async throws -> Buyer.Findings {
        let database = try SQLiteDatabase.open(path: ledger, role: .operator, options: .init(.ledger))
        let findings = try await database.read { connection in
            var findings = Buyer.Findings()
            let grants = try connection.query(
                "SELECT t.id FROM grants g JOIN transactions t ON t.row_id = g.transaction_row_id", []
            ) { $0.text("id") }
            compare(grants, with: granted.map(LoadIssuer.transactionID), "grant of", &findings)
            let debits = try connection.query("SELECT reference FROM postings WHERE kind = 'debit'", []) {
                $0.text("reference")
            }
            compare(debits, with: spent.map { "debit-\($0)" }, "debit", &findings)
            try comparePoints(connection, &findings)
            try compareCounts(connection, &findings)
            findings.faults += try LedgerTable(connection).unbalanced().map { "balance of \($0)" }
            findings.faults += try connection.query("PRAGMA foreign_key_check", []) {
                "foreign key of \($0.text("foreign_key_check"))"
            }
            findings.faults += try connection.query("PRAGMA integrity_check", []) { $0.text("integrity_check") }.filter
            {
                $0 != "ok"
            }
            return findings
        }
        await database.close()
        return findings
    }

    private func compare(
        _ found: [String], with expected: [String], _ what: String, _ findings: inout Buyer.Findings
    ) {
        let expected = Set(expected)
        var seen: Set<String> = []
        for name in found {
            if !seen.insert(name).inserted { findings.twice.append("\(what) \(name)") }
            if !expected.contains(name) { findings.faults.append("\(what) \(name): it was never requested") }
        }
        findings.lost += expected.subtracting(seen).sorted().map { "\(what) \($0)" }
    }

    private func comparePoints(_ connection: any Connection, _ findings: inout Buyer.Findings) throws {
        var expected: [String: Int64] = [:]
        for number in granted { expected[LoadSet.user(number), default: 0] += LoadSet.pointsEach }
        for number in spent { expected[LoadSet.user(number), default: 0] -= Buyer.debitEach }
        let found = try connection.query(
            """
            SELECT \(user: "postings.customer_id") AS user_id, sum(amount) AS sum FROM postings GROUP BY customer_id
            """, []
        ) {
            (user: $0.text("user_id"), points: $0.integer("sum"))
        }
        for (user, points) in found {
            let due = expected.removeValue(forKey: user) ?? 0
            let sentence = "\(user) has \(points) points and should have \(due)"
            if points > due { findings.twice.append(sentence) }
            if points < due { findings.lost.append(sentence) }
        }
        findings.lost += expected.keys.map { "all points of \($0)" }
    }

    /// Checks the records that must be committed together.
    private func compareCounts(_ connection: any Connection, _ findings: inout Buyer.Findings) throws {
        func count(_ sql: SQL) throws -> Int { Int(try connection.first(sql, []) { $0.integer("count") } ?? 0) }
        let counts = [
            ("completed orders", try count("SELECT count(*) AS count FROM orders WHERE status = 1")),
            ("postings of purchases", try count("SELECT count(*) AS count FROM postings WHERE kind = 'purchase'")),
            ("events", try count("SELECT count(*) AS count FROM outbox WHERE type = 'grant.created'")),
        ]
        for (name, number) in counts where number != granted.count {
            findings.faults.append("\(number) \(name) for \(granted.count) purchases")
        }
        let pending = try count("SELECT count(*) AS count FROM notifications WHERE state <> 1")
        if pending > 0 { findings.faults.append("\(pending) notifications are not processed") }
    }
}
