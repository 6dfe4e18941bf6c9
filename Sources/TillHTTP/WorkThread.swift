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
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let isWanted: UnsafeMutablePointer<pthread_cond_t>
    /// Under the mutex, as is everything below.
    private var waiting: [UnownedJob] = []
    private var isStopping = false

    /// - Parameter niceness: 0 to 19; the higher, the sooner it gives way to other threads where cores are few.
    /// - Throws: `system` if there is no thread to be had.
    public init(niceness: Int32 = 0) throws(ListenerFault) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        isWanted = .allocate(capacity: 1)
        isWanted.initialize(to: pthread_cond_t())
        pthread_cond_init(isWanted, nil)
        // The thread holds this object until it is stopped and nothing waits any more.
        let isStarted = startThread { [self] in
            giveWay(niceness)
            run()
        }
        guard isStarted else { throw .system(step: "pthread_create", code: errno) }
    }

    deinit {
        pthread_cond_destroy(isWanted)
        isWanted.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pthread_mutex_lock(mutex)
        waiting.append(job)
        pthread_cond_signal(isWanted)
        pthread_mutex_unlock(mutex)
    }

    /// Ends the thread once everything that waits has run. Without this it lives as long as the process.
    public func stop() {
        pthread_mutex_lock(mutex)
        isStopping = true
        pthread_cond_signal(isWanted)
        pthread_mutex_unlock(mutex)
    }

    private func run() {
        while let jobs = next() {
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    /// Everything that waits, oldest first; nil when it is over.
    private func next() -> [UnownedJob]? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while waiting.isEmpty {
            if isStopping { return nil }
            pthread_cond_wait(isWanted, mutex)
        }
        defer { waiting = [] }
        return waiting
    }

    /// On Linux the niceness of a thread is its own.
    private func giveWay(_ niceness: Int32) {
        #if canImport(Glibc)
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        #endif
    }
}
