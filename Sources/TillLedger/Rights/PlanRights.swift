import TillBilling
import TillSQL

/// Service by plans whose time the server manages: current service and past service.
package struct PlanRights {
    /// The purchases in force, oldest first.
    private let purchases: [PlanPurchase]
    /// Oldest first.
    private let revoked: [(entitlement: String, period: PaidPeriod)]

    init(
        _ user: UserID, _ environment: StoreEnvironment, _ entries: [PurchaseHistory.Entry],
        _ catalogs: CatalogHistory, _ connection: any Connection
    ) throws {
        let catalog = catalogs.current
        let plans = entries.filter { $0.sellsKeptPlan(catalog) }
        purchases =
            try plans.contains { !$0.isRevoked }
            ? PlanHistory.purchases(of: user, in: environment, catalogs, connection) : []
        revoked = plans.filter(\.isRevoked).compactMap { entry in
            entry.right(catalog).map { ($0, entry.period) }
        }
    }

    func rights(at now: Instant) -> [Right] {
        let held = Service(purchases).activePlans(at: now).compactMap { activePlan in
            Self.right(activePlan, .active, .paid, until: activePlan.expiresAt)
        }
        var listed = Set(held.map(\.entitlement))
        var rights = held
        for index in purchases.indices.reversed() where listed.insert(purchases[index].plan.entitlement).inserted {
            if let lost = lost(at: index) { rights.append(lost) }
        }
        for (entitlement, period) in revoked.reversed() where listed.insert(entitlement).inserted {
            rights.append(
                Right(
                    entitlement: entitlement, kind: .service, state: .revoked, why: .refunded,
                    productID: period.productID, transactionID: period.transactionID, since: period.purchasedAt,
                    until: period.revokedAt ?? period.signedAt))
        }
        return rights
    }

    /// The right of a purchase without service now: its time has ended, or was converted into another plan.
    private func lost(at index: Int) -> Right? {
        let purchase = purchases[index]
        let then = Service(Array(purchases[...index])).activePlans(at: purchase.at)
        guard let activePlan = then.first(where: { $0.plan.id == purchase.plan.id }) else { return nil }
        let next = purchases[(index + 1)...].first { !$0.plan.isFree && $0.plan.id != purchase.plan.id }
        if let next, !purchase.plan.isFree, next.at < activePlan.expiresAt {
            return Self.right(activePlan, .upgraded, .replaced, until: next.at)
        }
        return Self.right(activePlan, .expired, .expired, until: activePlan.expiresAt)
    }

    private static func right(
        _ activePlan: Service.ActivePlan, _ state: Subscription.State, _ why: RightReason, until: Instant
    ) -> Right? {
        guard let transaction = activePlan.transactionID else { return nil }
        var right = Right(
            entitlement: activePlan.plan.entitlement, kind: .service, state: state, why: why,
            productID: activePlan.plan.productID, transactionID: transaction, since: activePlan.since, until: until)
        right.planID = activePlan.plan.id
        (right.deviceID, right.deviceIDs) = (activePlan.deviceID, activePlan.deviceIDs)
        return right
    }
}
