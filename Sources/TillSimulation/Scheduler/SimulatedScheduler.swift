import TillBilling

/// The scheduler of a simulated world: one thread, one virtual clock and all pending work. The seed selects the next
/// piece of work, and time advances only when no work is ready.
///
/// Only the thread that runs the scheduler touches the parts of a world; therefore their types are `@unchecked
/// Sendable`.
public final class SimulatedScheduler: @unchecked Sendable {
    /// The true time of this world. A process's own clock may differ.
    public private(set) var now: Instant
    /// The name of the planted mistake of every task in this world.
    let planted: String?
    /// The number of pieces of work done.
    public private(set) var steps = 0

    private var random: SeededRandom
    private var ready: [Ready] = []
    private var timers = TimerHeap()

    private struct Ready {
        let job: UnownedJob
        let process: SimulatedProcess
    }

    init(seed: UInt64, start: Instant, planted: String? = nil) {
        self.planted = planted
        random = SeededRandom(seed: seed)
        now = start
    }

    // MARK: Scheduling

    func add(_ job: UnownedJob, of process: SimulatedProcess) { ready.append(Ready(job: job, process: process)) }

    /// Calls `action` after the given milliseconds of virtual time, between two pieces of work.
    @discardableResult
    func after(_ milliseconds: Int64, _ action: @escaping () -> Void) -> TimerHeap.Entry {
        timers.insert(at: now.adding(milliseconds: max(0, milliseconds)), action)
    }

    /// Returns after the given milliseconds of virtual time, or at once when the calling task is cancelled.
    func pause(_ milliseconds: Int64) async {
        let nap = Pause()
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                guard !nap.isOver else { return continuation.resume() }
                nap.continuation = continuation
                nap.timer = after(milliseconds) { nap.end() }
            }
        } onCancel: {
            nap.end()
        }
    }

    /// Touched only by the thread of its scheduler.
    private final class Pause: @unchecked Sendable {
        var continuation: UnsafeContinuation<Void, Never>?
        var timer: TimerHeap.Entry?
        private(set) var isOver = false

        func end() {
            isOver = true
            timer?.action = nil
            timer = nil
            let waiting = continuation
            continuation = nil
            waiting?.resume()
        }
    }

    // MARK: Running

    /// Does one piece of work, or advances the time to the next one.
    ///
    /// - Returns: false if no work is left.
    func step() -> Bool {
        steps += 1
        guard !ready.isEmpty else {
            guard let timer = timers.removeFirst() else { return false }
            now = max(now, timer.due)
            timer.action?()
            return true
        }
        let index = ready.count == 1 ? 0 : random.below(ready.count)
        ready.swapAt(index, ready.count - 1)
        let next = ready.removeLast()
        next.process.run(next.job)
        return true
    }

    /// Drops the work of a killed process.
    func drop(_ process: SimulatedProcess) { ready.removeAll { $0.process === process } }
}

/// Timers ordered by due time, and at the same moment by insertion.
struct TimerHeap {
    final class Entry {
        let due: Instant
        fileprivate let number: UInt64
        /// Nil after cancellation.
        var action: (() -> Void)?

        fileprivate init(due: Instant, number: UInt64, action: @escaping () -> Void) {
            self.due = due
            self.number = number
            self.action = action
        }

        fileprivate func isBefore(_ other: Entry) -> Bool { (due, number) < (other.due, other.number) }
    }

    private var entries: [Entry] = []
    private var count: UInt64 = 0

    mutating func insert(at due: Instant, _ action: @escaping () -> Void) -> Entry {
        count += 1
        let entry = Entry(due: due, number: count, action: action)
        entries.append(entry)
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].isBefore(entries[parent]) else { break }
            entries.swapAt(child, parent)
            child = parent
        }
        return entry
    }

    /// The next timer that was not cancelled.
    mutating func removeFirst() -> Entry? {
        while let first = entries.first {
            let last = entries.removeLast()
            if !entries.isEmpty {
                entries[0] = last
                sink()
            }
            if first.action != nil { return first }
        }
        return nil
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < entries.count else { return }
            if child + 1 < entries.count, entries[child + 1].isBefore(entries[child]) { child += 1 }
            guard entries[child].isBefore(entries[parent]) else { return }
            entries.swapAt(child, parent)
            parent = child
        }
    }
}
