import CTillSQLite
import TillStorage

/// Moves committed pages from the write-ahead log into the database file, on a connection of its own, so that no
/// request waits for it: 20 ms after a commit, and not at all when nothing was committed.
final class Checkpointer: @unchecked Sendable {
    /// Guards `hasWork` and `isStopping`.
    private let bell = Monitor()
    private var hasWork = false
    private var isStopping = false

    /// Guards `connection`.
    private let turn = Monitor()
    private let connection: Connection

    /// Above so many pages the log is restarted from its beginning while the writer waits.
    let pageLimit: Int
    private var restartAbove: Int

    private static let pauseMilliseconds = 20

    init(_ connection: Connection, logLimitBytes: Int) throws(DatabaseFault) {
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
        bell.locked {
            if !hasWork {
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
        turn.locked { _ = try? connection.checkpoint(SQLITE_CHECKPOINT_RESTART) }
    }

    /// One passive checkpoint now, on the caller's thread. A fault means only that the log stays as it is.
    func checkpointNow() {
        turn.locked { _ = try? connection.checkpoint(SQLITE_CHECKPOINT_PASSIVE) }
    }

    /// The checkpointer's thread.
    func run() {
        while true {
            let stop = bell.locked {
                while !hasWork && !isStopping { bell.wait() }
                if !isStopping { bell.wait(milliseconds: Self.pauseMilliseconds) }
                hasWork = false
                return isStopping
            }
            if stop { return }
            checkpointNow()
        }
    }

    func stop() {
        bell.locked {
            isStopping = true
            bell.signal()
        }
    }

    /// The last checkpoint, when no other connection of this process is open any more.
    func close() {
        turn.locked {
            _ = try? connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
            connection.close()
        }
    }
}
