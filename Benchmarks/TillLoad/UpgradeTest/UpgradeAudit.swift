import TillBilling
import TillLedger
import TillSQL
import TillSQLite

/// What the ledger contains after the last server has ended, compared with what was answered.
struct UpgradeAudit {
    let path: String
    let schema: DatabaseSchema

    /// Returns what is wrong: answered grants that are missing or there twice, balances that differ from their
    /// postings, rows that the backfill left out.
    func findings(answered: [Int]) async throws -> [String] {
        let ledger = try SQLiteDatabase.open(path: path, role: .operator, options: .init(schema))
        let hasBackfill = schema.hasBackfills
        let findings = try await ledger.read { connection in
            var findings = try grants(answered, connection)
            findings += try LedgerTable(connection).unbalanced().map { "balance of \($0)" }
            if hasBackfill {
                let left = try connection.first(
                    "SELECT count(*) AS count FROM orders WHERE milliunits IS NOT price * 10", []
                ) { $0.integer("count") }
                if left != 0 { findings.append("\(left ?? -1) orders were not filled") }
            }
            return findings
        }
        await ledger.close()
        return findings
    }

    private func grants(_ answered: [Int], _ connection: any Connection) throws -> [String] {
        var found: [String: Int64] = [:]
        let rows = try connection.query(
            """
            SELECT t.id, count(*) AS count, sum(p.amount) AS points FROM transactions t \
            JOIN grants g ON g.transaction_row_id = t.row_id JOIN postings p ON p.grant_row_id = g.transaction_row_id \
            WHERE t.id >= '2000000600000000' AND t.id < '2000000700000000' GROUP BY t.id
            """, []
        ) { (id: $0.text("id"), count: $0.integer("count"), points: $0.integer("points")) }
        var findings: [String] = []
        for row in rows {
            found[row.id] = row.count
            if row.count != 1 || row.points != LoadSet.pointsEach {
                findings.append("transaction \(row.id): \(row.count) grants, \(row.points) points")
            }
        }
        findings += answered.map(LoadIssuer.transactionID).filter { found[$0] == nil }.map {
            "transaction \($0) was answered as granted and is not in the ledger"
        }
        return findings
    }

    /// How many rows the backfill still has to fill; nil if the file is of another release.
    func remaining() async throws -> Int64? {
        guard let ledger = try? SQLiteDatabase.open(path: path, role: .operator, options: .init(schema)) else {
            return nil
        }
        let rows = try await Backfills(ledger, schema).remaining().reduce(0) { $0 + $1.rows }
        await ledger.close()
        return rows
    }
}
