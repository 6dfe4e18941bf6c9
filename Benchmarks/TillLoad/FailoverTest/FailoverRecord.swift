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
        /// Seconds of a purchase, from its first request to its grant, whatever went wrong in between.
        var purchases: [Double] = []
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

    /// Seconds from `start` until purchases are granted again: to the end of the last pause of a second or more between
    /// two grants, or to the first grant. Also the longest pause. Nil if there was no grant since.
    static func recovery(
        _ good: [ContinuousClock.Instant], from start: ContinuousClock.Instant
    ) -> (seconds: Double, pause: Double)? {
        let since = good.filter { $0 > start }
        guard var end = since.first else { return nil }
        var (last, longest) = (start, Duration.zero)
        for instant in since {
            if instant - last >= .seconds(1) { end = instant }
            longest = max(longest, instant - last)
            last = instant
        }
        return ((end - start) / .seconds(1), longest / .seconds(1))
    }
}
