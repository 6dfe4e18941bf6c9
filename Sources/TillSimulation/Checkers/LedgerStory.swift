import TillBilling
import TillLedger
import TillSQL

/// What the ledger tells of each purchase by itself: the moves of orders, and the evidence of every decision.
enum LedgerStory {
    static func lines(_ session: any Connection) throws -> [Story.Line] {
        try moves(session) + evidence(session)
    }

    private static func moves(_ session: any Connection) throws -> [Story.Line] {
        try session.query(
            """
            SELECT m.at, m.status, m.reason, o.id, o.user, o.product FROM order_moves m \
            JOIN orders o ON o.sequence = m.order_sequence ORDER BY m.order_sequence, m.number
            """, []
        ) { row in
            let id = UniqueID(bytes: row.blob(3))?.description ?? ""
            let status = OrderStatus(rawValue: Int(row.integer(1)))?.name ?? ""
            return Story.Line(
                at: Instant(milliseconds: row.integer(0)), who: "ledger",
                text: "order \(id) of \(row.text(4)) for \(row.text(5)) is \(status): \(row.text(2))",
                about: ["order \(id)", "user \(row.text(4))"])
        }
    }

    private static func evidence(_ session: any Connection) throws -> [Story.Line] {
        try session.query(
            """
            SELECT e.at, t.id, e.decision, e.ground, e.door, e.caller FROM evidence e \
            JOIN transactions t ON t.sequence = e.transaction_sequence ORDER BY e.sequence
            """, []
        ) { row in
            Story.Line(
                at: Instant(milliseconds: row.integer(0)), who: "ledger",
                text:
                    "transaction \(row.text(1)) is \(row.text(2)) by \(row.text(3)), brought by \(row.text(5)) through "
                    + "the door \(row.text(4))",
                about: ["transaction \(row.text(1))"])
        }
    }
}
