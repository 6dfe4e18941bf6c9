import TillBilling
import TillSQL

/// Takes back what an import recorded for one customer, by reversing entries. What changes of a sealed row is recorded:
/// the transaction is set aside with its grant and its evidence, and the same purchase may come again.
struct ImportUndo {
    let processor: PurchaseProcessor
    let run: ImportRun
    let inputs: CommitInputs
    let connection: any Connection

    /// What keeps a customer's rows from being undone, with the line of the file.
    struct Kept: Sendable, Hashable {
        let line: Int64
        let subject: String
        let reason: LedgerImport.UndoPage.Reason
    }

    private var rows: ImportedRowTable { ImportedRowTable(connection) }
    private var ledger: LedgerTable { LedgerTable(connection) }

    // MARK: Touched since

    func touched(of customer: Int64, _ user: UserID) throws -> [Kept] {
        let purchases = try rows.purchases(of: run.rowID, customer: customer)
        let ids = Set(purchases.map(\.rowID))
        var kept: [Kept] = []
        var rest: [Key: Int64] = [:]
        for purchase in purchases {
            guard let stored = try TransactionTable(connection).find(rowID: purchase.rowID) else { continue }
            let grant = try grant(of: stored)
            var reason: LedgerImport.UndoPage.Reason?
            if stored.signedAt != purchase.signedAt { reason = stored.revokedAt == nil ? .updated : .refunded }
            if let grant, grant.userID != user { reason = .moved }
            if try isRenewed(stored, except: ids) { reason = .renewed }
            if let reason { kept.append(Kept(line: purchase.line, subject: stored.id.text, reason: reason)) }
            for (key, amount) in try points(of: purchase.rowID) where key.user == user {
                rest[key.ofWallet, default: 0] -= amount
            }
        }
        for balance in try corrections(of: customer, user) { rest[balance.key, default: 0] -= balance.amount }
        for (key, change) in rest.sorted(by: { $0.key.currency < $1.key.currency }) where change < 0 {
            let balance = try ledger.wallet(of: user, in: key.environment).balances[key.currency, default: 0]
            if balance + change < min(balance, 0) {
                kept.append(Kept(line: purchases.first?.line ?? 0, subject: key.currency, reason: .spent))
            }
        }
        return kept
    }

    private func isRenewed(_ stored: TransactionTable.Stored, except ids: Set<Int64>) throws -> Bool {
        guard let chain = try SubscriptionTable(connection).find(stored.originalID, in: stored.environment) else {
            return false
        }
        return try SubscriptionTable(connection).links(of: chain.rowID).contains {
            $0.hasGrant && !ids.contains($0.rowID) && $0.period.purchasedAt >= stored.purchasedAt
        }
    }

    // MARK: Undoing

    /// - Returns: how many purchases, balances and tokens were undone.
    func undo(_ customer: Int64, _ user: UserID) throws -> Int64 {
        connection.lock([.customer(user), .ledger("imports")])
        let purchases = try rows.purchases(of: run.rowID, customer: customer)
        for purchase in purchases { try setAside(purchase.rowID, ground: "import_undone") }
        for correction in try corrections(of: customer, user) {
            var posting = Posting(
                environment: correction.key.environment, userID: user, contra: .corrected,
                currency: correction.key.currency, amount: -correction.amount, kind: .correction,
                reference: ImportedRowTable.reference(run.id, "undone \(freshReference())"), at: inputs.now)
            posting.note = Posting.Note(reason: "import_undone", actor: run.actor)
            try ledger.post(posting, grant: nil)
        }
        let balances = try rows.balances(of: run.rowID, customer: customer)
        for balance in balances { try rows.undo(balance: balance.rowID, at: inputs.now) }
        let tokens = try rows.tokens(of: run.rowID, customer: customer)
        connection.lock(tokens.map { .order($0) })
        for token in tokens { try rows.remove(token, of: customer, at: inputs.now) }
        if try rows.hasReminders(customer) {
            let changed = SubscriptionChanges.Changed(user: user, environment: run.environment, originalID: nil)
            try processor.remind(about: [], and: [changed], inputs.now, connection)
        }
        return Int64(purchases.count + balances.count + tokens.count)
    }

    private func freshReference() -> String { inputs.freshID().description }

    /// Reverses one transaction, and leaves it where nothing finds it.
    func setAside(_ rowID: Int64, ground: String) throws {
        guard let stored = try TransactionTable(connection).find(rowID: rowID) else { return }
        connection.lock([.chain(stored.originalID, stored.environment)])
        for (key, amount) in try points(of: rowID).sorted(by: { $0.key.currency < $1.key.currency }) where amount != 0 {
            connection.lock([.customer(key.user)])
            var posting = Posting(
                environment: key.environment, userID: key.user, contra: .sold, currency: key.currency, amount: -amount,
                kind: .refund, reference: key.reference, at: inputs.now)
            posting.note = Posting.Note(reason: ground, actor: run.actor)
            try ledger.post(posting, grant: rowID)
        }
        try withdraw(stored.orderRowID, paidBy: stored, ground: ground)
        try GrantOwnerTable(connection).remove(rowID)
        try EvidenceTable(connection).insert(
            transaction: rowID,
            EvidenceTable.Entry(
                at: inputs.now, decision: "undone", ground: ground, source: PurchaseSource.imported.rawValue,
                caller: run.actor))
        for statement in Self.leaving { try connection.write(statement, [.integer(rowID)]) }
        try SealedChangeTable(connection).record(.transactions, rowID, at: inputs.now) {
            try connection.execute(
                """
                UPDATE transactions SET environment = ?2, state = 3, quarantine = NULL, order_row_id = NULL, token = \
                NULL WHERE row_id = ?1
                """, [.integer(rowID), .integer(-run.rowID)])
        }
        try rows.undo(rowID, at: inputs.now)
    }

    private static let leaving: [SQL] = [
        "DELETE FROM ownership_basis WHERE grant_row_id = ?1",
        "DELETE FROM subscription_periods WHERE transaction_row_id = ?1",
        """
        DELETE FROM apple_chains WHERE row_id = ?1 AND NOT EXISTS (SELECT 1 FROM apple_chains x WHERE x.customer = ?1)
        """,
    ]

    /// The order gets an id that no one knows, so that the old one is free again, and leaves its customer's lists.
    private func withdraw(_ orderRowID: Int64?, paidBy stored: TransactionTable.Stored, ground: String) throws {
        let orders = OrderTable(connection)
        guard let orderRowID, let order = try orders.find(rowID: orderRowID),
            order.order.isPaid(by: stored.id, in: stored.environment), order.order.idSource == .imported
        else { return }
        connection.lock([.order(order.order.id)])
        if let way = order.order.status.way(to: .refunded) {
            _ = try orders.move(order, along: way, at: inputs.now, reason: ground)
        }
        try SealedChangeTable(connection).record(.orders, orderRowID, at: inputs.now) {
            try connection.execute(
                "UPDATE orders SET id = ?2, transaction_id = NULL, environment = NULL WHERE row_id = ?1",
                [.integer(orderRowID), .id(inputs.freshID())])
        }
    }

    // MARK: Points

    private struct Key: Hashable {
        let user: UserID
        let environment: StoreEnvironment
        let currency: String
        let reference: String

        var ofWallet: Key { Key(user: user, environment: environment, currency: currency, reference: "") }
    }

    private func points(of rowID: Int64) throws -> [Key: Int64] {
        try ledger.postings(grantOf: rowID).map(\.posting).reduce(into: [:]) { sums, posting in
            let key = Key(
                user: posting.userID, environment: posting.environment, currency: posting.currency,
                reference: posting.reference)
            sums[key, default: 0] += posting.amount
        }
    }

    private func corrections(of customer: Int64, _ user: UserID) throws -> [(key: Key, amount: Int64)] {
        try rows.corrections(of: run.id, customer: customer).map {
            (Key(user: user, environment: $0.environment, currency: $0.currency, reference: ""), $0.amount)
        }
    }

    private func grant(of stored: TransactionTable.Stored) throws -> Grant? {
        try GrantTable(connection).find(transaction: stored.rowID)
            .map { try GrantOwnerTable(connection).present($0, of: stored.rowID) }
    }
}

extension PurchaseProcessor {
    /// Sets aside a purchase that rests on a row of an import alone, if Apple signed something else about it.
    ///
    /// - Returns: whether it did, so that the signed copy is decided as a new purchase.
    func setAsideContradicted(
        by recorder: PurchaseRecorder, _ inputs: CommitInputs, _ connection: any Connection
    ) throws -> Bool {
        guard let stored = recorder.stored, case let signed = recorder.context.submitted, !signed.isFromReceipt,
            stored.productID != signed.productID || stored.quantity != signed.quantity
                || stored.originalID != signed.originalID || stored.purchasedAt != signed.purchasedAt,
            let run = try ImportedRowTable(connection).unsignedImport(of: stored.rowID)
        else { return false }
        if stored.productID == signed.productID, stored.quantity == signed.quantity,
            stored.originalID == signed.originalID
        {
            try SealedChangeTable(connection).record(.transactions, stored.rowID, at: inputs.now) {
                try connection.execute(
                    "UPDATE transactions SET purchased_at = ?2 WHERE row_id = ?1",
                    [.integer(stored.rowID), .instant(signed.purchasedAt)])
            }
            return false
        }
        try ImportUndo(
            processor: self,
            run: ImportRun(
                rowID: run, id: inputs.freshID(), environment: stored.environment, actor: "apple",
                beganAt: inputs.now), inputs: inputs, connection: connection
        ).setAside(stored.rowID, ground: "signed_copy_differs")
        return true
    }
}
