import TillSQL

extension Ledger {
    /// Events that get their positions in one commit.
    package static let placedTogether = 2_000

    /// Gives committed events their positions in the feed. To be called before the feed is read: what was committed
    /// before the call is in the feed after it, but for a backlog of more than `placedTogether`.
    package func placeEvents() async throws {
        guard try await database.read({ try OutboxTable($0).hasUnplaced() }) else { return }
        try await database.write(locking: [.ledger("feed")]) { connection in
            _ = try OutboxTable(connection).place(limit: Self.placedTogether)
        }
    }
}
