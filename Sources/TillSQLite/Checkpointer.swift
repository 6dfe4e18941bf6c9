import CTillSQLite
import TillSQL
import TillThreads

/// Moves committed pages from the write-ahead log into the database file, on its own connection, so that requests do
/// not wait for it. It runs when the log has grown by `pagesWorthMoving`, or one second after a commit. Each run costs
/// two syncs that compete with the writer's, so running it more often slows all writes (docs/decisions/0006).
final class Checkpointer: @unchecked Sendable {
    /// Guards the fields up to `logPages`.
    private let monitor = Monitor()
    private var hasWork = false
    private var isWorthIt = false
    private var isStopping = false
    /// The length of the log at the last checkpoint.
    private var movedPages = 0
    private var logPages = 0

    /// Guards `connection`.
    private let checkpointLock = Locked<Void>()
    private let connection: SQLiteHandle

    /// Above this many pages the log is restarted from its beginning while the writer waits.
    let pageLimit: Int
    private var restartAbove: Int

    private static let pauseMilliseconds = 1_000
    /// 4 MiB of pages of 4 KiB.
    private static let pagesWorthMoving = 1_024

    init(_ connection: SQLiteHandle, logLimitBytes: Int) throws(DatabaseError) {
        self.connection = connection
        let pageSize = max(512, Int(try connection.integer("PRAGMA page_size")))
        pageLimit = max(1, logLimitBytes / pageSize)
        restartAbove = pageLimit
    }

    /// Called after a commit, on the writer's thread between two batches. The log now holds `logPages` pages.
    func committed(logPages: Int) {
        if logPages <= pageLimit {
            restartAbove = pageLimit
        } else if logPages > restartAbove {
            restart(logPages)
        }
        monitor.withLock {
            self.logPages = logPages
            // After a full checkpoint the log starts again at its beginning.
            if logPages < movedPages { movedPages = 0 }
            let becomesWorthIt = !isWorthIt && logPages - movedPages >= Self.pagesWorthMoving
            if becomesWorthIt { isWorthIt = true }
            if becomesWorthIt || !hasWork {
                hasWork = true
                monitor.signal()
            }
        }
    }

    /// Under load a passive checkpoint never catches up with the writer, and the log would grow without limit. A
    /// restart makes the writer wait while the remaining pages are moved. A query that still reads the log prevents the
    /// restart; the next attempt follows when the log has grown by a quarter of the limit.
    private func restart(_ logPages: Int) {
        restartAbove = logPages + pageLimit / 4
        checkpointLock.withLock { _ = try? connection.checkpoint(SQLITE_CHECKPOINT_RESTART) }
    }

    /// Runs one passive checkpoint on the caller's thread. After an error the log stays as it is.
    func checkpointNow() {
        checkpointLock.withLock { _ = try? connection.checkpoint(SQLITE_CHECKPOINT_PASSIVE) }
    }

    /// The body of the checkpointer's thread.
    func run() {
        while true {
            let stop = monitor.withLock {
                while !hasWork && !isStopping { monitor.wait() }
                if !isStopping, !isWorthIt { monitor.wait(milliseconds: Self.pauseMilliseconds) }
                hasWork = false
                isWorthIt = false
                movedPages = logPages
                return isStopping
            }
            if stop { return }
            checkpointNow()
        }
    }

    func stop() {
        monitor.withLock {
            isStopping = true
            monitor.signal()
        }
    }

    /// Runs the last checkpoint. Call it when all other connections of this process are closed.
    func close() {
        checkpointLock.withLock {
            _ = try? connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
            connection.close()
        }
    }
}
