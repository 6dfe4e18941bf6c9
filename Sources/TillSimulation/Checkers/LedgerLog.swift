import TillBilling
import TillLedger
import TillSQL

/// The ledger's part of the trace: the moves of orders, and the evidence of every decision.
enum LedgerLog {
    static func lines(_ connection: any Connection) throws -> [EventLog.Line] {
        try moves(connection) + evidence(connection)
    }

    private static func moves(_ connection: any Connection) throws -> [EventLog.Line] {
        try connection.query(
            """
            SELECT m.at, m.status, m.reason, o.id, \(user: "o.customer_id") AS user_id, o.product FROM order_moves m \
            JOIN orders o ON o.row_id = m.order_row_id ORDER BY m.order_row_id, m.number
            """, []
        ) { row in
            let id = UniqueID(bytes: row.blob("id"))?.description ?? ""
            let status = OrderStatus(rawValue: Int(row.integer("status")))?.name ?? ""
            return EventLog.Line(
                at: Instant(milliseconds: row.integer("at")), who: "ledger",
                text:
                    "order \(id) of \(row.text("user_id")) for "
                    + "\(row.text("product")) is \(status): \(row.text("reason"))",
                about: ["order \(id)", "user \(row.text("user_id"))"])
        }
    }

    private static func evidence(_ connection: any Connection) throws -> [EventLog.Line] {
        try connection.query(
            """
            SELECT e.at, t.id, e.decision, e.ground, e.source, \(caller: "e") FROM evidence e \
            JOIN transactions t ON t.row_id = e.transaction_row_id ORDER BY e.row_id
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
