/// A body in the queue, and where its result goes. Passed from thread to thread; one thread uses it at a time.
package class Job: @unchecked Sendable {
    /// What the body changes: as its caller declared it, and what a driver has learnt from its first run.
    package var keys: [LockKey]
    /// How often a driver has run the body.
    package var runs = 0
    /// The queries with which it begins.
    package var reads: (@Sendable () throws -> [Statement])?

    package init(locking keys: [LockKey]) { self.keys = keys }

    /// Runs the body.
    /// - Returns: whether it returned a value; an error that it threw is kept until `answer`.
    package func run(_ connection: any Connection) -> Bool { false }

    /// Replaces the body's value by an error found after it returned.
    package func refuse(_ error: DatabaseError) {}

    /// Sends the caller the body's own outcome, or `error` if there is one. Called once.
    package func answer(_ error: DatabaseError?) {}
}

/// Unchecked because one thread at a time writes and reads the outcome.
package final class Body<Value: Sendable>: Job, @unchecked Sendable {
    private let body: @Sendable (any Connection) throws -> Value
    private let reply: @Sendable (Result<Value, any Error>) -> Void
    private var outcome: Result<Value, any Error>?
    private var isAnswered = false

    package init(
        locking keys: [LockKey] = [], _ body: @escaping @Sendable (any Connection) throws -> Value,
        _ reply: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        self.body = body
        self.reply = reply
        super.init(locking: keys)
    }

    override package func run(_ connection: any Connection) -> Bool {
        do {
            outcome = .success(try body(connection))
            return true
        } catch {
            outcome = .failure(error)
            return false
        }
    }

    override package func refuse(_ error: DatabaseError) { outcome = .failure(error) }

    override package func answer(_ error: DatabaseError?) {
        precondition(!isAnswered, "a body is told one outcome, once (invariant 2)")
        isAnswered = true
        if let error {
            reply(.failure(error))
        } else {
            reply(outcome ?? .failure(DatabaseError(.other, "the body was never run")))
        }
    }
}

extension DatabaseError {
    package static var afterClose: DatabaseError { DatabaseError(.closed, "the database has been closed") }

    package static func queueIsFull(_ limit: Int) -> DatabaseError {
        DatabaseError(.busy, "\(limit) requests are already waiting for the database; try again later")
    }
}
