import TillSQL
import TillThreads

/// Runs bodies that write, several in one transaction, and answers them after the commit.
///
/// Whatever goes wrong before the COMMIT is sent is undone, so the same bodies may run again: each alone, because one
/// body's failure must not make the others fail.
final class TransactionRunner: @unchecked Sendable {
    // @unchecked: one thread uses it.
    private let source: PostgresSource
    private let watch: CommitWatch?
    private let counter: FigureCounter
    private let marking: Marking
    /// Ids that the last body with keys of the same kinds drew, by table: the next one probably draws as many, so they
    /// come with its first exchange.
    private var expectedIDs: [Set<String>: [String: Int]] = [:]

    /// With its keys declared a body finds what it found before, and perhaps more.
    private static let mostRuns = 8

    /// What commits leave that change one of these tables.
    struct Marking {
        let tables: Set<String>
        let mark: Locked<CommitMark?>
    }

    init(_ source: PostgresSource, watch: CommitWatch?, _ counter: FigureCounter, _ marking: Marking) {
        self.source = source
        self.watch = watch
        self.counter = counter
        self.marking = marking
    }

    /// Runs, commits and answers `jobs`.
    func commit(_ jobs: [Job]) {
        var waiting = jobs
        var hasSavepoints = false
        while waiting.count > 1 {
            switch attempt(waiting, hasSavepoints: hasSavepoints) {
            case .needsSavepoints:
                // Rows of a savepoint have a number of their own, of which no mark knows.
                if marking.mark.withLock({ $0 }) != nil { return commitEach(waiting) }
                hasSavepoints = true
            case .ended(let answered, let again):
                for (job, error) in answered { job.answer(error) }
                counter.add { $0.reruns += Int64(again.count) }
                // Bodies that found keys share the next transaction too, unless all of them did once more.
                if again.count == waiting.count, again.allSatisfy({ $0.runs > 1 }) { return commitEach(again) }
                waiting = again
            case .undone: return commitEach(waiting)
            }
        }
        commitEach(waiting)
    }

    private func commitEach(_ jobs: [Job]) { for job in jobs { commitAlone(job) } }

    private func commitAlone(_ job: Job) {
        var last: PostgresError?
        for run in 1...Self.mostRuns {
            if run > 1 { counter.add { $0.reruns += 1 } }
            switch attempt([job], hasSavepoints: false) {
            case .needsSavepoints: preconditionFailure("one body is undone with its transaction")
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
        /// Rolled back, because one body's rows have to be undone without those of the others.
        case needsSavepoints
    }

    private func attempt(_ jobs: [Job], hasSavepoints: Bool) -> Attempt {
        watch?.began()
        let result = run(jobs, hasSavepoints: hasSavepoints)
        switch result {
        case .needsSavepoints: watch?.ended(0, nil)
        case .ended(let answered, _): watch?.ended(answered.count, answered.lazy.compactMap(\.1).first)
        case .undone(let error): watch?.ended(jobs.count, error.error)
        }
        return result
    }

    private func run(_ jobs: [Job], hasSavepoints: Bool) -> Attempt {
        let handle: PostgresHandle
        do throws(DatabaseError) {
            handle = try source.usable()
        } catch {
            return .undone(PostgresError(code: "", error, isLost: false))
        }
        let transaction = PostgresTransaction(
            handle, .writing, locking: Set(jobs.flatMap(\.keys)),
            marking: marking.mark.withLock { $0 }.map { ($0, marking.tables) })
        drawAhead(for: jobs, transaction)
        let facts: [PostgresTransaction.Facts]
        do throws(DatabaseError) {
            facts = try readAhead(for: jobs, transaction)
        } catch {
            undo(transaction)
            return .undone(transaction.failure ?? PostgresError(code: "", error, isLost: false))
        }
        var (done, refused, again): ([Job], [Job], [Job]) = ([], [], [])
        for (job, facts) in zip(jobs, facts) {
            transaction.know(facts)
            switch run(job, transaction, isShared: jobs.count > 1, hasSavepoints) {
            case .mixed:
                undo(transaction)
                return .needsSavepoints
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
        /// The body's changes were sent among those of the others, and have to be undone without them.
        case mixed
    }

    /// The ids that the bodies probably need come with the first exchange.
    private func drawAhead(for jobs: [Job], _ transaction: PostgresTransaction) {
        var counts: [String: Int] = [:]
        for job in jobs { counts.merge(expectedIDs[Set(job.keys.map(\.kind))] ?? [:], uniquingKeysWith: +) }
        for (table, count) in counts.sorted(by: { $0.key < $1.key }) { transaction.drawAhead(count, of: table) }
    }

    /// The queries with which the bodies begin are made in one exchange. A body that shares a key with one before it
    /// has to see that one's rows, so it asks when its turn comes.
    private func readAhead(
        for jobs: [Job], _ transaction: PostgresTransaction
    ) throws(DatabaseError) -> [PostgresTransaction.Facts] {
        var keys: Set<LockKey> = []
        let reads = jobs.map { job in
            defer { keys.formUnion(job.keys) }
            // The body makes the queries itself if they cannot be told in advance.
            return keys.isDisjoint(with: job.keys) ? (try? job.reads?()) ?? [] : []
        }
        return try transaction.readAhead(reads)
    }

    private func run(
        _ job: Job, _ transaction: PostgresTransaction, isShared: Bool, _ hasSavepoints: Bool
    ) -> Run {
        transaction.begin(job.keys)
        let start = transaction.mark
        let writesBefore = transaction.sentWrites + transaction.waitingWrites
        if hasSavepoints { transaction.control("SAVEPOINT body") }
        let wasSent = transaction.sentCount
        let kinds = Set(job.keys.map(\.kind))
        let connection = PostgresConnection(
            transaction, isReading: false, holding: Set(job.keys), endsAtNewKey: job.runs == 0)
        job.runs += 1
        let hasSucceeded = job.run(connection)
        connection.end()
        transaction.forgetFetched()
        if let failure = transaction.failure { return .broken(failure) }
        if let error = connection.brokenBy { return .broken(PostgresError(code: "", error, isLost: false)) }
        if connection.undeclared.isEmpty { expectedIDs[kinds] = connection.drawn }
        if hasSucceeded, connection.undeclared.isEmpty {
            if hasSavepoints {
                transaction.control("RELEASE SAVEPOINT body")
            } else if isShared, start == 0 || transaction.sentCount > wasSent {
                transaction.keep(job.keys)
            }
            return .done
        }
        if isShared {
            if transaction.sentCount == wasSent {
                transaction.removeWaiting(from: start)
            } else if !hasSavepoints {
                guard transaction.sentWrites + transaction.keptWrites == writesBefore else { return .mixed }
                transaction.removeWaiting(from: 0)
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

    private func undo(_ transaction: PostgresTransaction) {
        if !transaction.rollBack() { source.discard() }
    }
}

/// Runs bodies that read, each on one state of the data.
final class SnapshotReader: @unchecked Sendable {
    // @unchecked: one thread uses it.
    private let source: PostgresSource
    /// The first statements of bodies that have made a second query.
    private var needingSnapshot: Set<String> = []

    init(_ source: PostgresSource) { self.source = source }

    /// Most reads make one query, so a body begins without a transaction. If it goes on to another query it runs again
    /// in a snapshot, and so does every later body that begins with the same query.
    func run(_ job: Job) {
        guard let error = attempt(job, .query) else { return job.answer(nil) }
        let isWorthARun = error.needsOtherServer || error.isStalePlan || error.code == PostgresTransaction.needsSnapshot
        guard isWorthARun else { return job.answer(error.error) }
        job.answer(attempt(job, .snapshot)?.error)
    }

    /// - Returns: why the body has to run again; nil if its own outcome stands.
    private func attempt(_ job: Job, _ kind: PostgresTransaction.Kind) -> PostgresError? {
        do throws(DatabaseError) {
            let transaction = PostgresTransaction(try source.usable(), kind, snapshotsFor: needingSnapshot)
            let connection = PostgresConnection(transaction, isReading: true)
            _ = job.run(connection)
            connection.end()
            do throws(PostgresError) { try transaction.end() } catch { source.discard() }
            guard let failure = transaction.failure else { return nil }
            if failure.code == PostgresTransaction.needsSnapshot, let first = transaction.first {
                needingSnapshot.insert(first)
                return failure
            }
            if !transaction.rollBack() { source.discard() }
            return failure
        } catch {
            return PostgresError(code: "", error, isLost: false)
        }
    }
}
