import TillBilling
import TillClient
import TillLedger
import TillSQL
import TillServer

// The conditions after all faults are over.

extension Auditor {
    /// Checks the final state, days after the last fault.
    func check(_ ledger: any Database, _ backend: Backend, _ receiver: WebhookReceiver) async {
        isOver = true
        await look(ledger)
        await check(backend, ledger)
        await check(receiver, ledger)
        guard let snapshot = try? await ledger.read({ try LedgerSnapshot($0) }),
            let sold = try? await apple.transactions()
        else { return complain(.stuck, "the ledger can't be read", about: []) }
        let bought = Dictionary(sold.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for sale in sold where sale.isPaid { check(sale, snapshot[sale.id], bought) }
        await checkQueues(ledger)
    }

    private func check(
        _ sale: AppleHost.StoreSale, _ entry: LedgerSnapshot.Entry?, _ bought: [String: AppleHost.StoreSale]
    ) {
        var about = ["transaction \(sale.id)"]
        if let token = sale.token { about.append("order \(token.lowercased())") }
        let owner = groundTruth.owner(of: sale, in: bought)
        if let owner { about.append("user \(owner)") }
        guard let entry else {
            return complain(.lost, "\(sale.id) of \(owner ?? "no owner") (\(sale.product)) never arrived", about: about)
        }
        if sale.revokedAt != nil {
            if entry.state != 3 {
                complain(.drift, "\(sale.id) was refunded at Apple, but not in the ledger", about: about)
            }
            if entry.sum != 0 {
                complain(.unbalanced, "\(sale.id) was refunded, and \(entry.sum) points are left of it", about: about)
            }
            return
        }
        if entry.state == 3 {
            return complain(.drift, "\(sale.id) is refunded in the ledger, but not at Apple", about: about)
        }
        let isSold = SimulatedShop.catalog[ProductID(sale.product)] != nil
        if entry.grantUser == nil, isSold, owner != nil {
            complain(.lost, "\(sale.id) of \(owner ?? "no owner") (\(sale.product)) is not granted", about: about)
        }
        if !sale.isFinished, entry.grantUser != nil, !sale.isRenewal {
            complain(.stuck, "\(sale.id) is granted, and still in the store's queue", about: about)
        }
    }

    /// Every answered debit was recorded once, and no other debit exists.
    private func check(_ backend: Backend, _ ledger: any Database) async {
        let taken = try? await ledger.read { connection in
            try connection.query(
                """
                SELECT reference, \(user: "postings.customer_id") AS user_id, -amount AS points, kind FROM postings \
                WHERE grant_row_id IS NULL AND kind <> 'moved'
                """, []
            ) {
                (
                    reference: $0.text("reference"), user: $0.text("user_id"), amount: $0.integer("points"),
                    kind: $0.text("kind")
                )
            }
        }
        guard let taken else { return }
        for (group, spent, paid) in backend.overspent {
            complain(
                .stolen, "\(group.joined(separator: ", ")) spent \(spent) points, and paid for \(paid)",
                about: group.map { "user \($0)" })
        }
        for reference in backend.answered.sorted() where !taken.contains(where: { $0.reference == reference }) {
            complain(.forgotten, "the debit \(reference) was confirmed, but is missing", about: [reference])
        }
        for debit in taken {
            let asked = backend.asked[debit.reference]
            let isAskedFor = asked.map { $0.user.utf8.elementsEqual(debit.user.utf8) } ?? false
            if debit.kind != "debit" || !isAskedFor || asked?.amount != debit.amount {
                complain(
                    .grantedTwice, "\(-debit.amount) points of \(debit.user) have no source (\(debit.kind))",
                    about: ["user \(debit.user)", debit.reference])
            }
        }
    }

    /// No phone waits for an order that is completed.
    func check(_ owner: PhoneUser) {
        // Unknown products stay unclaimed until the catalogue contains them.
        for order in owner.waiting where SimulatedShop.catalog[order.product] != nil {
            let id = order.orderID
            // After Apple lost a token, another customer of the Apple Account may own the purchase; the buyer is then
            // told so.
            if order.sentence == PendingReason.completedElsewhere.sentence, let paid = order.transactionID,
                let grantee = grantees[paid], grantee != groundTruth.orders[id]?.user
            {
                continue
            }
            let paid = order.transactionID.map { ", paid by \($0)" } ?? ""
            let note = order.note(in: "en").map { ": \($0)" } ?? ""
            complain(
                .stuck, "\(owner.phone.name) still waits for order \(id) (\(order.productID)\(paid))\(note)",
                about: ["order \(id)"] + (order.transactionID.map { ["transaction \($0)"] } ?? []))
        }
    }

    func check(_ comparison: LedgerComparison) {
        for difference in comparison.differences where difference.kind.isDrift {
            complain(.drift, "the ledger differs from Apple: \(difference)", about: ["\(difference)"])
        }
    }

    /// The app's backend received every event once, and its sums agree with the ledger.
    private func check(_ receiver: WebhookReceiver, _ ledger: any Database) async {
        for complaint in receiver.complaints { complain(.eventMismatch, complaint, about: [complaint]) }
        let told = try? await ledger.read { connection in
            (
                try connection.first("SELECT count(*) AS count FROM outbox", []) { $0.integer("count") } ?? 0,
                try connection.query(
                    """
                    SELECT \(user: "postings.customer_id") AS user_id, sum(amount) AS sum FROM postings WHERE \
                    grant_row_id IS NOT NULL AND kind <> 'moved' AND currency = 'points' GROUP BY customer_id
                    """, []
                ) { ($0.text("user_id"), $0.integer("sum")) }
            )
        }
        guard let (events, sums) = told else { return }
        if receiver.received.count != events {
            complain(
                .eventMismatch, "\(events) events, of which the receiver got \(receiver.received.count)",
                about: ["events"])
        }
        for (user, sum) in sums where receiver.points[user, default: 0] != sum {
            complain(
                .eventMismatch,
                "\(user) has \(sum) points of purchases, and the backend was notified of "
                    + "\(receiver.points[user, default: 0])", about: ["user \(user)"])
        }
    }

    private func checkQueues(_ ledger: any Database) async {
        let waiting = try? await ledger.read { connection in
            try connection.query(
                """
                SELECT 'notifications' AS place, count(*) AS count FROM notifications WHERE state = 0 \
                UNION ALL SELECT 'receipts', count(*) FROM waiting_proofs UNION ALL SELECT 'saved proofs', count(*) \
                FROM saved_proofs UNION ALL SELECT 'apple_tasks', count(*) FROM apple_tasks WHERE state = 0
                """, []
            ) { ($0.text("place"), $0.integer("count")) }
        }
        for (queue, count) in waiting ?? [] where count > 0 {
            complain(.stuck, "\(count) \(queue) still wait", about: [queue])
        }
    }
}
