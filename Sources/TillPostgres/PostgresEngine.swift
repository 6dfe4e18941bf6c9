import TillSQL
import TillThreads

/// The connections and threads behind one `PostgresDatabase`. It outlives the database object until its threads end.
// @unchecked: the lock guards the variables; the queues and the figures guard their own.
final class PostgresEngine: @unchecked Sendable {
    private let writes: WorkQueue<Job>
    private let reads: WorkQueue<Job>
    let role: DatabaseRole
    /// What a transaction that changes one of the schema's `watchedTables` leaves; nil: nothing.
    let mark = Locked<CommitMark?>(nil)
    private let counter = FigureCounter()
    private var threads: [SystemThread] = []

    /// Guards the fields below.
    private let state = Locked<Void>()
    private var isClosed = false
    private var isClosing = false
    private var waitingForClose: [@Sendable () -> Void] = []

    init(address: String, role: DatabaseRole, options: PostgresDatabase.Options) throws(DatabaseError) {
        self.role = role
        writes = WorkQueue(limit: options.queueLimit)
        reads = WorkQueue(limit: options.queueLimit)
        let settings = ConnectionSettings(address, options, isReadOnly: role == .operator)
        let first = try PostgresHandle(settings, counter)
        do throws(DatabaseError) {
            try PostgresSchema(first, options.schema).prepare(for: role)
            if role == .server { try PoolerCheck.refuseSharedSessions(beside: first, settings) }
        } catch {
            first.close()
            throw error
        }
        let outage = Outage()
        var workers: [@Sendable () -> Void] = []
        if role == .server {
            let gathering = WorkQueue<Job>.Gathering(pause: 1, pauses: options.gatherMilliseconds)
            for index in 0..<max(1, options.connections) {
                let connection = PostgresSource(settings, index == 0 ? first : nil, outage, counter)
                let marking = TransactionRunner.Marking(
                    tables: Set(options.schema.watchedTables.map { "\($0)" }), mark: mark)
                let writer = TransactionRunner(connection, watch: options.commitWatch, counter, marking)
                workers.append { [writes, counter] in
                    let count = max(1, options.batchLimit)
                    Self.work(writes, atMost: count, gathering, counter, \.busyWriters) { writer.commit($0) }
                    connection.close()
                }
            }
        }
        var reading = settings
        reading.isForReading = true
        for index in 0..<max(1, options.readers) {
            let own = role == .operator && index == 0 ? first : nil
            let connection = PostgresSource(reading, own, outage, counter)
            let reader = SnapshotReader(connection)
            workers.append { [reads, counter] in
                Self.work(reads, atMost: 1, nil, counter, \.busyReaders) { jobs in for job in jobs { reader.run(job) } }
                connection.close()
            }
        }
        for worker in workers {
            guard let thread = SystemThread(worker) else {
                writes.close()
                reads.close()
                for thread in threads { thread.join() }
                throw DatabaseError(.busy, "the system has no threads left; raise its limit")
            }
            threads.append(thread)
        }
    }

    private static func work(
        _ queue: WorkQueue<Job>, atMost count: Int, _ gathering: WorkQueue<Job>.Gathering?, _ counter: FigureCounter,
        _ busy: WritableKeyPath<PostgresFigures, Int> & Sendable, _ run: ([Job]) -> Void
    ) {
        while true {
            let jobs = queue.take(atMost: count, gathering)
            if jobs.isEmpty { return }
            counter.add { $0[keyPath: busy] += 1 }
            run(jobs)
            counter.add { $0[keyPath: busy] -= 1 }
        }
    }

    var waitingWrites: Int { writes.count }

    var figures: PostgresFigures { counter.figures }

    func write(_ job: Job) {
        guard role == .server else {
            return job.answer(DatabaseError(.readOnly, "the database was opened for reading only"))
        }
        add(job, to: writes)
    }

    func read(_ job: Job) { add(job, to: reads) }

    private func add(_ job: Job, to queue: WorkQueue<Job>) {
        switch queue.add(job) {
        case nil: break
        case .closed: job.answer(.afterClose)
        case .full: job.answer(.queueIsFull(queue.limit))
        }
    }

    /// Calls `done` once every job is answered and the connections are closed. It may be called more than once.
    func close(_ done: @escaping @Sendable () -> Void) {
        let (isFirst, isClosed) = state.withLock {
            let first = !isClosing
            isClosing = true
            if !self.isClosed { waitingForClose.append(done) }
            return (first, self.isClosed)
        }
        if isClosed { return done() }
        guard isFirst else { return }
        // Waits for the other threads, so it runs on its own thread.
        if let thread = SystemThread({ self.closeNow() }) { thread.detach() } else { closeNow() }
    }

    private func closeNow() {
        writes.close()
        reads.close()
        for thread in threads { thread.join() }
        let waiting = state.withLock {
            isClosed = true
            defer { waitingForClose = [] }
            return waitingForClose
        }
        for done in waiting { done() }
    }
}

/// Counts for `PostgresFigures`.
final class FigureCounter: Sendable {
    private let state = Locked(PostgresFigures())

    var figures: PostgresFigures { state.withLock { $0 } }

    func add(_ change: (inout PostgresFigures) -> Void) { state.withLock { change(&$0) } }
}
