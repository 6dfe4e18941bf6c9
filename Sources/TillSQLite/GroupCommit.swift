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
        do throws(DatabaseError) {
            connection = try usableConnection()
            precondition(!connection.isInTransaction, "a batch begins with nothing open before it (invariant 2)")
            try connection.run("BEGIN IMMEDIATE")
        } catch {
            reopenIfReadOnly(error)
            return .failed(error)
        }
        do throws(DatabaseError) {
            var hasChanged = false
            for job in jobs { try run(job, connection, &hasChanged) }
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

    /// - Throws: an error that ends the whole batch.
    private func run(_ job: Job, _ connection: SQLiteHandle, _ hasChanged: inout Bool) throws(DatabaseError) {
        let scope = SQLiteConnection(connection, .writing(savepoint: hasChanged))
        var succeeded = job.run(scope)
        scope.end()
        if let error = scope.brokenBy { throw error }
        guard connection.isInTransaction else {
            throw DatabaseError(.other, "a body ended the transaction it was run in")
        }
        guard scope.hasChanged else { return }
        if succeeded, connection.hasOpenForeignKeys {
            // It would make the commit of the whole batch fail.
            job.refuse(DatabaseError(.constraint, "FOREIGN KEY constraint failed when the body had returned"))
            succeeded = false
        }
        switch (succeeded, hasChanged) {
        case (true, true):
            try connection.run("RELEASE body")
        case (true, false):
            hasChanged = true
        case (false, true):
            try connection.run("ROLLBACK TO body")
            try connection.run("RELEASE body")
        case (false, false):
            // This transaction has no other changes yet: rolling it back whole is cheaper than a savepoint for every
            // body.
            try connection.run("ROLLBACK")
            try connection.run("BEGIN IMMEDIATE")
        }
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
