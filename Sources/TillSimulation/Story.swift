import TillBilling

/// What happened, for somebody who wants to understand one purchase. Kept only when it will be read: writing it down
/// decides nothing, so a run that is told is the same run.
public final class Story: @unchecked Sendable {
    public struct Line: Sendable {
        public let at: Instant
        /// Who did it, or to whom it happened.
        public let who: String
        public let text: String
        /// Orders, transactions and users it is about.
        public let about: Set<String>
    }

    public private(set) var lines: [Line] = []
    public let isKept: Bool
    private let now: () -> Instant

    init(isKept: Bool, now: @escaping () -> Instant) {
        self.isKept = isKept
        self.now = now
    }

    /// Adds what the books tell of themselves, and puts everything in the order of time.
    func complete(with more: [Line]) {
        guard isKept else { return }
        // Stable: what happened at one moment stays in its order.
        lines = (lines + more).enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            .map(\.element)
    }

    func tell(
        _ who: @autoclosure () -> String, _ text: @autoclosure () -> String, about: @autoclosure () -> [String] = []
    ) {
        guard isKept else { return }
        lines.append(Line(at: now(), who: who(), text: text(), about: Set(about())))
    }
}

extension [Story.Line] {
    /// The lines about any of these, and about the orders and transactions that those name beside them.
    public func about(_ subjects: Set<String>) -> [Story.Line] {
        var wanted = subjects
        for line in self where !line.about.isDisjoint(with: subjects) {
            // A user leads to everything that the user ever did, so users widen nothing.
            wanted.formUnion(line.about.filter { !$0.hasPrefix("user ") })
        }
        wanted = wanted.filter { !$0.hasPrefix("user ") || subjects.count == 1 }
        return filter { $0.who == "world" || !$0.about.isDisjoint(with: wanted) }
    }
}
