import TillJSON
import TillThreads

/// Counts of events.
final class Tally: Sendable {
    enum Column: String, CaseIterable, Sendable {
        /// Processes killed with signal 9, by program.
        case kills
        /// Restarted programs.
        case restarts
        /// Outcomes of purchases while their buyers waited, by the client kit's names.
        case outcomes
        /// Refusals of the kit or the server, by code.
        case refusals
        /// The server's answers to proofs.
        case answers
        /// Faults caused on purpose: in the store, on the network, and outages.
        case faults
        /// Requests, by their target.
        case requests
        /// Other actions of customers.
        case deeds
    }

    private let counts = Locked<[Column: [String: Int]]>([:])

    func add(_ column: Column, _ name: String, _ number: Int = 1) {
        guard number > 0 else { return }
        counts.withLock { $0[column, default: [:]][name, default: 0] += number }
    }

    func all(_ column: Column) -> [String: Int] { counts.withLock { $0[column] ?? [:] } }
    func total(_ column: Column) -> Int { all(column).values.reduce(0, +) }

    var json: [String: JSONValue] {
        Dictionary(
            uniqueKeysWithValues: Column.allCases.map { column in
                (column.rawValue, .object(all(column).mapValues { .int(Int64($0)) }))
            })
    }
}
