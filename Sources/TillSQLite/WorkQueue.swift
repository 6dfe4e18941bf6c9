import TillSQL

/// First come, first served, and no more than `limit` waiting: memory stays bounded when the disk can't keep up.
final class WorkQueue: @unchecked Sendable {
    private let monitor = Monitor()
    private let limit: Int
    private var jobs: [Job] = []
    private var head = 0
    private var idleThreads = 0
    private var isClosed = false

    init(limit: Int) { self.limit = limit }

    /// - Returns: why the job was not taken, or nil if it will be answered.
    func add(_ job: Job) -> DatabaseError? {
        monitor.locked {
            if isClosed { return .afterClose }
            guard jobs.count - head < limit else {
                return DatabaseError(.busy, "\(limit) requests wait for the database already; ask again later")
            }
            jobs.append(job)
            if idleThreads > 0 { monitor.signal() }
            return nil
        }
    }

    /// Waits for work and takes up to `count` jobs, oldest first. Empty once the queue is closed and drained.
    func take(atMost count: Int) -> [Job] {
        monitor.locked {
            while jobs.count == head {
                if isClosed { return [] }
                idleThreads += 1
                monitor.wait()
                idleThreads -= 1
            }
            let end = min(head + count, jobs.count)
            let taken = Array(jobs[head..<end])
            if end == jobs.count {
                jobs.removeAll(keepingCapacity: jobs.capacity <= 1024)
                head = 0
            } else if end >= 1024 {
                // Moves what is left once in 1024 jobs, not once in a batch.
                jobs.removeFirst(end)
                head = 0
            } else {
                head = end
            }
            return taken
        }
    }

    /// What was added before is still handed out; nothing is added any more.
    func close() {
        monitor.locked {
            isClosed = true
            monitor.broadcast()
        }
    }
}

extension DatabaseError {
    static var afterClose: DatabaseError { DatabaseError(.closed, "the database has been closed") }
}
