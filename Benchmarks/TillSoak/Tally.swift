import TillJSON
import TillThreads

/// How often what happened.
final class Tally: Sendable {
    enum Column: String, CaseIterable, Sendable {
        /// Processes that were killed with signal 9, by whose they were.
        case kills
        /// Programs that were started again.
        case restarts
        /// How purchases ended as far as their buyers waited, in the client kit's words.
        case outcomes
        /// What the kit or the server said no to, by code.
        case refusals
        /// What the server said about proofs.
        case answers
        /// What went wrong on purpose: the store's dials, the lines, the outages.
        case faults
        /// Messages, by who was asked.
        case requests
        /// What else customers did.
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
