import TillAppStore
import TillBilling
import TillThreads

/// How a server measures itself, and what it learns from other parts of the process.
public struct Monitoring: Sendable {
    /// Runs work and says whether it ended within so many milliseconds. Work that did not goes on.
    public typealias Deadline =
        @Sendable (_ milliseconds: Int64, _ work: @escaping @Sendable () async -> Void) async
        -> Bool

    /// Bytes of the volume on which the ledger is.
    public struct VolumeSpace: Sendable, Hashable {
        public let free: Int64
        public let size: Int64

        public init(free: Int64, size: Int64) {
            self.free = free
            self.size = size
        }
    }

    /// The version of the program.
    public var version = "unknown"
    /// Nanoseconds of a clock that is never set.
    public let stopwatch: @Sendable () -> Int64
    /// The space for the ledger; nil if it is unknown. It may wait for the disk.
    public var volume: @Sendable () async -> VolumeSpace? = { nil }
    /// When the ledger was last backed up; nil if that is unknown. It may wait for the disk.
    public var lastBackup: @Sendable () -> Instant? = { nil }
    /// What the driver and the server of a shared database say about themselves; nil for a file. It may wait for the
    /// network.
    public var database: @Sendable () async -> DatabaseFigures? = { nil }
    /// How many writes wait; nil if it is unknown.
    public var waitingWrites: @Sendable () -> Int? = { nil }
    /// By default, work may take any time.
    public var within: Deadline = { _, work in
        await work()
        return true
    }
    /// The database driver reports its commits here.
    public let commits: CommitFigures
    /// Requests to Apple are counted here.
    public let apple: AppleFigures

    /// - Parameters:
    ///   - stopwatch: by default it stands still.
    ///   - hosts: Apple's, or the emulated store's.
    public init(
        stopwatch: @escaping @Sendable () -> Int64 = { 0 }, hosts: AppleHosts = .apple
    ) {
        self.stopwatch = stopwatch
        commits = CommitFigures(stopwatch)
        apple = AppleFigures(hosts)
    }
}

/// Work that may wait for a stalled disk: its callers wait for a limited time, and a limited number of calls is under
/// way.
final class BoundedWork: Sendable {
    private let limit: Int
    private let underWay = Locked(0)

    init(limit: Int) { self.limit = limit }

    /// Returns nil if the work has not ended within so many milliseconds, or if too many calls are under way.
    func run<Value: Sendable>(
        _ milliseconds: Int64, _ within: Monitoring.Deadline, _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let isFree = underWay.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
        guard isFree else { return nil }
        let result = Locked<Value?>(nil)
        let hasEnded = await within(milliseconds) { [underWay] in
            let value = await work()
            result.withLock { $0 = value }
            underWay.withLock { $0 -= 1 }
        }
        return hasEnded ? result.withLock { $0 } : nil
    }
}
