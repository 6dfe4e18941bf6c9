import TillBilling
import TillLedger
import TillSQL

/// What the ledger knows about one customer, read in one snapshot.
struct CustomerDetail: Sendable {
    let user: UserID
    let kind: CustomerKind?
    /// The account that the customer, a guest, was merged into.
    let account: UserID?
    let guests: [UserID]
    /// Nil unless the user id stands for an erased customer.
    let erasure: ErasureTable.Stored?
    let loss: ErasureLoss

    /// Nil for a user whom the ledger has never seen.
    init?(
        _ user: UserID, in environment: StoreEnvironment, at now: Instant, catalogs: CatalogHistory,
        _ connection: any Connection
    ) throws {
        let customers = CustomerTable(connection)
        guard let number = try customers.number(of: user) else { return nil }
        self.user = user
        kind = try customers.kind(of: user)
        account = try customers.account(of: user)
        guests = try customers.guests(of: user)
        erasure = try ErasureTable(connection).find(customer: number)
        loss = try ErasureLoss(of: user, in: environment, at: now, catalogs: catalogs, connection)
    }
}

extension ErasureLoss {
    /// The points as a hidden field of the form sends them: `points=60,gems=5`.
    var text: String { points.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",") }

    /// Reads what `text` wrote; nil for anything else.
    static func points(_ text: String) -> [String: Int64]? {
        var points: [String: Int64] = [:]
        for part in text.split(separator: ",") {
            guard let sign = part.lastIndex(of: "="), let amount = Int64(part[part.index(after: sign)...]) else {
                return nil
            }
            points[String(part[..<sign])] = amount
        }
        return points
    }
}
