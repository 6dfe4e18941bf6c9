/// What a write changes, named before its body runs. Of two bodies with a key in common, one runs after the other.
///
/// SQLite has one writer, so its driver ignores the keys. A driver whose bodies run at once takes them in sorted order,
/// so that no two bodies wait for each other.
public struct LockKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// What kind of thing it is: `order`, `chain`.
    public let kind: String
    public let id: String

    public init(_ kind: String, _ id: String) {
        self.kind = kind
        self.id = id
    }

    public var description: String { "\(kind) \(id)" }

    public static func < (left: LockKey, right: LockKey) -> Bool { (left.kind, left.id) < (right.kind, right.id) }
}
