import TillThreads

/// What was asked, answered and delivered: the side of the audit that the ledger has no part in.
final class FailoverRecord: Sendable {
    struct Contents: Sendable {
        /// Purchases whose grant an answer confirmed, and debits.
        var granted: Set<Int> = []
        var debited: Set<Int> = []
        /// Purchases that were begun.
        var begun: Set<Int> = []
        /// Answers that report a grant or a debit by the very request, by purchase.
        var freshGrants: [Int: Int] = [:]
        var freshDebits: [Int: Int] = [:]
        /// Answers by kind: `200`, `503 with Retry-After`, `no answer: timedOut`.
        var answers: [String: Int] = [:]
        /// Answers that nothing excuses.
        var wrong: [String] = []
        /// When a purchase's grant was confirmed.
        var good: [ContinuousClock.Instant] = []
        /// Rows of a writer that goes to the nodes directly: number, node, timeline.
        var probes: [Probe] = []
        var nextProbe = 0
        /// Ids of events in the order in which the feed gave them, and their places.
        var feed: [(id: String, sequence: Int64)] = []
    }

    struct Probe: Sendable, Hashable {
        let number: Int
        let node: String
        let timeline: String
        let began: ContinuousClock.Instant
        let ended: ContinuousClock.Instant
    }

    private let contents = Locked(Contents())

    func note(_ change: (inout Contents) -> Void) { contents.withLock { change(&$0) } }

    func nextProbe() -> Int {
        contents.withLock { contents in
            contents.nextProbe += 1
            return contents.nextProbe
        }
    }

    var all: Contents { contents.withLock { $0 } }

    /// Seconds from `start` until purchases are granted again: the end of the longest pause between two grants that
    /// began after `start` and before `end`, and the length of that pause.
    static func recovery(
        _ good: [ContinuousClock.Instant], from start: ContinuousClock.Instant, to end: ContinuousClock.Instant
    ) -> (seconds: Double, pause: Double)? {
        var last = start
        var longest: (end: ContinuousClock.Instant, length: Duration)?
        for instant in good where instant > start {
            if longest == nil || instant - last > longest?.length ?? .zero { longest = (instant, instant - last) }
            if instant > end { break }
            last = instant
        }
        return longest.map { (($0.end - start) / .seconds(1), $0.length / .seconds(1)) }
    }
}
