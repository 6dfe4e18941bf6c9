import CTillSQLite
import TillSQL

/// The one writer: commits several bodies together, because a sync costs as much as ten grants. Every job, also a
/// refused one, is answered only after its commit has returned: what a body read of the other bodies in its batch is
/// true only once they are on disk.
final class GroupCommit {
    private let open: () throws(DatabaseError) -> SQLiteHandle
    private var connection: SQLiteHandle?
    private let writesAreAtomic: Bool
    private let watch: CommitWatch?
    private let drawn = DrawnIDs()
    /// How many of the next batches give each body a savepoint.
    private var guardedBatches = 0

    /// After a body that failed with changes, others probably will, and each costs the batch that runs again.
    static let guardedAfterFailure = 64

    /// After this many failures in a row, the second attempt of a batch stops: the cause is then the disk and not one
    /// of the bodies.
    private static let faultsInARow = 3

    /// - Parameter open: opens the writing connection; called again after a commit whose outcome is unknown.
    init(
        watch: CommitWatch? = nil, open: @escaping () throws(DatabaseError) -> SQLiteHandle
    ) throws(DatabaseError) {
        self.watch = watch
        self.open = open
        let connection = try open()
        self.connection = connection
        writesAreAtomic = Self.hasPowersafeOverwrite(connection)
    }

    /// How many pages the write-ahead log held after the last commit.
    var logPages: Int { connection?.logPages ?? 0 }

    func close() {
        connection?.close()
        connection = nil
    }

    /// Runs, commits and answers `jobs`.
    func commit(_ jobs: [Job]) {
        switch attempt(jobs) {
        case .committed: for job in jobs { job.answer(nil) }
        case .failed(let error): for job in jobs { job.answer(error) }
        case .rolledBack(let error):
            // Nothing of this batch reached the disk, so the bodies may run again, each alone: a body that is too large
            // for the remaining space, or that reads a damaged page, must not make the others fail.
            if jobs.count == 1 { jobs[0].answer(error) } else { commitSingly(jobs) }
        }
    }

    private func commitSingly(_ jobs: [Job]) {
        var inARow = 0
        var last: DatabaseError?
        for job in jobs {
            if let last, inARow == Self.faultsInARow {
                job.answer(last)
                continue
            }
            switch attempt([job]) {
            case .committed:
                inARow = 0
                job.answer(nil)
            case .rolledBack(let error), .failed(let error):
                inARow += 1
                last = DatabaseError(error.kind, error.detail)
                job.answer(error)
            }
        }
    }

    private enum Attempt {
        case committed
        /// Certainly rolled back after bodies had run; the same bodies may run again.
        case rolledBack(DatabaseError)
        /// Trying again now is pointless, or it is unknown whether the changes were committed.
        case failed(DatabaseError)

        var error: DatabaseError? {
            switch self {
            case .committed: nil
            case .rolledBack(let error), .failed(let error): error
            }
        }
    }

    private func attempt(_ jobs: [Job]) -> Attempt {
        watch?.began()
        let result = runAndCommit(jobs)
        watch?.ended(jobs.count, result.error)
        return result
    }

    private func runAndCommit(_ jobs: [Job]) -> Attempt {
        let connection: SQLiteHandle
        drawn.forget()
        do throws(DatabaseError) {
            connection = try usableConnection()
            precondition(!connection.isInTransaction, "a batch begins with nothing open before it (invariant 2)")
            try connection.run("BEGIN IMMEDIATE")
        } catch {
            reopenIfReadOnly(error)
            return .failed(error)
        }
        do throws(DatabaseError) {
            if guardedBatches > 0 {
                guardedBatches -= 1
                _ = try runAll(jobs, connection, withSavepoints: true)
            } else if try !runAll(jobs, connection, withSavepoints: false) {
                guardedBatches = Self.guardedAfterFailure
                drawn.forget()
                try connection.run("ROLLBACK")
                try connection.run("BEGIN IMMEDIATE")
                _ = try runAll(jobs, connection, withSavepoints: true)
            }
        } catch {
            rollBack(connection)
            reopenIfReadOnly(error)
            return .rolledBack(error)
        }
        do throws(DatabaseError) {
            try connection.run("COMMIT")
            precondition(!connection.isInTransaction, "what is answered is committed (invariant 2)")
            return .committed
        } catch {
            let isInDoubt = mayHaveCommitted(error, connection)
            rollBack(connection)
            guard isInDoubt else { return .rolledBack(error) }
            // Until the next commit overwrites what this one may have left in the log, a power cut may make it durable.
            reopenNextTime()
            return .failed(error.inDoubt())
        }
    }

    /// Runs the bodies one after another. Almost none fails after it has changed something, so most batches save the
    /// savepoint of each body, with its copies of all pages that the body changes.
    ///
    /// - Returns: false, with the rest not run, if a body must be rolled back alone and has no savepoint.
    /// - Throws: an error that ends the whole batch.
    private func runAll(
        _ jobs: [Job], _ connection: SQLiteHandle, withSavepoints: Bool
    ) throws(DatabaseError) -> Bool {
        var hasChanged = false
        for job in jobs {
            let scope = SQLiteConnection(connection, .writing(savepoint: withSavepoints && hasChanged), drawn)
            let succeeded = try run(job, in: scope, connection)
            if !succeeded { drawn.forget() }
            guard scope.hasChanged else { continue }
            switch (succeeded, hasChanged) {
            case (true, true):
                if withSavepoints { try connection.run("RELEASE body") }
            case (true, false):
                hasChanged = true
            case (false, true):
                guard withSavepoints else { return false }
                try connection.run("ROLLBACK TO body")
                try connection.run("RELEASE body")
            case (false, false):
                // This transaction has no other changes yet.
                try connection.run("ROLLBACK")
                try connection.run("BEGIN IMMEDIATE")
            }
        }
        return true
    }

    private func run(
        _ job: Job, in scope: SQLiteConnection, _ connection: SQLiteHandle
    ) throws(DatabaseError) -> Bool {
        let succeeded = job.run(scope)
        scope.end()
        if let error = scope.brokenBy { throw error }
        guard connection.isInTransaction else {
            throw DatabaseError(.other, "a body ended the transaction it was run in")
        }
        guard succeeded, scope.hasChanged, connection.hasOpenForeignKeys else { return succeeded }
        // It would make the commit of the whole batch fail.
        job.refuse(DatabaseError(.constraint, "FOREIGN KEY constraint failed when the body had returned"))
        return false
    }

    // MARK: After a fault

    private func usableConnection() throws(DatabaseError) -> SQLiteHandle {
        if let connection { return connection }
        let fresh = try open()
        connection = fresh
        return fresh
    }

    private func reopenNextTime() {
        connection?.close()
        connection = nil
    }

    /// SQLite silently opens a read-only connection when the file cannot be written, and that connection stays
    /// read-only (https://sqlite.org/c3ref/open.html, SQLITE_OPEN_READWRITE). It must be opened again.
    private func reopenIfReadOnly(_ error: DatabaseError) {
        if error.kind == .readOnly { reopenNextTime() }
    }

    private func rollBack(_ connection: SQLiteHandle) {
        // After some errors SQLite has already rolled back.
        guard connection.isInTransaction else { return }
        do throws(DatabaseError) { try connection.run("ROLLBACK") } catch {}
        if connection.isInTransaction { reopenNextTime() }
    }

    /// A failed COMMIT is certainly rolled back only if its last page, which carries the commit mark, was not written
    /// whole: that is when a write found no space. A failed sync is inconclusive, and so is a failed growth of the
    /// shared index, which comes after the sync (https://sqlite.org/walformat.html).
    private func mayHaveCommitted(_ error: DatabaseError, _ connection: SQLiteHandle) -> Bool {
        guard error.kind == .full, writesAreAtomic else { return error.kind != .constraint && error.kind != .inUse }
        return connection.lastCode != SQLITE_FULL && connection.lastCode != till_sqlite_ioerr_write
    }

    /// Without powersafe overwrite SQLite writes the commit's page twice, and the first copy may be complete.
    private static func hasPowersafeOverwrite(_ connection: SQLiteHandle) -> Bool {
        var answer: Int32 = -1
        let code = sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_POWERSAFE_OVERWRITE, &answer)
        return code == SQLITE_OK && answer == 1
    }
}
