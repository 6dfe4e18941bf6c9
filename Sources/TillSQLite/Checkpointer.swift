import CTillSQLite
import TillSQL
import TillThreads

/// Moves committed pages from the write-ahead log into the database file, on a connection of its own, so that no
/// request waits for it: when the log has grown by `pagesWorthMoving`, or a second after a commit, and not at all when
/// nothing was committed. Each time costs two syncs that compete with the writer's own, and moves pages that the next
/// grants change again, so more often is slower for everybody (docs/decisions/0006).
final class Checkpointer: @unchecked Sendable {
    /// Guards `hasWork` and `isStopping`.
    private let bell = Monitor()
    private var hasWork = false
    private var isWorthIt = false
    private var isStopping = false
    /// How long the log was when it was last moved.
    private var movedPages = 0
    private var logPages = 0

    /// Guards `connection`.
    private let turn = Locked<Void>()
    private let connection: SQLiteHandle

    /// Above so many pages the log is restarted from its beginning while the writer waits.
    let pageLimit: Int
    private var restartAbove: Int

    private static let pauseMilliseconds = 1_000
    /// 4 MiB of pages.
    private static let pagesWorthMoving = 1_024

    init(_ connection: SQLiteHandle, logLimitBytes: Int) throws(DatabaseError) {
        self.connection = connection
        let pageSize = max(512, Int(try connection.integer("PRAGMA page_size")))
        pageLimit = max(1, logLimitBytes / pageSize)
        restartAbove = pageLimit
    }

    /// The writer has committed, and the log holds `logPages` now. Called on the writer's thread between two batches.
    func committed(logPages: Int) {
        if logPages <= pageLimit {
            restartAbove = pageLimit
        } else if logPages > restartAbove {
            restart(logPages)
        }
        bell.withLock {
            self.logPages = logPages
            // After a full checkpoint the log begins again at its start.
            if logPages < movedPages { movedPages = 0 }
            let becomesWorthIt = !isWorthIt && logPages - movedPages >= Self.pagesWorthMoving
            if becomesWorthIt { isWorthIt = true }
            if becomesWorthIt || !hasWork {
                hasWork = true
                bell.signal()
            }
        }
    }

    /// Under load a passive checkpoint never quite catches up with the writer, and the log would grow for ever. A
    /// restart holds the writer back for the few pages that are left. A query that is still reading the log
    /// prevents it: then again when the log has grown by a quarter.
    private func restart(_ logPages: Int) {
        restartAbove = logPages + pageLimit / 4
        turn.withLock { _ = try? connection.checkpoint(SQLITE_CHECKPOINT_RESTART) }
    }

    /// One passive checkpoint now, on the caller's thread. A fault means only that the log stays as it is.
    func checkpointNow() {
        turn.withLock { _ = try? connection.checkpoint(SQLITE_CHECKPOINT_PASSIVE) }
    }

    /// The checkpointer's thread.
    func run() {
        while true {
            let stop = bell.withLock {
                while !hasWork && !isStopping { bell.wait() }
                if !isStopping, !isWorthIt { bell.wait(milliseconds: Self.pauseMilliseconds) }
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
        bell.withLock {
            isStopping = true
            bell.signal()
        }
    }

    /// The last checkpoint, when no other connection of this process is open any more.
    func close() {
        turn.withLock {
            _ = try? connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
            connection.close()
        }
    }
}
