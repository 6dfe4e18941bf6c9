import CTillSQLite
import TillSQL
import TillThreads

/// The connections and threads behind one `SQLiteDatabase`. It outlives the database object until its threads end.
final class Engine: @unchecked Sendable {
    private let lock: ServerLock?
    private let writer: Writer?
    private let readers: Readers
    private let threads: SQLiteDatabase.Threads
    let ownRows: OwnRows

    /// Guards the fields below.
    private let state = Locked<Void>()
    private var phase = Phase.open
    private var waitingForClose: [@Sendable () -> Void] = []

    private enum Phase { case open, closing, closed }

    init(path: String, role: DatabaseRole, options: SQLiteDatabase.Options) throws(DatabaseError) {
        let factory = try ConnectionFactory(path: path, role: role, options: options)
        lock = factory.lock
        ownRows = OwnRows(of: options.schema.watchedTables)
        threads = options.threads
        switch role {
        case .server: writer = try Writer(factory, ownRows)
        case .operator: writer = nil
        }
        readers = try Readers(factory)
        guard threads == .own else { return }
        guard writer?.start() ?? true, readers.start() else {
            writer?.close()
            readers.close()
            throw DatabaseError(.busy, "the system has no threads left; raise its limit")
        }
    }

    var waitingWrites: Int { writer?.queue.count ?? 0 }

    func write(_ job: Job) {
        guard let writer else {
            return job.answer(DatabaseError(.readOnly, "the database was opened for reading only"))
        }
        if threads == .inline { return writeInline([job]) }
        add(job, to: writer.queue)
    }

    func read(_ job: Job) {
        if threads == .inline {
            state.withLock { phase == .open ? readers.runInline(job) : job.answer(.afterClose) }
        } else {
            add(job, to: readers.queue)
        }
    }

    private func add(_ job: Job, to queue: WorkQueue<Job>) {
        switch queue.add(job) {
        case nil: break
        case .closed: job.answer(.afterClose)
        case .full: job.answer(.queueIsFull(queue.limit))
        }
    }

    func writeInline(_ jobs: [Job]) {
        state.withLock {
            guard phase == .open, let writer else {
                for job in jobs { job.answer(.afterClose) }
                return
            }
            writer.commitInline(jobs)
        }
    }

    /// Calls `done` once every job is answered and the files are closed. It may be called more than once.
    func close(_ done: @escaping @Sendable () -> Void) {
        let (isFirst, isClosed) = state.withLock {
            let first = phase == .open
            if first { phase = .closing }
            if phase != .closed { waitingForClose.append(done) }
            return (first, phase == .closed)
        }
        if isClosed { return done() }
        guard isFirst else { return }
        // Waits for the disk and for the other threads, so it runs on its own thread.
        if threads == .own, let thread = SystemThread({ self.closeNow() }) { thread.detach() } else { closeNow() }
    }

    private func closeNow() {
        readers.close()
        writer?.close()
        lock?.release()
        let waiting = state.withLock {
            phase = .closed
            defer { waitingForClose = [] }
            return waitingForClose
        }
        for done in waiting { done() }
    }
}
