/// What a program opens a database for.
public enum DatabaseRole: Sendable {
    /// Reads and writes. Creates the tables, and brings them up to date.
    case server
    /// Reads only, with or without a running server. Every `write` fails with `.readOnly`.
    case `operator`
}

/// Measures a driver's commits. Both are called on the thread that commits, so they must not wait.
public struct CommitWatch: Sendable {
    /// A batch of bodies begins.
    public var began: @Sendable () -> Void
    /// The batch is on disk, or it failed.
    public var ended: @Sendable (_ bodies: Int, _ error: DatabaseError?) -> Void

    public init(
        began: @escaping @Sendable () -> Void, ended: @escaping @Sendable (_ bodies: Int, DatabaseError?) -> Void
    ) {
        self.began = began
        self.ended = ended
    }
}
