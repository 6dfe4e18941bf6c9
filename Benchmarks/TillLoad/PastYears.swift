import Foundation
import TillBilling
import TillSQLite
import TillSimulation

/// Creates a ledger with five years of purchases, to compare the cost of a grant in it with that in a new ledger. The
/// first customer, `AgedLedger.firstCustomer`, made ten thousand of them, the others twelve each.
struct PastYears {
    let path: String
    let purchases: Int

    private static let ofRegularCustomer = 10_000

    func write() async throws {
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        let ofOne = min(purchases, Self.ofRegularCustomer)
        try await past(ofOne).write(Int64(ofOne), until: now.adding(milliseconds: -86_400_000), in: ledger)
        if purchases > ofOne { try await past(12).write(Int64(purchases - ofOne), until: now, in: ledger) }
        await ledger.close()
    }

    private func past(_ purchasesOfUser: Int) -> AgedLedger {
        AgedLedger(
            product: ProductID(LoadSet.productID), points: LoadSet.pointsEach, environment: .sandbox,
            purchasesOfUser: Int64(purchasesOfUser), areProofsCompressed: true)
    }
}
