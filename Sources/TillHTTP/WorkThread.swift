import TillThreads

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A thread that runs tasks one after another, for computations that are too long for a connection's own thread and for
/// the few threads that all tasks share: what runs here holds up neither.
///
/// How much may wait for it is for its user to bound.
public final class WorkThread: TaskExecutor, @unchecked Sendable {
    /// Guards everything below; signalled for new work and for the end.
    private let isWanted = Monitor()
    private var waiting: [UnownedJob] = []
    private var isStopping = false

    /// - Parameter niceness: 0 to 19; the higher, the sooner it gives way to other threads where cores are few.
    /// - Throws: `system` if there is no thread to be had.
    public init(niceness: Int32 = 0) throws(ListenerFault) {
        // The thread holds this object until it is stopped and nothing waits any more.
        let isStarted = SystemThread.detached { [self] in
            giveWay(niceness)
            run()
        }
        guard isStarted else { throw .system(step: "pthread_create", code: errno) }
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        isWanted.withLock {
            waiting.append(job)
            isWanted.signal()
        }
    }

    /// Ends the thread once everything that waits has run. Without this it lives as long as the process.
    public func stop() {
        isWanted.withLock {
            isStopping = true
            isWanted.signal()
        }
    }

    private func run() {
        while let jobs = next() {
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    /// Everything that waits, oldest first; nil when it is over.
    private func next() -> [UnownedJob]? {
        isWanted.withLock {
            while waiting.isEmpty {
                if isStopping { return nil }
                isWanted.wait()
            }
            defer { waiting = [] }
            return waiting
        }
    }

    /// On Linux the niceness of a thread is its own.
    private func giveWay(_ niceness: Int32) {
        #if canImport(Glibc)
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        #endif
    }
}
