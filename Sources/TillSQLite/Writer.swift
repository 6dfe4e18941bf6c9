import TillSQL
import TillThreads

/// The queue of writes, the thread that commits them and the thread that runs checkpoints.
final class Writer: @unchecked Sendable {
    let queue: WorkQueue<Job>
    private let commits: GroupCommit
    private let checkpointer: Checkpointer
    private let batchLimit: Int
    private var threads: [SystemThread] = []

    /// Inline, a checkpoint follows this many pages instead of a pause.
    private static let inlineCheckpointPages = 64

    init(_ factory: ConnectionFactory, _ ownRows: OwnRows) throws(DatabaseError) {
        queue = WorkQueue(limit: factory.options.queueLimit)
        batchLimit = max(1, factory.options.batchLimit)
        commits = try GroupCommit(watch: factory.options.commitWatch) { () throws(DatabaseError) in
            let connection = try factory.writer()
            ownRows.watch(connection.handle)
            return connection
        }
        checkpointer = try Checkpointer(try factory.checkpointer(), logLimitBytes: factory.options.logLimitBytes)
    }

    /// - Returns: false when the system cannot create another thread.
    func start() -> Bool {
        guard let committing = SystemThread({ self.commitAll() }) else { return false }
        threads.append(committing)
        guard let checkpointing = SystemThread({ self.checkpointer.run() }) else { return false }
        threads.append(checkpointing)
        return true
    }

    private func commitAll() {
        while true {
            let batch = queue.take(atMost: batchLimit)
            if batch.isEmpty { return }
            commits.commit(batch)
            checkpointer.committed(logPages: commits.logPages)
        }
    }

    func commitInline(_ jobs: [Job]) {
        commits.commit(jobs)
        if commits.logPages >= Self.inlineCheckpointPages { checkpointer.checkpointNow() }
    }

    /// Commits the queued jobs, then checkpoints and closes.
    func close() {
        queue.close()
        checkpointer.stop()
        for thread in threads { thread.join() }
        commits.close()
        checkpointer.close()
    }
}
