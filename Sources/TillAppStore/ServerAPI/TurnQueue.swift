import TillBilling

/// Who asks Apple, and how long for a turn: a budget is shared by the name.
public struct RequestCaller: Sendable, Hashable {
    public enum Lane: String, Sendable, CaseIterable {
        /// Somebody waits for the answer now. Goes first, but the bulk gets every fifth turn.
        case urgent
        case bulk
    }

    public let name: String
    public let lane: Lane
    /// Turns in a row when it is this caller's round, 1 to 100.
    public let weight: Int
    /// Milliseconds to wait for a turn, at most; then it is refused with the moment that it may try again.
    public let patience: Int64

    public init(_ name: String, lane: Lane = .urgent, weight: Int = 1, patience: Int64 = 10_000) {
        self.name = name
        self.lane = lane
        self.weight = min(max(weight, 1), 100)
        self.patience = max(patience, 0)
    }

    /// A buyer's request that waits for Apple.
    public static let buyer = RequestCaller("buyer")
    /// Work that has all day, such as reconciliation.
    public static func bulk(_ name: String, weight: Int = 1) -> RequestCaller {
        RequestCaller(name, lane: .bulk, weight: weight, patience: 600_000)
    }
}

/// Those who wait for a turn. Lanes first, within a lane the callers in rounds, and of one caller the first come first.
struct TurnQueue {
    /// One request that waits.
    struct Waiter {
        let number: UInt64
        let caller: RequestCaller
        let deadline: Instant
    }

    private struct Line {
        var waiters: [Waiter]
        /// Turns left in this round.
        var credit: Int
    }

    private struct LaneQueue {
        /// The caller whose round it is comes first.
        var round: [String] = []
        var lines: [String: Line] = [:]

        mutating func next() -> Waiter? {
            // Taken out, so that it is changed in place.
            guard let name = round.first, var line = lines.removeValue(forKey: name) else { return nil }
            let waiter = line.waiters.removeFirst()
            line.credit -= 1
            if line.waiters.isEmpty {
                round.removeFirst()
                return waiter
            }
            if line.credit <= 0 {
                line.credit = line.waiters[0].caller.weight
                round.removeFirst()
                round.append(name)
            }
            lines[name] = line
            return waiter
        }

        mutating func append(_ waiter: Waiter) {
            let name = waiter.caller.name
            if lines[name] == nil {
                round.append(name)
                lines[name] = Line(waiters: [], credit: waiter.caller.weight)
            }
            lines[name]?.waiters.append(waiter)
        }

        mutating func remove(where leaves: (Waiter) -> Bool) -> [Waiter] {
            var left: [Waiter] = []
            for name in round {
                guard var line = lines[name], line.waiters.contains(where: leaves) else { continue }
                left += line.waiters.filter(leaves)
                line.waiters.removeAll(where: leaves)
                lines[name] = line.waiters.isEmpty ? nil : line
            }
            round.removeAll { lines[$0] == nil }
            return left
        }
    }

    /// Turns of the urgent lane between two of the bulk, while both wait.
    static let urgentTurns = 4

    private var urgent = LaneQueue()
    private var bulk = LaneQueue()
    private var urgentInARow = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ waiter: Waiter) {
        count += 1
        switch waiter.caller.lane {
        case .urgent: urgent.append(waiter)
        case .bulk: bulk.append(waiter)
        }
    }

    /// Takes out the one whose turn it is.
    mutating func next() -> Waiter? {
        let isBulk = urgent.round.isEmpty || (!bulk.round.isEmpty && urgentInARow >= Self.urgentTurns)
        urgentInARow = isBulk || bulk.round.isEmpty ? 0 : urgentInARow + 1
        guard let waiter = isBulk ? bulk.next() : urgent.next() else { return nil }
        count -= 1
        return waiter
    }

    /// Takes out all that leave.
    mutating func remove(where leaves: (Waiter) -> Bool) -> [Waiter] {
        let left = urgent.remove(where: leaves) + bulk.remove(where: leaves)
        count -= left.count
        return left
    }

    /// How many of the same caller wait already: at least those come first.
    func ahead(of caller: RequestCaller) -> Int {
        (caller.lane == .urgent ? urgent : bulk).lines[caller.name]?.waiters.count ?? 0
    }

    var earliestDeadline: Instant? { waiters.map(\.deadline).min() }

    /// Somebody who waits, far from the front if that is easy to tell.
    var someone: UInt64? { (bulk.round.last.flatMap { bulk.lines[$0] } ?? lastUrgent)?.waiters.last?.number }

    private var lastUrgent: Line? { urgent.round.last.flatMap { urgent.lines[$0] } }

    private var waiters: some Sequence<Waiter> {
        [urgent, bulk].lazy.flatMap { lane in lane.lines.values.lazy.flatMap(\.waiters) }
    }
}
