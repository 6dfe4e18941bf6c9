import Synchronization
import TillBilling
import TillLedger
import TillThreads

/// Writes log lines from a thread of its own, so that a request never waits for whatever reads the log.
///
/// Lines are collected in one buffer, and the thread writes all that have come together: one wake for many lines. If
/// the reader is slower than the lines, the buffer is full, and further lines are dropped and counted.
public final class LogWriter: @unchecked Sendable {
    private enum Activity {
        case waiting
        /// A line has come; more are awaited for a moment.
        case collecting
        case writing
        case ended
    }

    /// Bytes of lines that wait to be written.
    public static let bufferLimit = 1 << 20
    /// Milliseconds for which the thread collects lines. An error is written at once.
    private static let collectingTime = 10

    private let output: @Sendable ([UInt8]) -> Void
    private let clock: @Sendable () -> Instant
    private let limit: Int
    private let minimum: Atomic<Int>

    /// Guards all state below; signalled for lines, for the end, and when it has come.
    private let changed = Monitor()
    private var formatter: LineFormatter
    private var sampler = LineSampler()
    private var buffer: [UInt8] = []
    private var dropped = 0
    private var isUrgent = false
    private var isStopping = false
    private var activity = Activity.waiting

    /// - Parameters:
    ///   - output: writes bytes; it may take long. Called from one thread only.
    ///   - limit: bytes of lines that may wait.
    /// - Returns: nil if the system cannot create a thread.
    public init?(
        _ format: LogFormat, level: Log.Level, clock: @escaping @Sendable () -> Instant,
        limit: Int = LogWriter.bufferLimit, output: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.output = output
        self.clock = clock
        self.limit = limit
        minimum = Atomic(Self.rank(level))
        formatter = LineFormatter(format)
        // The thread retains this object until `stop`.
        guard SystemThread.detached({ [self] in run() }) else { return nil }
    }

    /// The least level that is written. It may be changed at any time.
    public var level: Log.Level {
        get { Log.Level.allCases[minimum.load(ordering: .relaxed)] }
        set { minimum.store(Self.rank(newValue), ordering: .relaxed) }
    }

    private static func rank(_ level: Log.Level) -> Int { Log.Level.allCases.firstIndex(of: level) ?? 0 }

    public var log: Log {
        Log(
            isWritten: { [self] level in Self.rank(level) >= minimum.load(ordering: .relaxed) },
            sink: { [self] line in write(line) })
    }

    private func write(_ line: Log.Line) {
        let now = clock()
        changed.withLock {
            guard !isStopping else { return }
            let hadSuppressed = sampler.hasSuppressed
            if sampler.admits(line, at: now, report: { add($0, at: now) }) {
                add(line, at: now)
            } else if !hadSuppressed {
                // The thread reports suppressed lines, so from now on its wait has a limit.
                changed.broadcast()
            }
        }
    }

    /// Call inside the lock.
    private func add(_ line: Log.Line, at now: Instant) {
        guard buffer.count < limit else {
            dropped += 1
            return
        }
        formatter.append(line, at: now, to: &buffer)
        let wasUrgent = isUrgent
        isUrgent = isUrgent || line.event.level == .error || buffer.count >= limit / 2
        switch activity {
        case .waiting:
            activity = .collecting
            changed.broadcast()
        case .collecting where isUrgent && !wasUrgent: changed.broadcast()
        case .collecting, .writing, .ended: break
        }
    }

    /// Writes what has come, and ends the thread. Lines that come later are dropped.
    ///
    /// - Parameter milliseconds: returns after this time even if the reader takes nothing.
    public func stop(within milliseconds: Int = 2_000) {
        changed.withLock {
            guard !isStopping else { return }
            let now = clock()
            sampler.reportEnded(at: now, isLast: true) { add($0, at: now) }
            isStopping = true
            changed.broadcast()
            var waited = 0
            while activity != .ended, waited < milliseconds {
                changed.wait(milliseconds: 50)
                waited += 50
            }
        }
    }

    /// Call inside the lock.
    private func reportSuppressed() {
        guard sampler.hasSuppressed else { return }
        let now = clock()
        sampler.reportIfDue(at: now) { add($0, at: now) }
    }

    private func run() {
        var batch: [UInt8] = []
        while next(&batch) {
            output(batch)
            batch.removeAll(keepingCapacity: true)
        }
        changed.withLock {
            activity = .ended
            changed.broadcast()
        }
    }

    /// Waits for lines and takes them; false when the thread shall end.
    private func next(_ batch: inout [UInt8]) -> Bool {
        changed.withLock {
            while buffer.isEmpty {
                if isStopping { return false }
                activity = .waiting
                if sampler.hasSuppressed { changed.wait(milliseconds: 1_000) } else { changed.wait() }
                reportSuppressed()
            }
            activity = .collecting
            if !isUrgent, !isStopping { changed.wait(milliseconds: Self.collectingTime) }
            reportSuppressed()
            swap(&buffer, &batch)
            isUrgent = false
            if dropped > 0 {
                // All of them came after the lines in the buffer.
                let line = Log.Line(event: .linesDropped, fields: ["dropped": .integer(dropped)])
                formatter.append(line, at: clock(), to: &batch)
                dropped = 0
            }
            activity = .writing
            return true
        }
    }
}
