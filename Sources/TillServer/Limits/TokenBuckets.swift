import TillBilling
import TillThreads

/// One token bucket for each caller, for a bounded number of callers.
///
/// When all places are taken, a newcomer replaces the fullest bucket and continues with that bucket's tokens. So no
/// number of callers gives a caller more tokens: an empty bucket is the last to be replaced, and a caller who returns
/// after being replaced finds no more than the fullest bucket had.
final class TokenBuckets: Sendable {
    /// How fast a bucket refills, and how much it contains.
    struct Rate: Sendable {
        /// Microseconds for one token.
        let interval: Int64
        let burst: Int64

        init(interval: Int64, burst: Int64) {
            self.interval = interval
            self.burst = burst
        }

        init(_ rate: RequestLimits.Rate) {
            interval = max(1, 1_000_000 / rate.perSecond)
            burst = rate.burst
        }

        /// Microseconds from empty to full.
        fileprivate var whole: Int64 { interval * burst }
    }

    /// How many callers have a bucket of their own. A bucket and the longest name take less than 400 bytes.
    static let capacity = 32_768

    private let rate: Rate
    private let capacity: Int
    private let clock: Server.Clock
    /// Called when a newcomer replaces a bucket that is not full.
    private let replaced: @Sendable () -> Void
    private let table = Locked(Table())

    init(
        _ rate: Rate, capacity: Int = TokenBuckets.capacity, clock: @escaping Server.Clock,
        replaced: @escaping @Sendable () -> Void = {}
    ) {
        self.rate = rate
        self.capacity = capacity
        self.clock = clock
        self.replaced = replaced
    }

    /// How many callers have a bucket.
    var count: Int { table.withLock { $0.buckets.count } }

    /// Takes one token.
    ///
    /// - Returns: nil if there was one; otherwise the whole seconds after which there is one.
    func take(_ name: String) -> Int64? {
        let now = now
        let (wait, isReplacing) = table.withLock { table -> (Int64?, Bool) in
            let (slot, isReplacing) = table.slot(of: name, capacity: capacity, now: now)
            let fullAt = fullAt(table.buckets[slot].fullAt, now)
            let wait = seconds(from: fullAt, now)
            table.set(slot, fullAt: wait == nil ? fullAt + rate.interval : fullAt)
            return (wait, isReplacing)
        }
        if isReplacing { replaced() }
        return wait
    }

    /// What ``take(_:)`` would return, without taking.
    func wait(of name: String) -> Int64? {
        let now = now
        return table.withLock { table in
            table.slots[name].flatMap { seconds(from: fullAt(table.buckets[$0].fullAt, now), now) }
        }
    }

    /// Returns a token that was taken.
    func giveBack(_ name: String) {
        table.withLock { table in
            guard let slot = table.slots[name] else { return }
            table.set(slot, fullAt: table.buckets[slot].fullAt - rate.interval)
        }
    }

    private var now: Int64 { clock().milliseconds * 1_000 }

    /// When the bucket is full again: at the latest, after the time that an empty one needs. Only a clock that was set
    /// back can show more.
    private func fullAt(_ stored: Int64, _ now: Int64) -> Int64 { min(max(stored, now), now + rate.whole) }

    /// The whole seconds until a token is there; nil if there is one.
    private func seconds(from fullAt: Int64, _ now: Int64) -> Int64? {
        let wait = fullAt + rate.interval - rate.whole - now
        return wait > 0 ? (wait + 999_999) / 1_000_000 : nil
    }
}

/// The buckets, and a heap of them whose first is the fullest. Dictionaries have no stable order, so the heap also
/// makes the choice the same in every run.
private struct Table {
    struct Bucket {
        var name: String
        /// When it is full, in microseconds; in the past for a full one.
        var fullAt: Int64
        /// Its place in `heap`.
        var place: Int
    }

    private(set) var buckets: [Bucket] = []
    private(set) var slots: [String: Int] = [:]
    private var heap: [Int] = []

    /// The bucket of this caller, which may be a new one, and whether it replaced one that was not full.
    mutating func slot(of name: String, capacity: Int, now: Int64) -> (slot: Int, isReplacing: Bool) {
        if let slot = slots[name] { return (slot, false) }
        guard buckets.count >= capacity, let fullest = heap.first else {
            buckets.append(Bucket(name: name, fullAt: now, place: heap.count))
            heap.append(buckets.count - 1)
            slots[name] = buckets.count - 1
            rise(heap.count - 1)
            return (buckets.count - 1, false)
        }
        slots[buckets[fullest].name] = nil
        slots[name] = fullest
        buckets[fullest].name = name
        return (fullest, buckets[fullest].fullAt > now)
    }

    mutating func set(_ slot: Int, fullAt: Int64) {
        let before = buckets[slot].fullAt
        buckets[slot].fullAt = fullAt
        if fullAt < before { rise(buckets[slot].place) } else { sink(buckets[slot].place) }
    }

    private mutating func rise(_ start: Int) {
        var place = start
        while place > 0, isFuller(place, than: (place - 1) / 2) {
            exchange(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink(_ start: Int) {
        var place = start
        while true {
            var fullest = place
            for child in (2 * place + 1)...(2 * place + 2) where child < heap.count && isFuller(child, than: fullest) {
                fullest = child
            }
            guard fullest != place else { return }
            exchange(place, fullest)
            place = fullest
        }
    }

    private func isFuller(_ place: Int, than other: Int) -> Bool {
        buckets[heap[place]].fullAt < buckets[heap[other]].fullAt
    }

    private mutating func exchange(_ place: Int, _ other: Int) {
        heap.swapAt(place, other)
        buckets[heap[place]].place = place
        buckets[heap[other]].place = other
    }
}
