import TillBilling

/// Permanent rights, one for each product: a product bought twice counts once, from the first purchase on.
package struct LastingRights {
    private(set) var rights: [Right] = []

    /// - Parameter entries: oldest first.
    init(_ entries: [PurchaseHistory.Entry], catalog: Catalog) {
        var places: [[String]: Int] = [:]
        for entry in entries where !entry.isSubscription(catalog) && !entry.sellsKeptPlan(catalog) {
            guard let entitlement = entry.right(catalog) else { continue }
            let right = Self.right(entry, entitlement)
            let key = [entitlement, entry.period.productID.text]
            guard let place = places[key] else {
                places[key] = rights.count
                rights.append(right)
                continue
            }
            if !rights[place].isAllowed { rights[place] = right }
        }
    }

    private static func right(_ entry: PurchaseHistory.Entry, _ entitlement: String) -> Right {
        let period = entry.period
        var right = Right(
            entitlement: entitlement, kind: .lasting, state: entry.isRevoked ? .revoked : .active,
            why: entry.isRevoked
                ? period.revocationReason : period.terms.isFamilyShared ? .familyShared : .bought,
            productID: period.productID, transactionID: period.transactionID, since: period.purchasedAt,
            until: entry.isRevoked ? period.revokedAt ?? period.signedAt : nil)
        right.deviceID = entry.deviceID
        return right
    }
}

extension PurchaseHistory.Entry {
    /// Whether it is a subscription: by the signed type, else by the catalogue's, else by whether it has an expiry
    /// date.
    func isSubscription(_ catalog: Catalog) -> Bool {
        let product = catalog[period.productID]
        if let type = period.terms.type ?? product?.type { return type == .autoRenewable }
        return period.terms.expiresAt != nil
    }

    /// Whether the server manages its time.
    func sellsKeptPlan(_ catalog: Catalog) -> Bool {
        !isSubscription(catalog) && catalog[period.productID].flatMap { Plan(soldBy: $0) } != nil
    }

    /// The entitlement as granted. A purchase that was revoked before it was granted, and one that sells a plan, takes
    /// it from the catalogue.
    func right(_ catalog: Catalog) -> String? { entitlement ?? catalog[period.productID]?.right }
}
