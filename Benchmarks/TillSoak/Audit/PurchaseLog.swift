import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillTestDatabases

/// Everything known about one transaction: the store's record, the notifications to the server, and the server's
/// records.
struct PurchaseLog: Sendable {
    let transaction: String
    let control: StoreControl
    let ledger: LedgerPlace

    func lines() async -> [String] {
        let ofStore = (try? await store()) ?? ["the store does not answer"]
        let ofLedger = (try? await contents()) ?? ["the ledger can't be read"]
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

    private func contents() async throws -> [String] {
        let id = transaction
        return try await ledger.opened(.operator) { database in
            try await database.read { connection in try Self.contents(of: id, connection) }
        }
    }

    /// The server's records.
    static func contents(of id: String, _ connection: any Connection) throws -> [String] {
        var lines = try connection.query(
            """
            SELECT row_id, state, coalesce(quarantine, '') AS quarantine, received_at, signed_at FROM transactions \
            WHERE id = ?1
            """,
            [.text(id)]
        ) { row in
            "ledger: transaction \(row.integer("row_id")) in state "
                + "\(row.integer("state")) \(row.text("quarantine")), received "
                + "\(row.integer("received_at")), signed \(row.integer("signed_at"))"
        }
        lines += try connection.query(
            """
            SELECT e.at, e.decision, e.ground, e.source, \(caller: "e") FROM (SELECT g.transaction_row_id, 0 AS \
            row_id, \(GrantDecision.columns) FROM transactions t JOIN grants g ON g.transaction_row_id = t.row_id \
            JOIN grant_decisions d ON d.number = g.decision WHERE t.id = ?1 UNION ALL SELECT e.transaction_row_id, \
            e.row_id, e.at, e.decision, e.ground, e.source, e.detail, e.caller_kind, e.caller_customer_id, \
            e.caller_key FROM transactions t JOIN evidence e ON e.transaction_row_id = t.row_id WHERE t.id = ?1) AS \
            e ORDER BY e.row_id
            """, [.text(id)]
        ) {
            "evidence: \($0.integer("at")) \($0.text("decision")) by "
                + "\($0.text("ground")), source \($0.text("source")), \(CallerColumns.name($0) ?? "")"
        }
        lines += try connection.query(
            """
            SELECT p.at, \(user: "p.customer_id") AS user_id, p.kind, p.amount, p.currency FROM postings p JOIN \
            transactions t ON t.row_id = p.grant_row_id WHERE t.id = ?1 ORDER BY p.row_id
            """, [.text(id)]
        ) {
            "posting: \($0.integer("at")) \($0.text("user_id")) \($0.text("kind")) "
                + "\($0.integer("amount")) \($0.text("currency"))"
        }
        let orders = try connection.query(
            """
            SELECT o.id FROM orders o JOIN transactions t ON t.order_row_id = o.row_id OR t.token = o.id \
            WHERE t.id = ?1
            """, [.text(id)]
        ) { UniqueID(bytes: $0.blob("id")) }
        let table = OrderTable(connection)
        for case let orderID? in orders {
            guard let order = try table.find(orderID) else { continue }
            let name = "order \(orderID) of \(order.order.userID.text)"
            lines += try table.moves(of: order).map {
                "\(name): \($0.at.milliseconds) to \($0.status.name), \($0.reason)"
            }
        }
        return lines
    }
}
