import TillBilling
import TillThreads

/// When each key was last accepted: what an operator looks at before retiring one. It is kept in memory; the
/// composition root may save it and give it back after a restart.
public final class KeyUses: Sendable {
    /// The list of the configuration that a key stands in.
    public enum Kind: String, Sendable, CaseIterable, Codable {
        case secretKeys
        case userTokens
        case operators
    }

    public struct Key: Hashable, Sendable {
        public let kind: Kind
        public let id: String

        public init(kind: Kind, id: String) {
            self.kind = kind
            self.id = id
        }
    }

    private let uses = Locked<[Key: Instant]>([:])

    public var all: [Key: Instant] { uses.withLock { $0 } }

    func accepted(_ id: String, of kind: Kind, at now: Instant) {
        let key = Key(kind: kind, id: id)
        uses.withLock { $0[key] = now }
    }

    /// Takes over what an earlier run of the server saved, unless this run has seen the key since.
    public func restore(_ saved: [Key: Instant]) {
        uses.withLock { uses in uses.merge(saved) { Swift.max($0, $1) } }
    }
}
