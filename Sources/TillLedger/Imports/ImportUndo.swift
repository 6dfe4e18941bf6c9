import TillBilling
import TillSQL

/// Takes back what an import recorded for some customers, by reversing entries. What changes of a sealed row is
/// recorded: the transaction is set aside with its grant and its evidence, and the same purchase may come again.
struct ImportUndo {
    let processor: PurchaseProcessor
    let run: ImportRun
    let inputs: CommitInputs
    let connection: any Connection

    typealias Customer = ImportUndoFacts.Customer
    typealias Purchase = ImportUndoFacts.Purchase
    typealias Kept = LedgerImport.UndoPage.Kept

    private var rows: ImportedRowTable { ImportedRowTable(connection) }
    private var facts: ImportUndoFacts { ImportUndoFacts(connection) }

    // MARK: Customers

    /// What became of customers.
    struct Outcome: Sendable {
        /// The purchases, balances and tokens that were undone.
        var undone: Int64 = 0
        /// What was touched since, whose customers keep everything.
        var kept: [Kept] = []
    }

    /// What would be undone. Writes nothing.
    func check(_ customers: [Int64], isForced: Bool) throws -> Outcome {
        try facts.customers(customers, of: run).reduce(into: Outcome()) { outcome, customer in
            let kept = isForced ? [] : touched(of: customer)
            outcome.kept += kept
            if kept.isEmpty { outcome.undone += Int64(customer.count) }
        }
    }

    /// Ends as if each customer was undone by itself, in this order.
    func undo(_ customers: [Int64], isForced: Bool) throws -> Outcome {
        connection.lock([.ledger("imports")])
        var (outcome, rest) = (Outcome(), customers[...])
        while !rest.isEmpty {
            let all = try facts.customers(Array(rest), of: run)
            connection.lock(Array(all.reduce(into: Set()) { $0.formUnion($1.keys) }))
            let next = all.prefix(ImportUndoFacts.apart(all))
            var undone: [Customer] = []
            for customer in next {
                let kept = isForced ? [] : touched(of: customer)
                outcome.kept += kept
                guard kept.isEmpty else { continue }
                undone.append(customer)
                outcome.undone += Int64(customer.count)
            }
            try undo(undone)
            rest = next.last.map { last in rest.drop { $0 <= last.id } } ?? []
        }
        return outcome
    }

    /// What keeps a customer's rows from being undone, with the line of the file.
    private func touched(of customer: Customer) -> [Kept] {
        let ids = Set(customer.purchases.map(\.row.rowID))
        var kept: [Kept] = []
        func keep(_ line: Int64, _ subject: String, _ reason: LedgerImport.UndoPage.Reason) {
            kept.append(Kept(user: customer.user, line: line, subject: subject, reason: reason))
        }
        var rest: [ImportUndoFacts.Wallet: Int64] = [:]
        for (row, purchase) in customer.purchases {
            let stored = purchase.stored
            var reason: LedgerImport.UndoPage.Reason?
            if stored.signedAt != row.signedAt { reason = stored.revokedAt == nil ? .updated : .refunded }
            if let owner = purchase.owner, owner != customer.id { reason = .moved }
            let isRenewed = purchase.links.contains {
                $0.hasGrant && !ids.contains($0.rowID) && $0.period.purchasedAt >= stored.purchasedAt
            }
            if isRenewed { reason = .renewed }
            if let reason { keep(row.line, stored.id.text, reason) }
            for points in purchase.points where points.customer == customer.id {
                let wallet = ImportUndoFacts.Wallet(environment: points.environment, currency: points.currency)
                rest[wallet, default: 0] -= points.amount
            }
        }
        for (wallet, amount) in customer.corrections { rest[wallet, default: 0] -= amount }
        for (wallet, change) in rest.sorted(by: { $0.key.currency < $1.key.currency }) where change < 0 {
            let balance = customer.wallets[wallet] ?? 0
            if balance + change < min(balance, 0) {
                keep(customer.purchases.first?.row.line ?? 0, wallet.currency, .spent)
            }
        }
        return kept
    }

    private func undo(_ customers: [Customer]) throws {
        guard !customers.isEmpty else { return }
        var postings: [Entry] = []
        for customer in customers {
            for (_, purchase) in customer.purchases { postings += reversal(of: purchase, ground: "import_undone") }
            for (wallet, amount) in customer.corrections {
                var posting = Posting(
                    environment: wallet.environment, userID: customer.user, contra: .corrected,
                    currency: wallet.currency, amount: -amount, kind: .correction,
                    reference: ImportedRowTable.reference(run.id, "undone \(inputs.freshID())"), at: inputs.now)
                posting.note = Posting.Note(reason: "import_undone", actor: run.actor)
                postings.append((posting, customer.id, nil))
            }
        }
        try setAside(customers.flatMap { $0.purchases.map(\.purchase) }, posting: postings, ground: "import_undone")
        try rows.undo(balances: customers.flatMap(\.balances), at: inputs.now)
        for customer in customers {
            for token in customer.tokens { try rows.remove(token, of: customer.id, at: inputs.now) }
        }
        for customer in customers where customer.hasReminders {
            let changed = SubscriptionChanges.Changed(
                user: customer.user, environment: run.environment, originalID: nil)
            try processor.remind(about: [], and: [changed], inputs.now, connection)
        }
    }

    // MARK: Purchases

    private typealias Entry = (posting: Posting, customer: Int64, grant: Int64?)

    /// Reverses one transaction, and leaves it where nothing finds it.
    func setAside(_ rowID: Int64, ground: String) throws {
        guard let purchase = try facts.purchases([rowID])[rowID] else { return }
        connection.lock(purchase.keys)
        try setAside([purchase], posting: reversal(of: purchase, ground: ground), ground: ground)
    }

    private func reversal(of purchase: Purchase, ground: String) -> [Entry] {
        purchase.points.filter { $0.amount != 0 }.map { points in
            var posting = Posting(
                environment: points.environment, userID: points.user, contra: .sold, currency: points.currency,
                amount: -points.amount, kind: .refund, reference: "", at: inputs.now)
            posting.note = Posting.Note(reason: ground, actor: run.actor)
            return (posting, points.customer, purchase.stored.rowID)
        }
    }

    /// Table by table, so that a driver can send the rows of a table together.
    private func setAside(_ purchases: [Purchase], posting entries: [Entry], ground: String) throws {
        let ids = purchases.map(\.stored.rowID)
        let withdrawn = purchases.compactMap(\.withdrawn)
        let changed = [
            SealedChangeTable.Changed(stream: .orders, rowIDs: withdrawn.map(\.rowID)),
            SealedChangeTable.Changed(stream: .transactions, rowIDs: ids),
        ]
        try SealedChangeTable(connection).record(changed, at: inputs.now) {
            try LedgerTable(connection).post(entries)
            try OrderTable(connection).withdraw(
                withdrawn.map { ($0, inputs.freshID()) }, at: inputs.now, reason: ground)
            for rowID in ids {
                try EvidenceTable(connection).insert(
                    transaction: rowID,
                    EvidenceTable.Entry(
                        at: inputs.now, decision: "undone", ground: ground, source: PurchaseSource.imported.rawValue,
                        caller: run.actor))
            }
            for (rowID, chain) in zip(ids, purchases.map(\.chain)) {
                guard let chain else { continue }
                try connection.write(
                    "DELETE FROM subscription_periods WHERE subscription_row_id = ?1 AND transaction_row_id = ?2",
                    [.integer(chain), .integer(rowID)])
            }
            let lists = IDLists.of(ids)
            for list in lists {
                for statement in Self.leaving { try connection.write(statement, list) }
                try connection.write(Self.settingAside, list + [.integer(-run.rowID)])
            }
            // A chain that stands for others of its customer goes after them.
            for list in lists + lists { try connection.write(Self.forgettingChain, list) }
        }
        try rows.undo(ids, at: inputs.now)
    }

    private static let leaving: [SQL] = [
        "DELETE FROM grant_owners WHERE grant_row_id IN (\(marks: 32))",
        "DELETE FROM ownership_basis WHERE grant_row_id IN (\(marks: 32))",
    ]

    private static let forgettingChain: SQL = """
        DELETE FROM apple_chains WHERE row_id IN (\(marks: 32)) AND NOT EXISTS (SELECT 1 FROM \
        apple_chains x WHERE x.customer = apple_chains.row_id)
        """

    private static let settingAside: SQL = """
        UPDATE transactions SET environment = ?33, state = 3, quarantine = NULL, order_row_id = NULL, \
        token = NULL WHERE row_id IN (\(marks: 32))
        """
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
