import Foundation
import TillBilling
import TillSQLite
import TillSimulation

/// Creates a ledger with five years of purchases, to compare the cost of a grant in it with that in a new ledger.
struct PastYears {
    let path: String
    let purchases: Int

    func write() async throws {
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
        let past = AgedLedger(
            product: ProductID(LoadSet.productID), points: LoadSet.pointsEach, environment: .sandbox)
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        try await past.write(Int64(purchases), until: now, in: ledger)
        await ledger.close()
    }
}
