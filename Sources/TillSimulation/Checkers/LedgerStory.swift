import TillBilling
import TillLedger
import TillSQL

/// The ledger's part of the trace: the moves of orders, and the evidence of every decision.
enum LedgerStory {
    static func lines(_ session: any Connection) throws -> [Story.Line] {
        try moves(session) + evidence(session)
    }

    private static func moves(_ session: any Connection) throws -> [Story.Line] {
        try session.query(
            """
            SELECT m.at, m.status, m.reason, o.id, \(user: "o.customer_id") AS user_id, o.product FROM order_moves m \
            JOIN orders o ON o.sequence = m.order_sequence ORDER BY m.order_sequence, m.number
            """, []
        ) { row in
            let id = UniqueID(bytes: row.blob("id"))?.description ?? ""
            let status = OrderStatus(rawValue: Int(row.integer("status")))?.name ?? ""
            return Story.Line(
                at: Instant(milliseconds: row.integer("at")), who: "ledger",
                text:
                    "order \(id) of \(row.text("user_id")) for "
                    + "\(row.text("product")) is \(status): \(row.text("reason"))",
                about: ["order \(id)", "user \(row.text("user_id"))"])
        }
    }

    private static func evidence(_ session: any Connection) throws -> [Story.Line] {
        try session.query(
            """
            SELECT e.at, t.id, e.decision, e.ground, e.door, \(caller: "e") FROM evidence e \
            JOIN transactions t ON t.sequence = e.transaction_sequence ORDER BY e.sequence
            """, []
        ) { row in
            Story.Line(
                at: Instant(milliseconds: row.integer("at")), who: "ledger",
                text:
                    "transaction \(row.text("id")) is \(row.text("decision")) by "
                    + "\(row.text("ground")), brought by \(CallerColumns.name(row) ?? "") through "
                    + "the door \(row.text("door"))",
                about: ["transaction \(row.text("id"))"])
        }
    }
}
