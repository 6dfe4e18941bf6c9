import TillBilling
import TillSQL

/// The ledger's records of purchases that went to another user than the payer: moves, and completed orders.
struct OwnerChanges: Sendable {
    struct Transfer: Sendable {
        let from: String
        let to: String
        let kind: String
    }

    struct Order: Sendable {
        let id: String
        let user: String
        let transaction: String
    }

    let transfers: [Transfer]
    let completed: [Order]
    /// References of moved points whose sum is not zero.
    let uneven: [String]

    init(_ connection: any Connection) throws {
        transfers = try connection.query(
            """
            SELECT \(user: "f.from_customer_id") AS from_user, \(user: "f.to_customer_id") AS to_user, f.kind \
            FROM transfers f ORDER BY f.row_id
            """, []
        ) {
            Transfer(from: $0.text("from_user"), to: $0.text("to_user"), kind: $0.text("kind"))
        }
        completed = try connection.query(
            """
            SELECT id, \(user: "orders.customer_id") AS user_id, transaction_id FROM orders WHERE status = 1 AND \
            transaction_id IS NOT NULL
            """, []
        ) {
            Order(
                id: UniqueID(bytes: $0.blob("id"))?.description ?? "", user: $0.text("user_id"),
                transaction: $0.text("transaction_id"))
        }
        uneven = try connection.query(
            "SELECT reference FROM postings WHERE kind = 'moved' GROUP BY reference HAVING sum(amount) <> 0", []
        ) { $0.text("reference") }
    }
}

extension Auditor {
    /// No purchase of an honest customer goes to a thief, and no order of a thief is completed by another's payment.
    func check(_ ownerChanges: OwnerChanges, against bought: [String: AppleHost.StoreSale]) {
        for transfer in ownerChanges.transfers where isThief(transfer.to) && !isThief(transfer.from) {
            if mayMove, transfer.kind == "restore" { continue }
            complain(
                .stolen, "the purchases of \(transfer.from) were moved to \(transfer.to) (\(transfer.kind))",
                about: ["user \(transfer.from)", "user \(transfer.to)"])
        }
        for order in ownerChanges.completed where isThief(order.user) {
            guard let sale = bought[order.transaction], let owner = groundTruth.owner(of: sale, in: bought),
                !isThief(owner), !mayBeLent
            else { continue }
            complain(
                .stolen, "order \(order.id) of \(order.user) is completed by \(order.transaction) of \(owner)",
                about: ["order \(order.id)", "transaction \(order.transaction)"])
        }
        // A purchase withdrawn into quarantine is pending until it is claimed.
        for reference in isOver ? ownerChanges.uneven : [] {
            complain(.unbalanced, "points moved by \(reference) have no recipient", about: [reference])
        }
    }
}
