import TillBilling
import TillSQL

/// A batch in parts that share no customer, chain, order or transaction: their order decides nothing, so a database
/// with several writers may record them at once. Within a part the rows stay in their order.
struct ImportParts {
    /// Of each part: the indices of its rows.
    let parts: [[Int]]

    init(_ rows: [PreparedRow]) {
        var leaders = Array(rows.indices)
        func leader(_ index: Int) -> Int {
            var index = index
            while leaders[index] != index { index = leaders[index] }
            return index
        }
        var owners: [LockKey: Int] = [:]
        for (index, row) in rows.enumerated() {
            for key in row.keys + row.transactionKeys {
                guard let other = owners.updateValue(index, forKey: key) else { continue }
                let (one, two) = (leader(other), leader(index))
                leaders[max(one, two)] = min(one, two)
            }
        }
        var parts: [Int: [Int]] = [:]
        for index in rows.indices { parts[leader(index), default: []].append(index) }
        self.parts = parts.sorted { $0.key < $1.key }.map(\.value)
    }
}

extension PreparedRow {
    /// What recording it changes.
    var keys: [LockKey] {
        switch content {
        case .refused, .waiting: []
        case .purchases(let all):
            all.flatMap { purchase in
                var keys: [LockKey] = [
                    .chain(purchase.transaction.originalID, purchase.transaction.environment),
                    .customer(purchase.user),
                ]
                if let order = purchase.orderID { keys.append(.order(order)) }
                if case .order(let token)? = purchase.transaction.token { keys.append(.order(token)) }
                return keys
            }
        case .balance(let balance): [.customer(balance.user)]
        case .accountToken(let token, let user): [.order(token), .customer(user)]
        }
    }

    /// Two rows of one transaction may state different chains.
    fileprivate var transactionKeys: [LockKey] {
        purchases.map { .chain($0.transaction.id, $0.transaction.environment) }
    }
}

// MARK: What rows read

extension ImportRecorder {
    /// What nearly every outcome of a row rests on, for databases where each query is a round trip.
    static func reads(of row: PreparedRow, _ processor: PurchaseProcessor, _ run: ImportRun) -> [Statement] {
        switch row.content {
        case .refused, .waiting: []
        case .purchases(let all): all.flatMap { reads(of: $0, processor, run) }
        case .balance(let balance):
            [
                CustomerTable.finding(balance.user),
                ImportedRowTable.findingBalances(of: balance.user, in: run.environment),
            ]
        case .accountToken(let token, let user):
            [AccountTokenTable.finding(token), OrderTable.finding(token), CustomerTable.finding(user)]
        }
    }

    private static func reads(
        of purchase: PreparedPurchase, _ processor: PurchaseProcessor, _ run: ImportRun
    ) -> [Statement] {
        let (transaction, order) = (purchase.transaction, purchase.orderID)
        var reads = processor.reads(of: transaction, purchase.proof, from: run.origin(for: purchase, opening: order))
        if let order {
            reads += [OrderTable.finding(order), AccountTokenTable.finding(order)]
        }
        if case .order(let token)? = transaction.token { reads.append(AccountTokenTable.finding(token)) }
        if transaction.isSubscription {
            reads.append(SubscriptionTable.finding(transaction.originalID, in: transaction.environment))
        }
        if processor.catalog[transaction.productID]?.points.isEmpty == false {
            reads.append(ImportedRowTable.findingBalances(of: purchase.user, in: run.environment))
        }
        var seen: Set<Statement> = []
        return reads.filter { seen.insert($0).inserted }
    }
}
