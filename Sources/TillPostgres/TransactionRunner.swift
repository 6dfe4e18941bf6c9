import TillSQL

/// Runs bodies that write, several in one transaction, and answers them after the commit.
///
/// Whatever goes wrong before the COMMIT is sent is undone, so the same bodies may run again: each alone, because one
/// body's failure must not make the others fail.
final class TransactionRunner: @unchecked Sendable {
    // @unchecked: one thread uses it.
    private let source: PostgresSource
    private let watch: CommitWatch?
    private let counter: FigureCounter
    /// Ids that the last body drew, by table: the next one probably draws as many, so they come with its first
    /// exchange.
    private var expectedIDs: [String: Int] = [:]

    /// With its keys declared a body finds what it found before, and perhaps more.
    private static let mostRuns = 8

    init(_ source: PostgresSource, watch: CommitWatch?, _ counter: FigureCounter) {
        self.source = source
        self.watch = watch
        self.counter = counter
    }

    /// Runs, commits and answers `jobs`.
    func commit(_ jobs: [Job]) {
        guard jobs.count > 1 else { return commitAlone(jobs[0]) }
        switch attempt(jobs) {
        case .ended(let answered, let again):
            for (job, error) in answered { job.answer(error) }
            for job in again { commitAlone(job) }
        case .undone: for job in jobs { commitAlone(job) }
        }
    }

    private func commitAlone(_ job: Job) {
        var last: PostgresError?
        for run in 1...Self.mostRuns {
            if run > 1 { counter.add { $0.reruns += 1 } }
            switch attempt([job]) {
            case .ended(let answered, let again):
                if let (job, error) = answered.first { return job.answer(error) }
                precondition(!again.isEmpty, "a body is answered or runs again")
            case .undone(let error):
                last = error
                // A lost connection is made again once; then the server is away.
                let isWorthARun = error.mayGoAway || error.isStalePlan || (error.needsOtherServer && run == 1)
                if !isWorthARun { return job.answer(error.error) }
            }
        }
        job.answer(last?.error ?? DatabaseError(.busy, "a body found other keys in each of \(Self.mostRuns) runs"))
    }

    private enum Attempt {
        /// Committed, refused by the body itself, or in doubt; the others run again with more keys.
        case ended(answered: [(Job, DatabaseError?)], again: [Job])
        /// Certainly rolled back; the same bodies may run again.
        case undone(PostgresError)
    }

    private func attempt(_ jobs: [Job]) -> Attempt {
        watch?.began()
        let result = run(jobs)
        switch result {
        case .ended(let answered, _): watch?.ended(answered.count, answered.lazy.compactMap(\.1).first)
        case .undone(let error): watch?.ended(jobs.count, error.error)
        }
        return result
    }

    private func run(_ jobs: [Job]) -> Attempt {
        let handle: PostgresHandle
        do throws(DatabaseError) {
            handle = try source.usable()
        } catch {
            return .undone(PostgresError(code: "", error, isLost: false))
        }
        let transaction = PostgresTransaction(handle, .writing, locking: Set(jobs.flatMap(\.keys)))
        var (done, refused, again): ([Job], [Job], [Job]) = ([], [], [])
        for job in jobs {
            switch run(job, transaction, isShared: jobs.count > 1) {
            case .done: done.append(job)
            case .refused: refused.append(job)
            case .again: again.append(job)
            case .broken(let error):
                undo(transaction)
                return .undone(error)
            }
        }
        let refusals = refused.map { ($0, DatabaseError?.none) }
        guard !done.isEmpty else {
            undo(transaction)
            return .ended(answered: refusals, again: again)
        }
        do throws(PostgresError) {
            try transaction.commit()
            counter.add { $0.commits += 1 }
            return .ended(answered: done.map { ($0, nil) } + refusals, again: again)
        } catch {
            undo(transaction)
            guard error.error.mayHaveCommitted else { return .undone(error) }
            counter.add { $0.inDoubt += 1 }
            return .ended(answered: done.map { ($0, error.error) } + refusals, again: again)
        }
    }

    private enum Run {
        case done
        /// The body threw an error of its own, and its changes are undone.
        case refused
        /// The body found keys that it had not declared, and its changes are undone.
        case again
        case broken(PostgresError)
    }

    private func run(_ job: Job, _ transaction: PostgresTransaction, isShared: Bool) -> Run {
        let start = transaction.mark
        if isShared { transaction.control("SAVEPOINT body") }
        let wasSent = transaction.sentCount
        drawAhead(transaction)
        let connection = PostgresConnection(transaction, isReading: false)
        let hasSucceeded = job.run(connection)
        connection.end()
        transaction.forgetFetched()
        if let failure = transaction.failure { return .broken(failure) }
        if let error = connection.brokenBy { return .broken(PostgresError(code: "", error, isLost: false)) }
        expectedIDs = connection.drawn
        if hasSucceeded, connection.undeclared.isEmpty {
            if isShared { transaction.control("RELEASE SAVEPOINT body") }
            return .done
        }
        if isShared {
            if transaction.sentCount == wasSent {
                transaction.removeWaiting(from: start)
            } else {
                transaction.removeWaiting(from: 0)
                transaction.control("ROLLBACK TO SAVEPOINT body")
                transaction.control("RELEASE SAVEPOINT body")
            }
        }
        guard !connection.undeclared.isEmpty else { return .refused }
        job.keys = Array(Set(job.keys).union(connection.undeclared))
        return .again
    }

    private func drawAhead(_ transaction: PostgresTransaction) {
        for (table, count) in expectedIDs.sorted(by: { $0.key < $1.key }) { transaction.drawAhead(count, of: table) }
    }

    private func undo(_ transaction: PostgresTransaction) {
        if !transaction.rollBack() { source.discard() }
    }
}

/// Runs bodies that read, each on one state of the data.
final class SnapshotReader: @unchecked Sendable {
    // @unchecked: one thread uses it.
    private let source: PostgresSource

    init(_ source: PostgresSource) { self.source = source }

    func run(_ job: Job) {
        guard let error = attempt(job) else { return job.answer(nil) }
        guard error.needsOtherServer || error.isStalePlan else { return job.answer(error.error) }
        job.answer(attempt(job)?.error)
    }

    /// - Returns: why the body has to run again; nil if its own outcome stands.
    private func attempt(_ job: Job) -> PostgresError? {
        do throws(DatabaseError) {
            let transaction = PostgresTransaction(try source.usable(), .snapshot)
            let connection = PostgresConnection(transaction, isReading: true)
            _ = job.run(connection)
            connection.end()
            do throws(PostgresError) { try transaction.end() } catch { source.discard() }
            guard let failure = transaction.failure else { return nil }
            if !transaction.rollBack() { source.discard() }
            return failure
        } catch {
            return PostgresError(code: "", error, isLost: false)
        }
    }
}
