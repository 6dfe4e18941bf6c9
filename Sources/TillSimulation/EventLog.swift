import TillBilling

/// The trace of a run, for a person who analyses one purchase. It is recorded only if it will be read. Recording makes
/// no decisions, so a run with a trace is the same run.
public final class EventLog: @unchecked Sendable {
    public struct Line: Sendable {
        public let at: Instant
        /// The acting or affected part of the world.
        public let who: String
        public let text: String
        /// The orders, transactions and users it is about.
        public let about: Set<String>
    }

    public private(set) var lines: [Line] = []
    public let isKept: Bool
    private let now: () -> Instant

    init(isKept: Bool, now: @escaping () -> Instant) {
        self.isKept = isKept
        self.now = now
    }

    /// Adds the ledger's own entries and sorts everything by time.
    func complete(with more: [Line]) {
        guard isKept else { return }
        // Stable: entries of the same moment keep their order.
        lines = (lines + more).enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            .map(\.element)
    }

    func record(
        _ who: @autoclosure () -> String, _ text: @autoclosure () -> String, about: @autoclosure () -> [String] = []
    ) {
        guard isKept else { return }
        lines.append(Line(at: now(), who: who(), text: text(), about: Set(about())))
    }
}

extension [EventLog.Line] {
    /// The lines about any of these subjects, and about the orders and transactions named with them.
    public func about(_ subjects: Set<String>) -> [EventLog.Line] {
        var wanted = subjects
        for line in self where !line.about.isDisjoint(with: subjects) {
            // A user's lines cover everything the user ever did, so users do not widen the search.
            wanted.formUnion(line.about.filter { !$0.hasPrefix("user ") })
        }
        wanted = wanted.filter { !$0.hasPrefix("user ") || subjects.count == 1 }
        return filter { $0.who == "world" || !$0.about.isDisjoint(with: wanted) }
    }
}
