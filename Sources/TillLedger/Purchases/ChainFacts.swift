import TillBilling

/// The facts about one period of a subscription that follow from the other periods of its chain, by Apple's dates.
struct ChainFacts {
    fileprivate(set) var renewed: RenewedPurchase?
    /// The order of the purchase that is renewed, if that purchase has an owner.
    fileprivate(set) var order: OrderTable.Stored?
    /// The ownership basis of that purchase.
    fileprivate(set) var basis: OwnershipBasis?
    fileprivate(set) var replacedOwner: UserID?
    /// The owner of the newest earlier period that has one.
    fileprivate(set) var previousOwner: UserID?
    /// The owners of the chain's other periods; nil if the ledger has no list of the chain.
    fileprivate(set) var owners: Set<UserID>?
    /// The same transaction; if Apple gave no reason, with the reason that follows from the neighbouring periods.
    fileprivate(set) var transaction: PaidTransaction

    /// The owner of the purchase that is renewed, unless the renewal has its own token.
    var owner: UserID? { renewed.flatMap { $0.token == .ownToken ? nil : $0.renewed.owner } }
}

extension PurchaseReader {
    /// Nil for a transaction that is not a later period of a subscription.
    func chain(of transaction: PaidTransaction, from origin: PurchaseOrigin) throws -> ChainFacts? {
        guard transaction.isSubscription, transaction.id != transaction.originalID else { return nil }
        let table = SubscriptionTable(connection)
        guard let found = try table.find(transaction.originalID, in: transaction.environment) else {
            return try unlisted(transaction)
        }
        let links = try table.links(of: found.rowID).filter { $0.period.transactionID != transaction.id }
        let chain = SubscriptionChain(links.map(\.period) + [transaction.period])
        var facts = ChainFacts(transaction: transaction.decided(among: chain))
        facts.owners = Set(links.compactMap(\.owner))
        facts.previousOwner =
            links.filter { $0.owner != nil && PaidPeriod.isEarlier($0.period, transaction.period) }
            .max { PaidPeriod.isEarlier($0.period, $1.period) }?.owner
        guard facts.transaction.isRenewal else {
            facts.replacedOwner = try replacedOwner(transaction, from: origin, links, chain)
            return facts
        }
        facts.renewed = RenewedPurchase(of: transaction.chainPeriod, in: links.map(\.chain))
        if let renewed = facts.renewed?.renewed, renewed.owner != nil,
            let link = links.first(where: { $0.period.transactionID == renewed.period.transactionID })
        {
            facts.order = try link.orderRowID.flatMap { try OrderTable(connection).find(rowID: $0) }
            facts.basis = link.basis
        }
        return facts
    }

    /// The owners of the other periods of the chain that this first purchase began.
    func listedOwners(of transaction: PaidTransaction) throws -> Set<UserID>? {
        let table = SubscriptionTable(connection)
        guard transaction.isSubscription,
            let found = try table.find(transaction.originalID, in: transaction.environment)
        else { return nil }
        let others = try table.links(of: found.rowID).filter { $0.period.transactionID != transaction.id }
        return Set(others.compactMap(\.owner))
    }

    /// A ledger from before chains were listed still has the first purchase.
    private func unlisted(_ transaction: PaidTransaction) throws -> ChainFacts {
        var facts = ChainFacts(transaction: transaction)
        facts.previousOwner = try grantOwners.owner(of: transaction.originalID, in: transaction.environment)
        guard transaction.isRenewal else { return facts }
        let first = try TransactionTable(connection).find(transaction.originalID, in: transaction.environment)
        let rowID =
            try first?.orderRowID ?? grantOwners.order(of: transaction.originalID, in: transaction.environment)
        facts.order = try rowID.flatMap { try OrderTable(connection).find(rowID: $0) }
        facts.basis = try first.flatMap { try ownership.find($0.rowID)?.basis ?? .token }
        return facts
    }

    /// The caller, if this purchase without a token replaced a period of theirs, in a chain without tokens.
    private func replacedOwner(
        _ transaction: PaidTransaction, from origin: PurchaseOrigin, _ links: [SubscriptionTable.Link],
        _ chain: SubscriptionChain
    ) throws -> UserID? {
        guard case .user(let caller) = origin.caller, transaction.token == nil,
            !transaction.terms.isPaidByAnotherAccount,
            links.allSatisfy({ $0.chain.token == nil }), let replaced = chain.replaced(by: transaction.id),
            let owner = links.first(where: { $0.period.transactionID == replaced.transactionID })?.owner
        else { return nil }
        return try owner == caller || customers.account(of: caller) == owner ? owner : nil
    }
}

extension PaidTransaction {
    /// The transaction as a period of its chain, before it has an owner.
    var chainPeriod: ChainPeriod {
        var token: OrderID?
        if case .order(let id)? = signedToken { token = id }
        return ChainPeriod(period: period, owner: nil, token: token, hidesToken: hidesToken)
    }
}
