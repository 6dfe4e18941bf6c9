import TillBilling

/// The caller of a request, and how long it waits. A budget is divided among sources, and within a source among callers
/// by name.
public struct RequestCaller: Sendable, Hashable {
    public enum Priority: String, Sendable, CaseIterable {
        /// A person waits for the response. These requests go first, but bulk work gets every fifth slot.
        case urgent
        case bulk
    }

    public let name: String
    /// The source whose callers share one slot in each round; by default, each caller is its own source.
    public let source: String
    public let priority: Priority
    /// Consecutive slots in this caller's round, 1 to 100.
    public let weight: Int
    /// The maximum wait in milliseconds. After it, the request is refused with the earliest time of a retry.
    public let timeout: Int64

    public init(
        _ name: String, source: String? = nil, priority: Priority = .urgent, weight: Int = 1, timeout: Int64 = 10_000
    ) {
        self.name = name
        self.source = source ?? "caller \(name)"
        self.priority = priority
        self.weight = min(max(weight, 1), 100)
        self.timeout = max(timeout, 0)
    }

    /// A customer's request that waits for Apple.
    public static let buyer = RequestCaller("buyer")
    /// Background work, such as reconciliation.
    public static func bulk(_ name: String, weight: Int = 1) -> RequestCaller {
        RequestCaller(name, priority: .bulk, weight: weight, timeout: 600_000)
    }
}

/// The waiting requests: urgent ones before bulk work, then sources in rounds, then callers in rounds. Requests of one
/// caller are served in order of arrival.
struct RequestQueue {
    /// One waiting request.
    struct Waiter {
        let number: UInt64
        let caller: RequestCaller
        let deadline: Instant
    }

    private struct CallerQueue {
        var waiters: [Waiter]
        /// Slots left in this round.
        var credit: Int
    }

    /// The callers of one source.
    private struct SourceQueue {
        /// The caller whose round it is comes first.
        var round: [String] = []
        var callerQueues: [String: CallerQueue] = [:]

        var count: Int { callerQueues.values.reduce(0) { $0 + $1.waiters.count } }

        /// Removes the next request, and tells whether its caller has another slot in this round.
        mutating func next() -> (waiter: Waiter, hasMore: Bool)? {
            // Removed from the dictionary, so that it is changed in place without a copy.
            guard let name = round.first, var callerQueue = callerQueues.removeValue(forKey: name) else { return nil }
            let waiter = callerQueue.waiters.removeFirst()
            callerQueue.credit -= 1
            if callerQueue.waiters.isEmpty {
                round.removeFirst()
                return (waiter, false)
            }
            let hasMore = callerQueue.credit > 0
            if !hasMore {
                callerQueue.credit = callerQueue.waiters[0].caller.weight
                round.removeFirst()
                round.append(name)
            }
            callerQueues[name] = callerQueue
            return (waiter, hasMore)
        }

        mutating func append(_ waiter: Waiter) {
            let name = waiter.caller.name
            if callerQueues[name] == nil {
                round.append(name)
                callerQueues[name] = CallerQueue(waiters: [], credit: waiter.caller.weight)
            }
            callerQueues[name]?.waiters.append(waiter)
        }

        mutating func remove(where leaves: (Waiter) -> Bool) -> [Waiter] {
            var left: [Waiter] = []
            for name in round {
                guard var callerQueue = callerQueues[name], callerQueue.waiters.contains(where: leaves) else {
                    continue
                }
                left += callerQueue.waiters.filter(leaves)
                callerQueue.waiters.removeAll(where: leaves)
                callerQueues[name] = callerQueue.waiters.isEmpty ? nil : callerQueue
            }
            round.removeAll { callerQueues[$0] == nil }
            return left
        }
    }

    private struct PriorityQueue {
        /// The source whose round it is comes first.
        var round: [String] = []
        var sources: [String: SourceQueue] = [:]

        mutating func next() -> Waiter? {
            guard let name = round.first, var source = sources.removeValue(forKey: name), let next = source.next()
            else { return nil }
            if source.round.isEmpty {
                round.removeFirst()
                return next.waiter
            }
            if !next.hasMore {
                round.removeFirst()
                round.append(name)
            }
            sources[name] = source
            return next.waiter
        }

        mutating func append(_ waiter: Waiter) {
            let name = waiter.caller.source
            if sources[name] == nil { round.append(name) }
            sources[name, default: SourceQueue()].append(waiter)
        }

        mutating func remove(where leaves: (Waiter) -> Bool) -> [Waiter] {
            var left: [Waiter] = []
            for name in round {
                guard var source = sources.removeValue(forKey: name) else { continue }
                left += source.remove(where: leaves)
                if !source.round.isEmpty { sources[name] = source }
            }
            round.removeAll { sources[$0] == nil }
            return left
        }

        var waiters: some Sequence<Waiter> {
            sources.values.lazy.flatMap { source in source.callerQueues.values.lazy.flatMap(\.waiters) }
        }
    }

    /// The number of urgent slots between two bulk slots, while requests of both kinds wait.
    static let urgentShare = 4

    private var urgent = PriorityQueue()
    private var bulk = PriorityQueue()
    private var urgentInARow = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ waiter: Waiter) {
        count += 1
        switch waiter.caller.priority {
        case .urgent: urgent.append(waiter)
        case .bulk: bulk.append(waiter)
        }
    }

    /// Removes the next request.
    mutating func next() -> Waiter? {
        let isBulk = urgent.round.isEmpty || (!bulk.round.isEmpty && urgentInARow >= Self.urgentShare)
        urgentInARow = isBulk || bulk.round.isEmpty ? 0 : urgentInARow + 1
        guard let waiter = isBulk ? bulk.next() : urgent.next() else { return nil }
        count -= 1
        return waiter
    }

    /// Removes all matching requests.
    mutating func remove(where leaves: (Waiter) -> Bool) -> [Waiter] {
        let left = urgent.remove(where: leaves) + bulk.remove(where: leaves)
        count -= left.count
        return left
    }

    /// The number of requests that this caller already has waiting; at least these come first.
    func ahead(of caller: RequestCaller) -> Int {
        (caller.priority == .urgent ? urgent : bulk).sources[caller.source]?.callerQueues[caller.name]?.waiters.count
            ?? 0
    }

    /// The request to displace for one more of this caller: the last of the source with the most waiting requests, if
    /// it has more than the caller's own source would have. Nil: the new request is refused.
    ///
    /// - Parameter leader: is never displaced, because all others depend on its pause.
    func evicted(by caller: RequestCaller, except leader: UInt64?) -> UInt64? {
        let own = [urgent, bulk].reduce(0) { $0 + ($1.sources[caller.source]?.count ?? 0) }
        let fullest = [urgent, bulk].flatMap { $0.sources.values }.max { $0.count < $1.count }
        guard let fullest, fullest.count > own + 1 else { return nil }
        return fullest.callerQueues.values.sorted { $0.waiters.count > $1.waiters.count }
            .lazy.compactMap { callerQueue in callerQueue.waiters.last { $0.number != leader }?.number }.first
    }

    var earliestDeadline: Instant? { waiters.map(\.deadline).min() }

    /// Any waiting request, preferably one far from the front.
    var lastWaiting: UInt64? { Self.last(of: bulk) ?? Self.last(of: urgent) }

    private static func last(of priority: PriorityQueue) -> UInt64? {
        guard let source = priority.round.last.flatMap({ priority.sources[$0] }) else { return nil }
        return source.round.last.flatMap { source.callerQueues[$0] }?.waiters.last?.number
    }

    private var waiters: some Sequence<Waiter> { [urgent, bulk].lazy.flatMap(\.waiters) }
}
