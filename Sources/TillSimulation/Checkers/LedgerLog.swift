import TillBilling
import TillLedger
import TillSQL

/// The ledger's part of the trace: the moves of orders, and the evidence of every decision.
enum LedgerLog {
    static func lines(_ connection: any Connection) throws -> [EventLog.Line] {
        try moves(connection) + evidence(connection)
    }

    private static func moves(_ connection: any Connection) throws -> [EventLog.Line] {
        let orders = OrderTable(connection)
        return try orders.list(status: nil, before: .max, limit: .max).reversed().flatMap { stored in
            let order = stored.order
            return try orders.moves(of: stored).map { move in
                EventLog.Line(
                    at: move.at, who: "ledger",
                    text:
                        "order \(order.id) of \(order.userID.text) for \(order.productID.text) is "
                        + "\(move.status.name): \(move.reason)",
                    about: ["order \(order.id)", "user \(order.userID.text)"])
            }
        }
    }

    private static func evidence(_ connection: any Connection) throws -> [EventLog.Line] {
        try connection.query(
            """
            SELECT e.at, t.id, e.decision, e.ground, e.source, \(caller: "e") FROM (SELECT g.transaction_row_id, 0 \
            AS row_id, \(GrantDecision.columns) FROM grants g JOIN grant_decisions d ON d.number = g.decision UNION \
            ALL SELECT transaction_row_id, row_id, at, decision, ground, source, detail, caller_kind, \
            caller_customer_id, caller_key FROM evidence) AS e JOIN transactions t ON t.row_id = \
            e.transaction_row_id ORDER BY e.at, e.row_id
            """, []
        ) { row in
            EventLog.Line(
                at: Instant(milliseconds: row.integer("at")), who: "ledger",
                text:
                    "transaction \(row.text("id")) is \(row.text("decision")) by "
                    + "\(row.text("ground")), brought by \(CallerColumns.name(row) ?? "") through "
                    + "the source \(row.text("source"))",
                about: ["transaction \(row.text("id"))"])
        }
    }
}
