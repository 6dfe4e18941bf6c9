/// Something that a write changes, named before its body runs. Two bodies with a key in common run one after the other.
///
/// SQLite has one writer, so its driver ignores the keys. A driver whose bodies run concurrently takes them in sorted
/// order, so that bodies cannot deadlock.
public struct LockKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The kind of the object: `order`, `chain`.
    public let kind: String
    public let id: String

    public init(_ kind: String, _ id: String) {
        self.kind = kind
        self.id = id
    }

    public var description: String { "\(kind) \(id)" }

    public static func < (left: LockKey, right: LockKey) -> Bool { (left.kind, left.id) < (right.kind, right.id) }
}
