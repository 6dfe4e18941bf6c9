import TillBilling

/// The result of comparing the ledger with Apple's records.
public struct LedgerComparison: Sendable, Hashable {
    /// The first ten thousand differences, in the order in which they were found.
    public private(set) var differences: [Difference] = []
    /// The number of all differences.
    public private(set) var differenceCount = 0
    /// The number of differences in content (`Difference.Kind.isDrift`); the others state what could not be compared.
    public private(set) var driftCount = 0
    /// Counts under the names of a reconciliation's counts: `notifications`, `new_notifications`, `customers`,
    /// `transactions`, `undecided`, `unavailable`, and the kinds of differences.
    public private(set) var counts: [StoreEnvironment: [String: Int64]] = [:]

    public init() {}

    /// Whether the ledger agrees with everything that Apple returned.
    public var isEqual: Bool { driftCount == 0 }
    /// Whether Apple answered every request, and every answer was verified and processed.
    public var isComplete: Bool {
        differenceCount == driftCount && counts.values.allSatisfy { $0["undecided", default: 0] == 0 }
    }

    static let limit = 10_000

    mutating func add(_ found: [Difference]) {
        for difference in found {
            differenceCount += 1
            if difference.kind.isDrift { driftCount += 1 }
            if differences.count < Self.limit { differences.append(difference) }
            count(1, difference.kind.rawValue, in: difference.environment)
        }
    }

    mutating func count(_ count: Int, _ name: String, in environment: StoreEnvironment) {
        if count != 0 { counts[environment, default: [:]][name, default: 0] += Int64(count) }
    }
}
