import TillBilling
import TillJSON
import TillSQL

/// Makes a ledger that came back from a backup usable: what was written after the backup is gone, and the numbers that
/// it had are given again.
///
/// - Cursors of the feed are refused from now on, because the ledger's epoch rises.
/// - Every later event states the new epoch, beside its numbers. The event `ledger.restored` comes first.
/// - The next reconciliation begins at once, and reads what Apple sent since the backup.
public struct LedgerRestore: Sendable {
    private let database: any Database

    public init(_ database: any Database) { self.database = database }

    /// Call while no server uses the ledger.
    ///
    /// - Parameter takenAt: the newest moment of the backup; nil: the newest that the ledger knows.
    @discardableResult
    public func finish(
        takenAt: Instant?, at now: Instant, entropy: Ledger.Entropy
    ) async throws -> LedgerRestoreTable.Restore {
        try await placeAllEvents()
        let fresh = LedgerIdentity.fresh(entropy)
        return try await database.write(locking: [.ledger("identity"), .ledger("feed")]) { connection in
            let taken = try takenAt ?? Self.newestMoment(connection) ?? now
            let identity = try LedgerIdentityTable(connection).raiseEpoch(fresh, at: now)
            let outbox = OutboxTable(connection)
            let restore = LedgerRestoreTable.Restore(
                epoch: identity.epoch, takenAt: min(taken, now), restoredAt: now,
                firstPosition: try outbox.lastPosition() + 1,
                lastRun: try ReconciliationTable(connection).list(before: .max, limit: 1).first?.rowID ?? 0)
            try LedgerRestoreTable(connection).insert(restore)
            // The time tells two restores of the same backup apart.
            try EventRecorder(connection).record(
                type: EventType.ledgerRestored.rawValue, user: nil,
                about: "\(identity.id):\(restore.epoch):\(now.milliseconds)",
                happensOnce: true, body: EventBody.restored(restore), at: now)
            _ = try outbox.place(limit: 1)
            return restore
        }
    }

    /// Events that the backup has without a position belong to the epoch before.
    private func placeAllEvents() async throws {
        while try await database.write(
            locking: [.ledger("feed")],
            { connection in try OutboxTable(connection).place(limit: Ledger.placedInOneCommit) })
        {}
    }

    /// The last time that a server wrote something that states its time.
    private static func newestMoment(_ connection: any Connection) throws -> Instant? {
        try connection.first(
            """
            SELECT max(found.at) AS newest FROM (SELECT at FROM heartbeat UNION ALL SELECT at FROM server_activity \
            UNION ALL SELECT o.at FROM event_positions p JOIN outbox o ON o.row_id = p.event_row_id WHERE \
            p.position = (SELECT max(position) FROM event_positions)) found
            """, []
        ) { $0.optionalInstant("newest") } ?? nil
    }
}

extension Ledger {
    /// See `LedgerRestore`.
    @discardableResult
    package func beginEpoch(takenAt: Instant? = nil) async throws -> LedgerRestoreTable.Restore {
        try await LedgerRestore(database).finish(takenAt: takenAt, at: clock(), entropy: entropy)
    }
}

extension EventBody {
    /// For `ledger.restored`.
    static func restored(_ restore: LedgerRestoreTable.Restore) -> [String: JSONValue] {
        [
            "epoch": .int(restore.epoch), "backupAt": .string(restore.takenAt.rfc3339),
            "restoredAt": .string(restore.restoredAt.rfc3339),
        ]
    }
}
