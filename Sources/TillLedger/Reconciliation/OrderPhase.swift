import TillBilling
import TillSQL

/// Closes orders that stay open, after all requests to Apple. A payment that arrives later still finds its order: a
/// payment outweighs a failure (DESIGN §4, invariant 5).
extension ReconciliationRunner {
    private static let batch = 100
    /// Milliseconds after which an order with an ongoing payment should be paid.
    private static let payment: Int64 = 86_400_000

    /// An unpaid order belongs to no environment, so orders are checked after all environments are done.
    mutating func readOrders() async throws {
        guard environment == .sandbox || !run.environments.contains(.sandbox) else { return }
        for status: OrderStatus in [.prepared, .deferred, .ongoing] {
            var before = Int64.max
            while let last = try await readOrders(status, before: before) { before = last }
        }
    }

    /// Checks one batch. Returns the position after it.
    private mutating func readOrders(_ status: OrderStatus, before position: Int64) async throws -> Int64? {
        let rowIDs = try await ledger.database.read { connection in
            try CandidateList(connection).orders(status, before: position, limit: Self.batch)
        }
        guard let last = rowIDs.last else { return nil }
        let (run, now, settings, progress) = (run, ledger.clock(), settings, progress)
        try await commit(progress) { connection in
            try rowIDs.compactMap { rowID in
                guard let stored = try OrderTable(connection).find(rowID: rowID), stored.order.status == status
                else { return nil }
                return try Self.compare(stored, run, settings, now, connection)
            }
        }
        return last
    }

    private static func compare(
        _ stored: OrderTable.Stored, _ run: ReconciliationTable.Run, _ settings: ReconciliationSettings,
        _ now: Instant, _ connection: any Connection
    ) throws -> Difference? {
        let order = stored.order
        let environment = order.environment ?? (run.environments.contains(.production) ? .production : .sandbox)
        if order.status == .ongoing {
            guard order.updatedAt.adding(milliseconds: Self.payment) <= now,
                try !DifferenceTable(connection).has(.orderNotCompleted, of: order.id)
            else { return nil }
            return Difference(
                .orderNotCompleted, in: environment, order: order.id, was: order.status.name, now: "ongoing")
        }
        guard order.createdAt.adding(milliseconds: settings.orderTimeout) <= now, order.transactionID == nil,
            order.status.mayMove(to: .cancelled), try wereAsked(order.userID, run, connection)
        else { return nil }
        connection.lock([.order(stored.order.id)])
        _ = try OrderTable(connection).move(stored, along: [.cancelled], at: now, reason: "no_payment_at_apple")
        return Difference(.orderClosed, in: environment, order: order.id, was: order.status.name, now: "cancelled")
    }

    /// Whether this run has read all of Apple's answers about a buyer.
    private static func wereAsked(
        _ user: UserID, _ run: ReconciliationTable.Run, _ connection: any Connection
    ) throws -> Bool {
        for environment in run.environments {
            for chain in try CandidateList(connection).chains(of: user, in: environment, limit: chainLimit) {
                guard try AppleChainTable(connection).lastRead(chain, in: environment) == run.rowID else {
                    return false
                }
            }
        }
        return true
    }
}
