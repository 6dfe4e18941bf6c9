import TillCrypto

/// What some listener of this process has taken for itself, and no other one is to be told.
final class Claims: Sendable {
    private let taken = Locked<Set<String>>([])

    /// - Returns: whether nobody had it.
    func claim(_ id: String) -> Bool { taken.withLock { $0.insert(id).inserted } }

    /// Somebody else may have it.
    func release(_ id: String) { taken.withLock { _ = $0.remove(id) } }
}
