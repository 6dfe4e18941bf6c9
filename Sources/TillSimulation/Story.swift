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

    func tell(_ who: @autoclosure () -> String, _ text: @autoclosure () -> String, about: @autoclosure () -> [String] = []) {
        guard isKept else { return }
        lines.append(Line(at: now(), who: who(), text: text(), about: Set(about())))
    }

    /// The lines about any of these, and with them about whatever those lines name beside them.
    public func lines(about subjects: Set<String>) -> [Line] {
        var wanted = subjects
        // An order leads to its transaction and back; a user leads to everything, so users widen nothing.
        let linking = lines.filter { $0.about.count > 1 }
        for line in linking where !line.about.isDisjoint(with: subjects) {
            wanted.formUnion(line.about.filter { !$0.hasPrefix("user ") })
        }
        return lines.filter { $0.about.isEmpty ? $0.who == "world" : !$0.about.isDisjoint(with: wanted) }
    }
}
