import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillSQLite

/// Everything known about one transaction: the store's record, the notifications to the server, and the server's
/// records.
struct Story: Sendable {
    let transaction: String
    let control: StoreControl
    let ledger: String

    func lines() async -> [String] {
        let ofStore = (try? await store()) ?? ["the store does not answer"]
        let ofLedger = (try? await books()) ?? ["the ledger can't be read"]
        return (ofStore + ofLedger).map { "    " + $0 }
    }

    private func store() async throws -> [String] {
        var lines: [String] = []
        if var sale = try? await control.get("/emulator/transactions/\(transaction)").object {
            sale["signedTransaction"] = nil
            lines.append("store: \(JSONValue.object(sale).encoded())")
        }
        for notification in try await control.list("/emulator/notifications")
        where notification["transactionId"]?.string == transaction {
            lines.append("told: \(notification.encoded())")
        }
        return lines
    }

    private func books() async throws -> [String] {
        let database = try SQLiteDatabase.open(path: ledger, role: .operator, options: .init(.ledger))
        let id = transaction
        let lines = try await database.read { session in try Self.books(of: id, session) }
        await database.close()
        return lines
    }

    private static func books(of id: String, _ session: any Connection) throws -> [String] {
        var lines = try session.query(
            """
            SELECT sequence, state, coalesce(quarantine, '') AS quarantine, received_at, signed_at FROM transactions \
            WHERE id = ?
            """,
            [.text(id)]
        ) { row in
            "ledger: transaction \(row.integer("sequence")) in state "
                + "\(row.integer("state")) \(row.text("quarantine")), received "
                + "\(row.integer("received_at")), signed \(row.integer("signed_at"))"
        }
        lines += try session.query(
            """
            SELECT e.at, e.decision, e.ground, e.door, \(caller: "e") FROM evidence e JOIN transactions t \
            ON t.sequence = e.transaction_sequence WHERE t.id = ? ORDER BY e.sequence
            """, [.text(id)]
        ) {
            "evidence: \($0.integer("at")) \($0.text("decision")) by "
                + "\($0.text("ground")), door \($0.text("door")), \(CallerColumns.name($0) ?? "")"
        }
        lines += try session.query(
            """
            SELECT p.at, \(user: "p.customer_id") AS user_id, p.kind, p.amount, p.currency FROM postings p JOIN \
            transactions t ON t.sequence = p.grant_sequence WHERE t.id = ? ORDER BY p.sequence
            """, [.text(id)]
        ) {
            "posting: \($0.integer("at")) \($0.text("user_id")) \($0.text("kind")) "
                + "\($0.integer("amount")) \($0.text("currency"))"
        }
        lines += try session.query(
            """
            SELECT m.at, m.status, m.reason, hex(o.id) AS id, \(user: "o.customer_id") AS user_id FROM order_moves m \
            JOIN orders o ON o.sequence = m.order_sequence JOIN transactions t ON t.order_sequence = o.sequence OR \
            t.token = o.id WHERE t.id = ? ORDER BY m.number
            """, [.text(id)]
        ) {
            "order \($0.text("id")) of \($0.text("user_id")): \($0.integer("at")) to "
                + "\($0.integer("status")), \($0.text("reason"))"
        }
        return lines
    }
}
