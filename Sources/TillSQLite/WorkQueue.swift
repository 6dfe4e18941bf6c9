import TillSQL
import TillThreads

/// A body in the queue, and where its result goes. Passed from thread to thread; one thread uses it at a time.
class Job: @unchecked Sendable {
    /// Runs the body.
    /// - Returns: whether it returned a value; an error that it threw is kept until `answer`.
    func run(_ scope: SQLiteConnection) -> Bool { false }

    /// Replaces the body's value by an error found after it returned.
    func refuse(_ error: DatabaseError) {}

    /// Sends the caller the body's own outcome, or `error` if there is one. Called once.
    func answer(_ error: DatabaseError?) {}
}

/// Unchecked because only one thread writes and reads the outcome: the writer's, a reader's, or the inline caller's.
final class Body<Value: Sendable>: Job, @unchecked Sendable {
    private let body: @Sendable (any Connection) throws -> Value
    private let reply: @Sendable (Result<Value, any Error>) -> Void
    private var outcome: Result<Value, any Error>?
    private var isAnswered = false

    init(
        _ body: @escaping @Sendable (any Connection) throws -> Value,
        _ reply: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        self.body = body
        self.reply = reply
    }

    override func run(_ scope: SQLiteConnection) -> Bool {
        do {
            outcome = .success(try body(scope))
            return true
        } catch {
            outcome = .failure(error)
            return false
        }
    }

    override func refuse(_ error: DatabaseError) { outcome = .failure(error) }

    override func answer(_ error: DatabaseError?) {
        precondition(!isAnswered, "a body is told one outcome, once (invariant 2)")
        isAnswered = true
        if let error {
            reply(.failure(error))
        } else {
            reply(outcome ?? .failure(DatabaseError(.other, "the body was never run")))
        }
    }
}

/// A first-in, first-out queue of at most `limit` jobs, so memory stays bounded when the disk cannot keep up.
final class WorkQueue: @unchecked Sendable {
    private let monitor = Monitor()
    private let limit: Int
    private var jobs: [Job] = []
    private var head = 0
    private var idleThreads = 0
    private var isClosed = false

    init(limit: Int) { self.limit = limit }

    /// How many jobs wait.
    var count: Int { monitor.withLock { jobs.count - head } }

    /// - Returns: why the job was rejected, or nil if it will be answered.
    func add(_ job: Job) -> DatabaseError? {
        monitor.withLock {
            if isClosed { return .afterClose }
            guard jobs.count - head < limit else {
                return DatabaseError(.busy, "\(limit) requests are already waiting for the database; try again later")
            }
            jobs.append(job)
            if idleThreads > 0 { monitor.signal() }
            return nil
        }
    }

    /// Waits for work and takes up to `count` jobs, oldest first. Empty once the queue is closed and drained.
    func take(atMost count: Int) -> [Job] {
        monitor.withLock {
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
                // Moves the remaining jobs once for every 1024 jobs, not once for every batch.
                jobs.removeFirst(end)
                head = 0
            } else {
                head = end
            }
            return taken
        }
    }

    /// Jobs added before are still handed out; new jobs are rejected.
    func close() {
        monitor.withLock {
            isClosed = true
            monitor.broadcast()
        }
    }
}

extension DatabaseError {
    static var afterClose: DatabaseError { DatabaseError(.closed, "the database has been closed") }
}
