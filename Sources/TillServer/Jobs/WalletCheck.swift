import TillBilling
import TillLedger
import TillSQL
import TillThreads

/// Compares every balance with the sum of its postings, a few customers at a time: a damaged ledger shows in a metric
/// before a customer complains. It starts again from the first customer when it has seen the last.
final class WalletCheck: Sendable {
    /// Customers read in one transaction of the database.
    private static let slice = 50
    /// Slices in one run of the job.
    private static let slices = 20

    private struct State {
        /// The last customer compared.
        var position: Int64 = 0
        /// Differing balances since the first customer.
        var found: Int64 = 0
        /// The same, in the last complete round.
        var lastFound: Int64?
        var finishedAt: Instant?
    }

    private let state = Locked(State())

    /// Compares the next customers.
    func advance(_ database: any Database, clock: Server.Clock) async throws {
        for _ in 0..<Self.slices {
            let position = state.withLock { $0.position }
            let (last, unbalanced) = try await database.read { connection in
                try LedgerTable(connection).compareBalances(after: position, limit: Self.slice)
            }
            let now = clock()
            state.withLock { state in
                state.found += unbalanced
                if let last {
                    state.position = last
                } else {
                    state = State(lastFound: state.found, finishedAt: now)
                }
            }
            if last == nil { return }
        }
    }

    /// A difference counts as soon as it is found, and until a complete round no longer finds it.
    func metrics(at now: Instant) -> [Metric] {
        let state = state.withLock { $0 }
        let drift: Int64? =
            if let last = state.lastFound { max(last, state.found) } else { state.found > 0 ? state.found : nil }
        return [
            Metric(.walletDrift, drift.map(Double.init)),
            Metric(
                .walletCheckAge,
                state.finishedAt.map { max(0, Double(now.milliseconds - $0.milliseconds) / 1_000) }),
        ]
    }
}
