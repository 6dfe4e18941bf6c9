import TillBilling
import TillSQL

/// The points of some purchases that are left in their owner's wallet. Spending uses the oldest lot first, so the
/// points of a purchase may be spent while the wallet still holds those of later ones.
struct RemainingPoints {
    private let grantOwners: GrantOwnerTable
    private let grants: GrantTable
    private let ledger: LedgerTable

    init(_ connection: any Connection) {
        grantOwners = GrantOwnerTable(connection)
        grants = GrantTable(connection)
        ledger = LedgerTable(connection)
    }

    /// What of the points moves with the purchases: what is left of their lots, and their debts in full.
    ///
    /// - Parameter transfer: a transfer whose points without a purchase are part of it.
    func of(_ moved: [OwnedGrant], in user: UserID, with transfer: TransferTable.Stored? = nil) throws -> [MovedPoints]
    {
        let entered = try moved.flatMap { try grantOwners.points(of: $0, in: user) }
        let rest = try transfer.map { try ledger.pointsWithoutPurchase(of: $0.rowID, in: user) } ?? []
        return try StoreEnvironment.allCases.flatMap { environment -> [MovedPoints] in
            let (here, other) = (
                entered.filter { $0.environment == environment }, rest.filter { $0.environment == environment }
            )
            let parting = try Set((here + other).map(\.currency)).sorted().flatMap { currency in
                try left(
                    of: here.filter { $0.currency == currency }, beside: other.first { $0.currency == currency },
                    of: transfer, in: try ledger.lots(of: user, in: environment, currency: currency))
            }
            return MovedPoints.left(of: parting, in: try ledger.wallet(of: user, in: environment))
        }
    }

    /// The same for one kind of points.
    private func left(
        of entered: [MovedPoints], beside rest: MovedPoints?, of transfer: TransferTable.Stored?, in lots: Lots
    ) throws -> [MovedPoints] {
        // By the reference of the lot: the grant's id, and for points without a purchase the transfer's id.
        var byLot: [String: MovedPoints] = [:]
        var loose: [String: Int64] = [:]
        for points in entered {
            guard let rowID = points.grant, let id = try grants.find(transaction: rowID)?.id else { continue }
            byLot[id.description] = points
            loose[id.description] = points.amount - lots.held(ofGrant: id)
        }
        let transferID = transfer?.transfer.id.description
        let debt = rest.map { min(0, $0.amount) } ?? 0
        var left = loose
        for (opening, points) in lots.parting(
            loose: loose.values.reduce(debt, +),
            { opening in
                opening.transactionID == nil ? opening.reference == transferID : byLot[opening.reference] != nil
            })
        {
            left[opening.reference, default: 0] += points
        }
        var parting = left.sorted { $0.key < $1.key }.compactMap { reference, amount in
            byLot[reference].map { points in
                MovedPoints(
                    environment: points.environment, currency: points.currency, amount: amount, grant: points.grant)
            }
        }
        if let rest {
            let amount = debt < 0 ? debt : transferID.flatMap { left[$0] } ?? 0
            parting.append(MovedPoints(environment: rest.environment, currency: rest.currency, amount: amount))
        }
        return parting.filter { $0.amount != 0 }
    }
}
