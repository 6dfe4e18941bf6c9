import TillSQL
import TillThreads

/// The queue of writes, the thread that commits them and the one that checkpoints.
final class Writer: @unchecked Sendable {
    let queue: WorkQueue
    private let commits: GroupCommit
    private let checkpointer: Checkpointer
    private let batchLimit: Int
    private var threads: [SystemThread] = []

    /// Inline, a checkpoint comes after so many pages instead of after so much time.
    private static let inlineCheckpointPages = 64

    init(_ opening: Opening) throws(DatabaseError) {
        queue = WorkQueue(limit: opening.options.queueLimit)
        batchLimit = max(1, opening.options.batchLimit)
        commits = try GroupCommit { () throws(DatabaseError) in try opening.writer() }
        checkpointer = try Checkpointer(try opening.checkpointer(), logLimitBytes: opening.options.logLimitBytes)
    }

    /// - Returns: false when the system has no thread to give.
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

    /// Commits what waits, then checkpoints and closes.
    func close() {
        queue.close()
        checkpointer.stop()
        for thread in threads { thread.join() }
        commits.close()
        checkpointer.close()
    }
}
