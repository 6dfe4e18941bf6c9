import TillAppStore
import TillBilling
import TillSQL

/// Processes Apple's answers in an open write, like purchases from every source, and returns what changed. It lives
/// inside one commit, so that every change is recorded with its explanation.
struct DifferenceRecorder {
    private let connection: any Connection
    private let processor: PurchaseProcessor
    private let inputs: CommitInputs

    init(_ connection: any Connection, _ processor: PurchaseProcessor, _ inputs: CommitInputs) {
        self.connection = connection
        self.processor = processor
        self.inputs = inputs
    }

    /// - Returns: what differed in the ledger, each difference once.
    func record(_ copies: [VerifiedCopy]) throws -> [Difference] {
        // Processing one copy may also process another one of the same page, so all are read before.
        let transactions = Self.unique(copies.map { Key($0.transaction.id, $0.transaction.environment) })
        let chains = Self.unique(copies.compactMap(\.renewal?.key))
        let before = try transactions.map { try snapshot($0) }
        let renewals = try chains.map { try renewal($0) }
        for copy in copies {
            _ = try processor.process(
                copy.transaction, copy.proof, from: .apple(.reconciliation), renewal: copy.renewal, inputs, connection)
        }
        var found: [Difference] = []
        for (key, before) in zip(transactions, before) {
            guard let after = try snapshot(key),
                var difference = Difference(of: key.id, in: key.environment, from: before, to: after)
            else { continue }
            difference.purchasedAt = copies.first { $0.transaction.id == key.id }?.transaction.purchasedAt
            found.append(difference)
        }
        let listed = Set(found.map(\.transactionID))
        for (key, before) in zip(chains, renewals) where !listed.contains(key.id) {
            guard let difference = try difference(of: key, from: before) else { continue }
            found.append(difference)
        }
        return found
    }

    fileprivate struct Key: Hashable {
        let id: TransactionID
        let environment: StoreEnvironment

        init(_ id: TransactionID, _ environment: StoreEnvironment) {
            self.id = id
            self.environment = environment
        }
    }

    private static func unique(_ keys: [Key]) -> [Key] {
        var seen: Set<Key> = []
        return keys.filter { seen.insert($0).inserted }
    }

    private func snapshot(_ key: Key) throws -> TransactionSnapshot? {
        guard let row = try TransactionTable(connection).find(key.id, in: key.environment) else { return nil }
        let order = try row.orderRowID.flatMap { try OrderTable(connection).find(rowID: $0)?.order.id }
        let copy = try RecordedCopies(connection).find(row.rowID)
        var terms = copy?.terms ?? TransactionTerms()
        // A copy replaced by an upgrade is no difference if the upgrade is known.
        if let copy, try isReplaced(copy) { terms.isUpgraded = true }
        return TransactionSnapshot(
            state: row.state, quarantine: row.quarantine, revokedAt: row.revokedAt, terms: terms, orderID: order)
    }

    private func isReplaced(_ copy: PaidTransaction) throws -> Bool {
        let table = SubscriptionTable(connection)
        guard copy.isSubscription, copy.revokedAt == nil,
            let found = try table.find(copy.originalID, in: copy.environment)
        else { return false }
        let chain = SubscriptionChain(try table.periods(of: found.rowID).map(\.period))
        return Subscription.periodEnd(of: copy.period, in: chain).state == .upgraded
    }

    private func renewal(_ key: Key) throws -> RenewalTerms? {
        try SubscriptionTable(connection).find(key.id, in: key.environment)?.renewal
    }

    private func difference(of key: Key, from before: RenewalTerms?) throws -> Difference? {
        guard let after = try renewal(key) else { return nil }
        // Apple signs the renewal information again for each request.
        if var same = before {
            same.signedAt = after.signedAt
            if same == after { return nil }
        }
        return Difference(
            .renewalDiffers, in: key.environment, transaction: key.id, was: before?.summary ?? "unknown",
            now: after.summary)
    }
}

extension SignedRenewal {
    fileprivate var key: DifferenceRecorder.Key? {
        info.originalTransactionID.map { DifferenceRecorder.Key($0, info.environment) }
    }
}

extension RenewalTerms {
    fileprivate var summary: String {
        switch autoRenews {
        case true?: "renews: \(productID?.text ?? "")"
        case false?: "does not renew"
        case nil: "renewal unknown"
        }
    }
}
