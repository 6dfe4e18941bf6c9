import Testing
import TillLedger
import TillSQL

/// The books of a shop, which are right after every journey.
extension Shop {
    func checkTheBooks() async throws {
        let unbalanced = try await ledger.read { try LedgerTable($0).unbalanced() }
        #expect(unbalanced.isEmpty)
        guard let key = server.configuration.sealKey, !changesRows.withLock({ $0 }) else { return }
        let broken = try await ledger.read { try LedgerAudit.violations($0) }
        #expect(broken.isEmpty, "\(broken.map(\.text.en))")
        let proofs = try await ProofAudit(ledger, trust: server.configuration.apple) { [time] in
            time.now
        }.run()
        #expect(proofs.violations.isEmpty, "\(proofs.violations.map(\.text.en))")
        try await sealAll()
        let identity = try await server.ledger.identity()
        let report = try await SealAudit(ledger, key: key, ledger: identity.id).run()
        #expect(report.violations.isEmpty, "\(report.violations.map(\.text.en))")
    }

    /// The decisions about each transaction, or about one, in order.
    func decisions(about transaction: String? = nil) async throws -> [EvidenceTable.Entry] {
        try await ledger.read { connection in
            let rows = try connection.query(
                "SELECT row_id FROM transactions WHERE id = ?1 OR ?1 IS NULL ORDER BY row_id",
                [transaction.map { .text($0) } ?? .null]
            ) { $0.integer("row_id") }
            return try rows.flatMap { try EvidenceTable(connection).list(transaction: $0) }
        }
    }

    /// For a journey that writes rows of its own, as no server does: only the balances are checked.
    func willChangeRows() { changesRows.withLock { $0 = true } }

    /// Seals everything: an id that a database drew and did not use holds a pass up once.
    func sealAll() async throws {
        try await seal()
        try await seal()
    }

    /// Begins the next epoch, as after a restore. A server that has stopped has sealed everything.
    @discardableResult
    func beginEpoch() async throws -> LedgerRestoreTable.Restore {
        try await sealAll()
        return try await server.ledger.beginEpoch()
    }

    /// Seals what was written so far, so that a later change of it is found at the end.
    func seal() async throws {
        guard !changesRows.withLock({ $0 }) else { return }
        _ = try await sealer.seal(server.ledger)
    }
}
