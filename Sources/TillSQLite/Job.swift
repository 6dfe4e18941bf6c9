import TillSQL

/// A body that waits for its turn, and where its answer goes. Handed from thread to thread, used by one at a time.
class Job: @unchecked Sendable {
    /// Runs the body.
    /// - Returns: whether it returned a value; what it threw is kept until `answer`.
    func run(_ session: SQLiteConnection) -> Bool { false }

    /// Replaces the body's value by a fault found after it returned.
    func refuse(_ fault: DatabaseError) {}

    /// Tells whoever waits: the body's own outcome, or `fault` if there is one. Called once.
    func answer(_ fault: DatabaseError?) {}
}

/// Unchecked because the outcome is written and read by one thread only: the writer's (or the inline caller's).
final class Body<Value: Sendable>: Job, @unchecked Sendable {
    private let body: @Sendable (any Connection) throws -> Value
    private let reply: @Sendable (Result<Value, any Error>) -> Void
    private var outcome: Result<Value, any Error>?
    private var isAnswered = false

    init(
        _ body: @escaping @Sendable (any Connection) throws -> Value,
        _ reply: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        self.body = body
        self.reply = reply
    }

    override func run(_ session: SQLiteConnection) -> Bool {
        do {
            outcome = .success(try body(session))
            return true
        } catch {
            outcome = .failure(error)
            return false
        }
    }

    override func refuse(_ fault: DatabaseError) { outcome = .failure(fault) }

    override func answer(_ fault: DatabaseError?) {
        precondition(!isAnswered, "a body is told one outcome, once (invariant 2)")
        isAnswered = true
        if let fault {
            reply(.failure(fault))
        } else {
            reply(outcome ?? .failure(DatabaseError(.other, "the body was never run")))
        }
    }
}
