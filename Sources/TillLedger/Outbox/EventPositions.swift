import TillSQL

extension Ledger {
    /// The maximum number of events that get positions in one call.
    package static let placedTogether = 2_000
    /// The number in one commit: it takes some milliseconds, for which purchases wait.
    package static let placedInOneCommit = 500

    /// Gives committed events their positions in the feed. Call before the feed is read: events committed before the
    /// call are then in the feed, except in a backlog of more than `placedTogether`.
    ///
    /// - Returns: whether there may be more.
    @discardableResult
    package func placeEvents() async throws -> Bool {
        guard try await database.read({ try OutboxTable($0).hasUnplaced() }) else { return false }
        for _ in 0..<Self.placedTogether / Self.placedInOneCommit {
            let mayBeMore = try await database.write(locking: [.ledger("feed")]) { connection in
                try OutboxTable(connection).place(limit: Self.placedInOneCommit)
            }
            guard mayBeMore else { return false }
        }
        return true
    }
}
