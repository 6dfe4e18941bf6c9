import TillBilling
import TillSQL

/// Subscriptions, and the rights that they give now or gave before.
package struct SubscriptionRights {
    /// Newest first.
    private(set) var subscriptions: [OwnedSubscription] = []
    private(set) var rights: [Right] = []

    init(
        _ history: PurchaseHistory.List, at now: Instant, catalog: Catalog, _ connection: any Connection
    ) throws {
        let chains = Dictionary(grouping: history.entries.filter { $0.isSubscription(catalog) }, by: \.originalID)
        let newest = chains.sorted { left, right in
            (left.value.last?.period.purchasedAt.milliseconds ?? 0, left.key)
                > (right.value.last?.period.purchasedAt.milliseconds ?? 0, right.key)
        }
        for (original, own) in newest.prefix(Rights.subscriptionLimit) {
            let rowID = own.lazy.compactMap(\.subscription).first
            let chain = rowID.flatMap { history.chains[$0] }
            // Apple signs the type of what the ledger lists, so equal counts mean that every period is the user's own.
            let isWhole =
                chain?.periodCount == Int64(own.count) && own.allSatisfy { $0.period.terms.type == .autoRenewable }
            var others: [PaidPeriod] = []
            if let rowID, !isWhole {
                let known = Set(own.map(\.period.transactionID))
                others = try SubscriptionTable(connection).periods(of: rowID).map(\.period)
                    .filter { !known.contains($0.transactionID) }
            }
            add(original, own, others, chain?.renewal, at: now, catalog)
        }
    }

    /// The rights of one subscription; nil if Apple did not sign the type of one of its periods, because then other
    /// rights of the user may follow from it.
    init?(
        _ original: TransactionID, of user: UserID, in environment: StoreEnvironment, at now: Instant,
        catalog: Catalog, _ connection: any Connection
    ) throws {
        let history = try PurchaseHistory(connection).list(of: user, subscription: original, in: environment)
        let periods = history.entries.map(\.period) + history.others
        guard periods.allSatisfy({ $0.terms.type == .autoRenewable }) else { return nil }
        add(original, history.entries, history.others, history.chains.values.first?.renewal, at: now, catalog)
    }

    /// The rights of a subscription that begins now.
    init(_ begun: SubscriptionChanges.BegunSubscription, at now: Instant, catalog: Catalog) {
        add(begun.entry.originalID, [begun.entry], [], begun.renewal, at: now, catalog)
    }

    /// - Parameters:
    ///   - own: the user's periods, oldest first.
    ///   - others: the periods of the same chain that the user does not own.
    private mutating func add(
        _ original: TransactionID, _ own: [PurchaseHistory.Entry], _ others: [PaidPeriod], _ renewal: RenewalTerms?,
        at now: Instant, _ catalog: Catalog
    ) {
        let periods = own.map(\.period)
        guard let state = Subscription(periods, among: others, renewal: renewal, at: now) else { return }
        add(state, of: original, own, SubscriptionChain(periods + others), catalog)
    }

    private mutating func add(
        _ state: Subscription, of original: TransactionID, _ chain: [PurchaseHistory.Entry], _ all: SubscriptionChain,
        _ catalog: Catalog
    ) {
        let byID = Dictionary(chain.map { ($0.period.transactionID, $0) }, uniquingKeysWith: { first, _ in first })
        let current = byID[state.current.transactionID]
        let entitlement = current?.right(catalog)
        subscriptions.append(
            OwnedSubscription(
                originalID: original, state: state, entitlement: entitlement, deviceID: current?.deviceID,
                groupID: state.current.terms.groupID, isFamilyShared: state.current.terms.isFamilyShared))
        func right(
            _ entitlement: String, _ period: PaidPeriod, _ stood: Subscription.State, _ why: RightReason,
            since: Instant, until: Instant
        ) -> Right {
            var right = Right(
                entitlement: entitlement, kind: .subscription, state: stood, why: why, productID: period.productID,
                transactionID: period.transactionID, since: since, until: until)
            right.originalID = original
            right.planID = catalog[period.productID]?.plan?.id
            right.deviceID = byID[period.transactionID]?.deviceID
            return right
        }
        var listed: Set<String> = []
        if let entitlement {
            listed.insert(entitlement)
            let ahead = state.servedPeriods.prefix { byID[$0.period.transactionID]?.right(catalog) == entitlement }
            let until = state.servedPeriods.isEmpty ? state.until : ahead.last?.end ?? state.until
            var now = right(
                entitlement, state.current, state.state, state.reason, since: state.since, until: until)
            now.willRenew = state.willRenew
            rights.append(now)
        }
        // The rights that the chain gave this customer before.
        for entry in chain.reversed() {
            guard let before = entry.right(catalog), listed.insert(before).inserted else { continue }
            let period = entry.period
            let periodEnd = Subscription.periodEnd(of: period, in: all)
            rights.append(
                right(before, period, periodEnd.state, periodEnd.reason, since: period.purchasedAt, until: periodEnd.at)
            )
        }
    }
}
