import TillThreads

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A thread that runs tasks one after another, for computations that are too long for a connection's thread or for
/// Swift's few shared threads.
///
/// Its user must bound the number of waiting tasks.
public final class WorkThread: TaskExecutor, @unchecked Sendable {
    /// Guards all state below; signalled for new work and for the end.
    private let isWanted = Monitor()
    private var waiting: [UnownedJob] = []
    private var isStopping = false

    /// - Parameter niceness: 0 to 19; with a higher value, the thread yields earlier to other threads when cores are
    ///   few.
    /// - Throws: `system` if the system cannot create a thread.
    public init(niceness: Int32 = 0) throws(ListenerError) {
        // The thread retains this object until it is stopped and has no waiting work.
        let isStarted = SystemThread.detached { [self] in
            lowerPriority(niceness)
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

    /// Ends the thread after all waiting work has run. Without this call it lives as long as the process.
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

    /// All waiting work, oldest first; nil when the thread shall end.
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

    /// On Linux, niceness is a property of each thread.
    private func lowerPriority(_ niceness: Int32) {
        #if canImport(Glibc)
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        #endif
    }
}
