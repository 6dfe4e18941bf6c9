import TillBilling
import TillSQL

/// Subscriptions, and the rights that they give now or gave before.
package struct SubscriptionRights {
    /// Newest first.
    private(set) var subscriptions: [OwnedSubscription] = []
    private(set) var rights: [Right] = []

    /// - Parameter entries: oldest first.
    init(
        _ environment: StoreEnvironment, _ entries: [PurchaseHistory.Entry], at now: Instant, catalog: Catalog,
        _ connection: any Connection
    ) throws {
        let table = SubscriptionTable(connection)
        let chains = Dictionary(grouping: entries.filter { $0.isSubscription(catalog) }, by: \.originalID)
        let newest = chains.sorted { left, right in
            (left.value.last?.period.purchasedAt.milliseconds ?? 0, left.key)
                > (right.value.last?.period.purchasedAt.milliseconds ?? 0, right.key)
        }
        for (original, chain) in newest.prefix(Rights.subscriptionLimit) {
            let found = try table.find(original, in: environment)
            let all = try found.map { try table.periods(of: $0.rowID) } ?? []
            let own = chain.map(\.period)
            guard
                let state = Subscription(own, among: all.map(\.period), renewal: found?.renewal, at: now)
            else { continue }
            let known = Set(own.map(\.transactionID))
            let others = all.map(\.period).filter { !known.contains($0.transactionID) }
            add(state, of: original, chain, SubscriptionChain(own + others), catalog)
        }
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
