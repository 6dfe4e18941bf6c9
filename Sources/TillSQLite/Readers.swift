import TillSQL
import TillThreads

/// The queue of reads and the threads that run them, each on a read-only connection.
final class Readers: @unchecked Sendable {
    let queue: WorkQueue<Job>
    private let factory: ConnectionFactory
    private var connections: [Reader]
    private var threads: [SystemThread] = []

    init(_ factory: ConnectionFactory) throws(DatabaseError) {
        self.factory = factory
        queue = WorkQueue(limit: factory.options.queueLimit)
        connections = []
        let count = factory.options.threads == .own ? max(1, factory.options.readers) : 1
        for _ in 0..<count { connections.append(Reader(try factory.reader(), factory)) }
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
    private let factory: ConnectionFactory
    private var connection: SQLiteHandle?

    init(_ connection: SQLiteHandle, _ factory: ConnectionFactory) {
        self.connection = connection
        self.factory = factory
    }

    func run(_ job: Job) {
        do throws(DatabaseError) {
            let connection = try usableConnection()
            try connection.run("BEGIN")
            let scope = SQLiteConnection(connection, .reading)
            _ = job.run(scope)
            scope.end()
            if connection.isInTransaction { try connection.run("COMMIT") }
            job.answer(scope.brokenBy)
        } catch {
            close()
            job.answer(error)
        }
    }

    private func usableConnection() throws(DatabaseError) -> SQLiteHandle {
        if let connection { return connection }
        let fresh = try factory.reader()
        connection = fresh
        return fresh
    }

    func close() {
        connection?.close()
        connection = nil
    }
}
