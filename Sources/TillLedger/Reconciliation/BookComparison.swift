import TillBilling

/// What came of holding the ledger against Apple's books.
public struct BookComparison: Sendable, Hashable {
    /// The first ten thousand, in the order in which they were found.
    public private(set) var differences: [Difference] = []
    /// All of them.
    public private(set) var differenceCount = 0
    /// Of those whose books differ (`Difference.Kind.isDrift`); the others say what could not be compared.
    public private(set) var driftCount = 0
    /// What was counted, under the names that a reconciliation has: `notifications`, `new_notifications`, `customers`,
    /// `transactions`, `undecided`, `untold`, and the kinds of differences.
    public private(set) var counts: [Environment: [String: Int64]] = [:]

    public init() {}

    /// Whether Apple's books say what the ledger says, wherever Apple told.
    public var isEqual: Bool { driftCount == 0 }
    /// Whether everything was told, believed and read.
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

    mutating func count(_ count: Int, _ name: String, in environment: Environment) {
        if count != 0 { counts[environment, default: [:]][name, default: 0] += Int64(count) }
    }
}
