import TillBilling
import TillSQL

/// Checks a ledger against every `AuditRule`, beside a running server: each slice of rows is a short read of its own,
/// so the write-ahead log can be moved into the file between two of them.
public enum LedgerAudit {
    public struct Report: Sendable, Hashable {
        /// Rows that were compared, counted once for each rule that looks at them.
        public var rows: Int64 = 0
        /// What `rows` is after a complete audit.
        public var allRows: Int64 = 0
        /// At most `violationLimit`.
        public var violations: [AuditViolation] = []

        public var isComplete: Bool { rows == allRows || violations.count == violationLimit }
    }

    /// After this many violations the audit ends: the ledger is damaged, and a longer list says no more.
    public static let violationLimit = 100
    /// Rows of one read: some milliseconds.
    public static let sliceRows: Int64 = 2_000

    /// Walks from the newest rows to the oldest, and alternates between the rules, so that an audit that ends early has
    /// looked at the newest purchases by all rules.
    ///
    /// - Parameters:
    ///   - part: which share of the rules, of `parts`, so that shares can run beside each other.
    ///   - mayContinue: asked before each slice.
    public static func run(
        on database: any Database, slice size: Int64 = sliceRows, part: Int = 0, of parts: Int = 1,
        while mayContinue: @Sendable () -> Bool = { true }
    ) async throws -> Report {
        let walks = AuditWalk.all.enumerated().filter { $0.offset % parts == part }.map(\.element)
        let lasts = try await database.read { connection in
            try walks.map { try last(of: $0, connection) }
        }
        var report = Report(allRows: lasts.reduce(0, +))
        var open = zip(walks, lasts).filter { $0.1 > 0 }.map { (walk: $0.0, left: $0.1) }
        while !open.isEmpty {
            for index in open.indices {
                guard mayContinue(), report.violations.count < violationLimit else { return report }
                let (walk, left) = open[index]
                let rest = max(0, left - size)
                // A damaged row may name a row below the first.
                let slice = AuditSlice(after: rest == 0 ? .min : rest, last: left)
                let found = try await database.read { try walk.find($0, slice) }
                report.violations += found.prefix(violationLimit - report.violations.count)
                report.rows += left - rest
                open[index].left = rest
            }
            open.removeAll { $0.left == 0 }
        }
        return report
    }

    /// Checks the whole ledger as it is at one moment. For small ledgers.
    package static func violations(_ connection: any Connection) throws -> [AuditViolation] {
        try AuditWalk.all.flatMap { try $0.find(connection, .everything) }
    }

    private static func last(of walk: AuditWalk, _ connection: any Connection) throws -> Int64 {
        try connection.first(walk.last, []) { $0.integer("last") } ?? 0
    }
}
