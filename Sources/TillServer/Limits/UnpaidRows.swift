import TillLedger
import TillThreads

extension Server {
    /// Deletes what is past its age from the tables that callers without a purchase add to, and measures them.
    func prune() async throws {
        let backends = configuration.secretKeys.map { Credential.backend(keyID: $0.id).name }
        let tables = try await Pruning(ledger, backends: backends).run()
        unpaidRows.record(tables)
        for table in tables where table.pruned > 0 {
            log.write(
                .rowsPruned,
                ["table": .text(table.name), "pruned": .integer(table.pruned), "rows": .integer(table.rows)])
        }
    }
}

/// The tables that callers without a purchase add to, as the last pass of the job `pruning` found them.
final class UnpaidRows: Sendable {
    private struct State {
        var tables: [Pruning.Table] = []
        var pruned: [String: Int64] = [:]
    }

    /// Known before the first pass, so that their metrics are never absent.
    private static let names = [
        "refused_proofs", "foreign_notifications", "idempotency_keys", "waiting_receipts", "orders", "customers",
        "claims", "consents",
    ]
    private static let measured = names.prefix(4)
    private static let pruned = names.prefix(3)

    private let state = Locked(State())

    func record(_ tables: [Pruning.Table]) {
        state.withLock { state in
            state.tables = tables
            for table in tables { state.pruned[table.name, default: 0] += table.pruned }
        }
    }

    /// A value that no pass has found yet is NaN.
    var metrics: [Metric] {
        let (tables, pruned) = state.withLock { ($0.tables, $0.pruned) }
        func samples(_ names: ArraySlice<String>, _ value: (Pruning.Table) -> Int64?) -> [Metric.Sample] {
            names.map { name in
                let found = tables.first { $0.name == name }.flatMap(value)
                return Metric.Sample(found.map(Double.init) ?? .nan, (name: "table", value: name))
            }
        }
        return [
            Metric(.unpaidRows, samples(Self.names[...]) { $0.rows }),
            Metric(.unpaidBytes, samples(Self.measured) { $0.bytes }),
            Metric(
                .prunedRows,
                Self.pruned.map { Metric.Sample(count: pruned[$0] ?? 0, (name: "table", value: $0)) }),
        ]
    }
}
