import TillSQL
import TillThreads

/// The queue of reads and the threads that run them, each on a read-only connection.
final class Readers: @unchecked Sendable {
    let queue: WorkQueue
    private let opening: Opening
    private var connections: [Reader]
    private var threads: [SystemThread] = []

    init(_ opening: Opening) throws(DatabaseError) {
        self.opening = opening
        queue = WorkQueue(limit: opening.options.queueLimit)
        connections = []
        let count = opening.options.threads == .own ? max(1, opening.options.readers) : 1
        for _ in 0..<count { connections.append(Reader(try opening.reader(), opening)) }
    }

    func start() -> Bool {
        for reader in connections {
            let thread = SystemThread { [queue] in
                while let job = queue.take(atMost: 1).first { reader.run(job) }
            }
            guard let thread else { return false }
            threads.append(thread)
        }
        return true
    }

    func runInline(_ job: Job) { connections[0].run(job) }

    func close() {
        queue.close()
        for thread in threads { thread.join() }
        for reader in connections { reader.close() }
    }
}

/// One read-only connection, used by one thread.
final class Reader: @unchecked Sendable {
    private let opening: Opening
    private var connection: SQLiteHandle?

    init(_ connection: SQLiteHandle, _ opening: Opening) {
        self.connection = connection
        self.opening = opening
    }

    func run(_ job: Job) {
        do throws(DatabaseError) {
            let connection = try usableConnection()
            try connection.run("BEGIN")
            let session = SQLiteConnection(connection, .reading)
            _ = job.run(session)
            session.end()
            if connection.isInTransaction { try connection.run("COMMIT") }
            job.answer(session.brokenBy)
        } catch {
            close()
            job.answer(error)
        }
    }

    private func usableConnection() throws(DatabaseError) -> SQLiteHandle {
        if let connection { return connection }
        let fresh = try opening.reader()
        connection = fresh
        return fresh
    }

    func close() {
        connection?.close()
        connection = nil
    }
}
